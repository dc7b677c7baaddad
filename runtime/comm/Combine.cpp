//===-- Combine.cpp - the arithmetic of collectives in one address space ------------------------------------------===//

#include "runtime/comm/Combine.h"

#include "runtime/base/Float16.h"
#include "runtime/format/Query.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace shardc::rt {
namespace {

using Calls = std::span<const CollectiveCall *const>;

/// Elements that are combined at a time, in a block on the stack.
constexpr int64_t kBlock = 1024;

/// The part of [0, total) that a share owns, in whole cache lines.
std::pair<int64_t, int64_t> shareOf(int64_t total, int64_t share, int64_t shares) {
  constexpr int64_t line = 16;
  int64_t lines = (total + line - 1) / line;
  return {std::min(total, lines * share / shares * line), std::min(total, lines * (share + 1) / shares * line)};
}

struct Sum {
  template <typename T> static T combine(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
    else
      return a + b;
  }
};

/// The larger one; a NaN, which differs from itself, wins.
struct Max {
  template <typename T> static T combine(T a, T b) {
    return a > b || a != a ? a : b; // NOLINT(misc-redundant-expression)
  }
};

template <typename T> constexpr bool kIsLow = std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>;

/// What elements of a type are added in: 16-bit floats in f32, rounded once at the end.
template <typename T> using SumOf = std::conditional_t<kIsLow<T>, float, T>;

/// Combines [begin, end) of the inputs, in the members' order, and hands each block to `store(begin, values, count)`.
template <typename T, typename Op, typename Store>
void reduceRange(Calls calls, int64_t begin, int64_t end, Store store) {
  SumOf<T> values[kBlock];
  T rounded[kIsLow<T> ? kBlock : 1];
  for (; begin < end; begin += kBlock) {
    int64_t count = std::min(kBlock, end - begin);
    const T *first = static_cast<const T *>(calls[0]->input) + begin;
    std::copy(first, first + count, values);
    for (const CollectiveCall *call : calls.subspan(1)) {
      const T *other = static_cast<const T *>(call->input) + begin;
      for (int64_t i = 0; i < count; ++i)
        values[i] = Op::combine(values[i], static_cast<SumOf<T>>(other[i]));
    }
    if constexpr (kIsLow<T>) {
      for (int64_t i = 0; i < count; ++i)
        rounded[i] = T(values[i]);
      store(begin, rounded, count);
    } else {
      store(begin, values, count);
    }
  }
}

/// Each member reduces its chunk of the elements and writes it to every output: nobody else reads that chunk.
template <typename T, typename Op> void allReduceShare(Calls calls, int64_t member) {
  auto [begin, end] = shareOf(calls[0]->inputElements, member, calls.size());
  reduceRange<T, Op>(calls, begin, end, [&](int64_t at, const T *values, int64_t count) {
    for (const CollectiveCall *call : calls)
      std::memcpy(static_cast<T *>(call->output) + at, values, count * sizeof(T));
  });
}

template <typename T, typename Op> void reduceScatterShare(Calls calls, int64_t member) {
  int64_t block = calls[0]->inputElements / static_cast<int64_t>(calls.size());
  T *output = static_cast<T *>(calls[member]->output);
  reduceRange<T, Op>(calls, member * block, (member + 1) * block, [&](int64_t at, const T *values, int64_t count) {
    std::memcpy(output + (at - member * block), values, count * sizeof(T));
  });
}

/// Calls `body<T, Op>()` for the element type and the reduction of a call; checkCollective refuses other types.
template <typename Body> void visitReduction(const CollectiveCall &call, Body body) {
  auto ofType = [&]<typename T>() {
    if (call.reduction == plan::Collective::SUM)
      body.template operator()<T, Sum>();
    else
      body.template operator()<T, Max>();
  };
  switch (call.type) {
  case plan::F32:
    return ofType.template operator()<float>();
  case plan::F64:
    return ofType.template operator()<double>();
  case plan::BF16:
    return ofType.template operator()<BFloat16>();
  case plan::F16:
    return ofType.template operator()<Float16>();
  case plan::I64:
    return ofType.template operator()<int64_t>();
  case plan::I32:
    return ofType.template operator()<int32_t>();
  default:
    break;
  }
}

void gatherShare(Calls calls, int64_t member) {
  int64_t bytes = calls[0]->inputElements * elementBytes(calls[0]->type);
  char *output = static_cast<char *>(calls[member]->output);
  if (bytes == 0)
    return; // memcpy takes no null pointers, not even for nothing
  for (const CollectiveCall *call : calls) {
    std::memcpy(output, call->input, bytes);
    output += bytes;
  }
}

/// Exchanges block b of member a with block a of member b, which is right in place, too.
void exchangeBlocks(Calls calls, int64_t a, int64_t b, int64_t bytes) {
  constexpr int64_t piece = 2048;
  char fromA[piece], fromB[piece];
  for (int64_t at = 0; at < bytes; at += piece) {
    int64_t count = std::min(piece, bytes - at);
    std::memcpy(fromA, static_cast<const char *>(calls[a]->input) + b * bytes + at, count);
    std::memcpy(fromB, static_cast<const char *>(calls[b]->input) + a * bytes + at, count);
    std::memcpy(static_cast<char *>(calls[a]->output) + b * bytes + at, fromB, count);
    std::memcpy(static_cast<char *>(calls[b]->output) + a * bytes + at, fromA, count);
  }
}

/// Of each pair of members one exchanges the two blocks.
void allToAllShare(Calls calls, int64_t member) {
  int64_t members = calls.size();
  int64_t bytes = calls[0]->inputElements / members * elementBytes(calls[0]->type);
  for (int64_t other = 0; other < members; ++other) {
    bool lowerDoesIt = (member + other) % 2 != 0;
    if (other == member || (member < other) == lowerDoesIt)
      exchangeBlocks(calls, member, other, bytes);
  }
}

bool canReduce(plan::ElementType type) {
  return type == plan::F32 || type == plan::F64 || type == plan::BF16 || type == plan::F16 || type == plan::I64 ||
         type == plan::I32;
}

bool reduces(plan::Collective::Kind kind) {
  return kind == plan::Collective::ALL_REDUCE || kind == plan::Collective::REDUCE_SCATTER;
}

int64_t outputElements(const CollectiveCall &call, int64_t members) {
  if (call.kind == plan::Collective::ALL_GATHER)
    return call.inputElements * members;
  return call.kind == plan::Collective::REDUCE_SCATTER ? call.inputElements / members : call.inputElements;
}

std::string describe(const CollectiveCall &call) {
  std::string reduction =
      reduces(call.kind) ? (call.reduction == plan::Collective::SUM ? " sum" : " max") : std::string();
  return fmt::format("{}{} of {} × {}", collectiveName(call.kind), reduction, call.inputElements,
                     elementName(call.type));
}

} // namespace

Status checkCollective(const CollectiveCall &call, int64_t members) {
  if (reduces(call.kind) && !canReduce(call.type))
    return Status(StatusKind::Unsupported,
                  fmt::format("cannot reduce elements of type {}, expected f32, f64, bf16, f16, i64 or i32",
                              elementName(call.type)));
  bool inBlocks = call.kind == plan::Collective::REDUCE_SCATTER || call.kind == plan::Collective::ALL_TO_ALL;
  if (inBlocks && call.inputElements % members != 0)
    return Status(StatusKind::InvalidArgument,
                  fmt::format("{} does not divide over {} members", describe(call), members));
  const char *input = static_cast<const char *>(call.input), *output = static_cast<const char *>(call.output);
  int64_t bytes = elementBytes(call.type);
  bool overlap = input < output + outputElements(call, members) * bytes && output < input + call.inputElements * bytes;
  bool inPlace = call.kind == plan::Collective::ALL_REDUCE || call.kind == plan::Collective::ALL_TO_ALL;
  if (overlap && !(inPlace && input == output) && members > 1)
    return Status(StatusKind::InvalidArgument, fmt::format("{}: input and output overlap", describe(call)));
  return {};
}

Status checkAgreement(Calls calls) {
  const CollectiveCall &first = *calls[0];
  for (const CollectiveCall *call : calls)
    if (call->kind != first.kind || call->type != first.type || call->inputElements != first.inputElements ||
        (reduces(first.kind) && call->reduction != first.reduction))
      return Status(StatusKind::Mismatch, fmt::format("members of one communicator disagree: {} on one rank, {} on "
                                                      "another",
                                                      describe(first), describe(*call)));
  return {};
}

void performShare(Calls calls, int64_t member) {
  switch (calls[0]->kind) {
  case plan::Collective::ALL_GATHER:
    return gatherShare(calls, member);
  case plan::Collective::ALL_TO_ALL:
    return allToAllShare(calls, member);
  default:
    break;
  }
  visitReduction(*calls[0], [&]<typename T, typename Op>() {
    if (calls[0]->kind == plan::Collective::ALL_REDUCE)
      allReduceShare<T, Op>(calls, member);
    else
      reduceScatterShare<T, Op>(calls, member);
  });
}

void combineInputs(Calls calls, int64_t elements, void *output) {
  visitReduction(*calls[0], [&]<typename T, typename Op>() {
    reduceRange<T, Op>(calls, 0, elements, [&](int64_t at, const T *values, int64_t count) {
      std::memcpy(static_cast<T *>(output) + at, values, count * sizeof(T));
    });
  });
}

} // namespace shardc::rt
