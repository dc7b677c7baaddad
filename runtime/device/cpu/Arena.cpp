//===-- Arena.cpp - the memory of one rank ------------------------------------------------------------------------===//

#include "runtime/device/cpu/Arena.h"

#include "runtime/base/Float16.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

namespace shardc::rt {
namespace {

constexpr size_t kAlignment = 4096;

template <typename T> void fillWith(void *memory, int64_t bytes, T value) {
  std::fill_n(static_cast<T *>(memory), bytes / static_cast<int64_t>(sizeof(T)), value);
}

} // namespace

void Arena::Free::operator()(char *memory) const { std::free(memory); }

Result<Arena> Arena::allocate(int64_t bytes) {
  Arena arena;
  arena.size = bytes;
  void *memory = nullptr;
  if (bytes > 0 && posix_memalign(&memory, kAlignment, bytes) != 0)
    return Status(StatusKind::OutOfMemory, fmt::format("cannot allocate an arena of {} bytes [run-memory]", bytes),
                  "a smaller --micro-batch, --recompute full or fewer ranks on this machine need less");
  arena.memory.reset(static_cast<char *>(memory));
  if (bytes > 0)
    std::memset(memory, 0, bytes);
  return arena;
}

void poison(plan::ElementType type, void *memory, int64_t bytes) {
  switch (type) {
  case plan::F64:
    return fillWith<uint64_t>(memory, bytes, 0x7FF4000000000000);
  case plan::I64:
    return fillWith<uint64_t>(memory, bytes, 0x7FA000007FA00000);
  case plan::F32:
  case plan::I32:
    return fillWith<uint32_t>(memory, bytes, 0x7FA00000);
  case plan::BF16:
    return fillWith<uint16_t>(memory, bytes, 0x7FA0);
  case plan::F16:
    return fillWith<uint16_t>(memory, bytes, 0x7D00);
  default:
    std::memset(memory, 0x7F, bytes);
  }
}

void fill(plan::ElementType type, void *memory, int64_t bytes, double value) {
  switch (type) {
  case plan::F64:
    return fillWith<double>(memory, bytes, value);
  case plan::F32:
    return fillWith<float>(memory, bytes, static_cast<float>(value));
  case plan::I64:
    return fillWith<int64_t>(memory, bytes, static_cast<int64_t>(value));
  case plan::I32:
    return fillWith<int32_t>(memory, bytes, static_cast<int32_t>(value));
  case plan::I1:
  case plan::I8:
  case plan::U8:
    return fillWith<uint8_t>(memory, bytes, static_cast<uint8_t>(static_cast<int64_t>(value)));
  case plan::BF16:
    return fillWith<uint16_t>(memory, bytes, BFloat16(static_cast<float>(value)).bits);
  case plan::F16:
    return fillWith<uint16_t>(memory, bytes, Float16(static_cast<float>(value)).bits);
  default:
    std::memset(memory, 0, bytes);
  }
}

} // namespace shardc::rt
