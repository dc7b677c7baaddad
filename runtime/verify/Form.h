//===-- Form.h - what the checks of a plan's form share -----------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_VERIFY_FORM_H
#define SHARDC_RUNTIME_VERIFY_FORM_H

#include "runtime/format/Query.h"
#include "runtime/verify/Operands.h"
#include "runtime/verify/Report.h"
#include "shardrt/control.h"

#include <algorithm>
#include <fmt/format.h>

namespace shardc::rt::verify {

// What a plan has at most; beyond it sums and products of its numbers could overflow.
inline constexpr int kMaxAxes = SHARDRT_MAX_MESH_AXES;
inline constexpr int kMaxRank = 16; // dimensions of a view
inline constexpr int64_t kMaxStages = 4096;
inline constexpr int kMaxOperands = 4096; // of one instruction
inline constexpr uint32_t kMaxStreams = 32;
inline constexpr uint32_t kMaxEvents = 1 << 20;
inline constexpr uint32_t kMaxSlots = 1 << 20;
inline constexpr int64_t kMaxBytes = int64_t(1) << 56;

/// Sum and product that stick at the largest value.
inline int64_t saturatingAdd(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_add_overflow(a, b, &result) ? INT64_MAX : result;
}
inline int64_t saturatingMul(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_mul_overflow(a, b, &result) ? INT64_MAX : result;
}

template <typename Sizes> int64_t product(const Sizes &sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result = saturatingMul(result, size);
  return result;
}

template <typename Sizes> std::string shapeName(const Sizes &sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += fmt::format("{}{}", text.empty() ? "" : "x", size);
  return text.empty() ? "a scalar" : text;
}

inline bool validType(int type) { return elementBytes(plan::ElementType(type)) > 0; }
/// Whether a shape has positive sizes, and neither too many nor too large ones.
template <typename Sizes> bool positive(const Sizes &sizes) {
  return sizes.size() <= kMaxRank && std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size > 0; }) &&
         product(sizes) <= kMaxBytes;
}

/// Reports an index that is not below `count`.
bool checkIndex(Report &report, const Place &place, std::string_view what, int64_t index, int64_t count);

/// Checks the program of one pp coordinate: buffers, schedule entries and their slots, instructions, outputs. Relies on
/// a right mesh, on checked tensors and communicators, and on a program for each pp coordinate.
void checkProgram(const plan::Plan &plan, int program, Report &report);

/// Checks an instruction of a block whose runs all have so many registers; relies on checked buffers.
void checkInstruction(const plan::Plan &plan, const Place &place, int registers, Report &report);
/// Whether a view lies in its buffer and names what is there; reports what is wrong.
bool checkOperand(const plan::Plan &plan, const Place &place, const plan::Operand &operand, Role role, int registers,
                  Report &report);

} // namespace shardc::rt::verify

#endif
