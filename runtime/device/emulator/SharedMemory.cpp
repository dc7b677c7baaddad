//===-- SharedMemory.cpp - a block's shared memory, watched -------------------------------------------------------===//

#include "runtime/device/emulator/SharedMemory.h"

#include <cstring>
#include <fmt/format.h>

namespace shardc::rt {

void SharedMemory::begin() {
  constexpr int poison = 0xcd;
  std::memset(data(), poison, bytes);
  marks.assign(bytes, Mark());
  epoch = 0;
}

std::string SharedMemory::access(const void *address, uint32_t count, bool isWrite, uint32_t thread) {
  auto first = static_cast<uint32_t>(static_cast<const char *>(address) - data());
  for (uint32_t byte = first; byte < first + count; ++byte) {
    Mark &mark = marks[byte];
    bool isRead = mark.reader != kNobody && mark.readEpoch == epoch && mark.reader != thread;
    if (mark.writer != kNobody && mark.writeEpoch == epoch && mark.writer != thread)
      return fmt::format("{} byte {} of shared memory, which thread {} writes, with no barrier between",
                         isWrite ? "writes" : "reads", byte, mark.writer);
    if (isWrite && isRead)
      return fmt::format("writes byte {} of shared memory, which {} reads, with no barrier between", byte,
                         mark.reader == kSeveral ? "another thread" : fmt::format("thread {}", mark.reader));
    if (!isWrite && !mark.isWritten)
      return fmt::format("reads byte {} of shared memory, which no thread has written", byte);
    if (isWrite) {
      mark.isWritten = true;
      mark.writer = thread;
      mark.writeEpoch = epoch;
      continue;
    }
    bool isFirst = mark.reader == kNobody || mark.readEpoch != epoch;
    mark.reader = isFirst || mark.reader == thread ? thread : kSeveral;
    mark.readEpoch = epoch;
  }
  return {};
}

} // namespace shardc::rt
