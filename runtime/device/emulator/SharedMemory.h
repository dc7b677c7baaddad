//===-- SharedMemory.h - a block's shared memory, watched ---------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_EMULATOR_SHAREDMEMORY_H
#define SHARDC_RUNTIME_DEVICE_EMULATOR_SHAREDMEMORY_H

#include <cstdint>
#include <string>
#include <vector>

namespace shardc::rt {

/// Knows of every byte who has touched it since the last barrier.
class SharedMemory {
public:
  explicit SharedMemory(uint32_t bytes) : storage(bytes / sizeof(Piece) + 1), bytes(bytes), marks(bytes) {}

  /// Aligned to 16 bytes, as on a GPU.
  char *data() { return reinterpret_cast<char *>(storage.data()); }
  uint32_t size() const { return bytes; }

  /// A new block finds poison.
  void begin();
  /// What comes after a barrier is ordered after all before it.
  void passBarrier() { ++epoch; }
  /// Notes an access of a thread within bounds; what is wrong about it, or nothing.
  std::string access(const void *address, uint32_t count, bool isWrite, uint32_t thread);

private:
  static constexpr uint32_t kNobody = UINT32_MAX, kSeveral = UINT32_MAX - 1;
  struct alignas(16) Piece {
    uint64_t halves[2];
  };
  struct Mark {
    bool isWritten = false; // ever, in this block
    uint32_t writer = kNobody, reader = kNobody;
    uint32_t writeEpoch = 0, readEpoch = 0;
  };

  std::vector<Piece> storage;
  uint32_t bytes;
  std::vector<Mark> marks;
  uint32_t epoch = 0;
};

} // namespace shardc::rt

#endif
