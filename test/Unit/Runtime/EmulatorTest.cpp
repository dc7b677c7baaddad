//===-- EmulatorTest.cpp - what the emulator runs, and what it catches --------------------------------------------===//
//
// Kernels as the compiler emits them, written by hand: every load and store is announced.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "runtime/device/emulator/EmulatedKernels.h"

#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <vector>

using namespace shardc;
using namespace shardc::rt;

namespace {

constexpr uint32_t kBlock = 64;

float load(shardrtGpuThread *self, uint32_t operand, const float *at, uint32_t site) {
  self->hooks->access(self, operand, at, sizeof(float), sizeof(float), 0, site);
  return *at;
}
void store(shardrtGpuThread *self, uint32_t operand, float *at, float value, uint32_t site) {
  self->hooks->access(self, operand, at, sizeof(float), sizeof(float), 1, site);
  *at = value;
}
float shuffle(shardrtGpuThread *self, float value, uint32_t operand, uint32_t mode, uint32_t width, uint32_t *valid) {
  uint32_t bits, isValid = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  bits = self->hooks->shuffle(self, bits, operand, width, mode, valid ? valid : &isValid, 9);
  std::memcpy(&value, &bits, sizeof(bits));
  return value;
}

/// Each block sums up 64 elements: by shuffles within a warp, then through shared memory.
void sumRows(void *const *buffers, const shardrtControl *, shardrtGpuThread *self) {
  auto *x = static_cast<float *>(buffers[0]), *y = static_cast<float *>(buffers[1]);
  auto *shared = static_cast<float *>(self->shared);
  float sum = load(self, 0, x + self->blockIdx * kBlock + self->threadIdx, 0);
  for (uint32_t distance = 16; distance > 0; distance /= 2)
    sum += shuffle(self, sum, distance, SHARDRT_SHUFFLE_XOR, 32, nullptr);
  if (self->threadIdx % 32 == 0)
    store(self, SHARDRT_OPERAND_SHARED, shared + self->threadIdx / 32, sum, 1);
  self->hooks->barrier(self, 2);
  sum = load(self, SHARDRT_OPERAND_SHARED, shared, 3) + load(self, SHARDRT_OPERAND_SHARED, shared + 1, 4);
  if (self->threadIdx == 0)
    store(self, 1, y + self->blockIdx, sum, 5);
}

/// Runs a kernel over x and y; the error, without what is the same in all.
std::string run(shardrtEmulatedKernel function, std::vector<float> &x, std::vector<float> &y, bool isCooperative = true,
                uint64_t seed = 0, uint32_t grid = 1) {
  EmulatedKernel kernel{function, "k", grid, kBlock, 256, isCooperative};
  std::vector<void *> pointers = {x.data(), y.data()};
  auto bytesOf = [](const std::vector<float> &values) {
    return std::span<const char>(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float));
  };
  std::vector<std::span<const char>> slots = {bytesOf(x), bytesOf(y)};
  return runEmulated(kernel, {pointers, slots, 1}, {}, seed).message();
}

std::string run(shardrtEmulatedKernel function, bool isCooperative = true) {
  std::vector<float> x(kBlock), y(kBlock);
  return run(function, x, y, isCooperative);
}

TEST(Emulator, AReductionIsTheSameInEveryOrderOfThreads) {
  std::vector<float> x(4 * kBlock);
  std::iota(x.begin(), x.end(), 0.125f);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<float> y(4, -1);
    EXPECT_EQ(run(sumRows, x, y, true, seed, 4), "");
    EXPECT_EQ(y, (std::vector<float>{2024, 6120, 10216, 14312}));
  }
}

TEST(Emulator, ShufflesReachTheLanesThatPtxSays) {
  auto kernel = [](void *const *buffers, const shardrtControl *, shardrtGpuThread *self) {
    uint32_t lane = self->threadIdx % 32, valid = 7;
    auto own = static_cast<float>(self->threadIdx), *y = static_cast<float *>(buffers[1]);
    auto expect = [&](uint32_t mode, uint32_t operand, uint32_t width, bool isThere, uint32_t source) {
      float got = shuffle(self, own, operand, mode, width, &valid);
      if (valid != isThere || got != static_cast<float>(isThere ? self->threadIdx - lane + source : self->threadIdx))
        store(self, 1, y, 1, 0);
    };
    expect(SHARDRT_SHUFFLE_UP, 3, 32, lane >= 3, lane - 3);
    expect(SHARDRT_SHUFFLE_DOWN, 5, 32, lane + 5 < 32, lane + 5);
    expect(SHARDRT_SHUFFLE_XOR, 6, 32, true, lane ^ 6);
    expect(SHARDRT_SHUFFLE_INDEX, 9, 32, true, 9);
    expect(SHARDRT_SHUFFLE_DOWN, 1, 8, lane % 8 < 7, lane + 1);
    expect(SHARDRT_SHUFFLE_INDEX, 2, 8, true, lane / 8 * 8 + 2);
  };
  std::vector<float> x(kBlock), y(kBlock);
  EXPECT_EQ(run(kernel, x, y), "");
  EXPECT_EQ(y[0], 0);
}

TEST(Emulator, AccessesOutOfBoundsDoNotHappen) {
  auto reads = [](void *const *buffers, const shardrtControl *, shardrtGpuThread *self) {
    load(self, 0, static_cast<float *>(buffers[0]) + self->threadIdx + 1, 4);
  };
  for (bool isCooperative : {false, true})
    EXPECT_EQ(run(reads, isCooperative),
              "kernel 'k': thread 63 of block 0 reads operand 0 out of bounds: bytes 256 to 260 of 256, site 4 "
              "[run-emulator]");
  auto writes = [](void *const *buffers, const shardrtControl *, shardrtGpuThread *self) {
    if (self->threadIdx == 5)
      store(self, 1, static_cast<float *>(buffers[1]) - 1, 1, 0);
  };
  EXPECT_EQ(run(writes, false), "kernel 'k': thread 5 of block 0 writes operand 1 out of bounds: bytes -4 to 0 of 256, "
                                "site 0 [run-emulator]");
}

TEST(Emulator, OperandsThatAreReadAreNotWritten) {
  auto kernel = [](void *const *buffers, const shardrtControl *, shardrtGpuThread *self) {
    if (self->threadIdx == 1)
      store(self, 0, static_cast<float *>(buffers[0]), 1, 6);
  };
  EXPECT_EQ(run(kernel, false),
            "kernel 'k': thread 1 of block 0 writes operand 0, which it only reads, site 6 [run-emulator]");
}

TEST(Emulator, MisalignedAccessesAreErrors) {
  auto kernel = [](void *const *buffers, const shardrtControl *, shardrtGpuThread *self) {
    if (self->threadIdx == 2)
      self->hooks->access(self, 0, static_cast<float *>(buffers[0]) + 1, 16, 16, 0, 3);
  };
  std::string error = run(kernel, false);
  EXPECT_NE(error.find("thread 2 of block 0 reads operand 0 at byte 4, expected a multiple of 16, site 3"),
            std::string::npos)
      << error;
}

TEST(Emulator, RacesOnSharedMemoryAreErrors) {
  auto writeAndRead = [](void *const *, const shardrtControl *, shardrtGpuThread *self) {
    auto *shared = static_cast<float *>(self->shared);
    store(self, SHARDRT_OPERAND_SHARED, shared + self->threadIdx % 60, 1, 0);
  };
  std::string error = run(writeAndRead);
  EXPECT_NE(error.find("of shared memory, which thread"), std::string::npos) << error;
  EXPECT_NE(error.find("with no barrier between"), std::string::npos) << error;

  // With a barrier it is none.
  auto exchange = [](void *const *, const shardrtControl *, shardrtGpuThread *self) {
    auto *shared = static_cast<float *>(self->shared);
    store(self, SHARDRT_OPERAND_SHARED, shared + self->threadIdx, 1, 0);
    self->hooks->barrier(self, 1);
    load(self, SHARDRT_OPERAND_SHARED, shared + (self->threadIdx + 1) % kBlock, 2);
    self->hooks->barrier(self, 3);
    store(self, SHARDRT_OPERAND_SHARED, shared + (self->threadIdx + 2) % kBlock, 1, 4);
  };
  EXPECT_EQ(run(exchange), "");

  auto overwrite = [](void *const *, const shardrtControl *, shardrtGpuThread *self) {
    auto *shared = static_cast<float *>(self->shared);
    store(self, SHARDRT_OPERAND_SHARED, shared + self->threadIdx, 1, 0);
    self->hooks->barrier(self, 1);
    load(self, SHARDRT_OPERAND_SHARED, shared + (self->threadIdx + 1) % kBlock, 2);
    store(self, SHARDRT_OPERAND_SHARED, shared + self->threadIdx, 1, 3);
  };
  error = run(overwrite);
  EXPECT_NE(error.find("with no barrier between"), std::string::npos) << error;
}

TEST(Emulator, SharedMemoryThatNobodyHasWrittenIsNotRead) {
  auto kernel = [](void *const *, const shardrtControl *, shardrtGpuThread *self) {
    if (self->threadIdx == 3)
      load(self, SHARDRT_OPERAND_SHARED, static_cast<float *>(self->shared) + 2, 8);
  };
  EXPECT_EQ(run(kernel), "kernel 'k': thread 3 of block 0 reads byte 8 of shared memory, which no thread has written, "
                         "site 8 [run-emulator]");
}

TEST(Emulator, ThreadsThatPartWaysAreErrors) {
  auto barriers = [](void *const *, const shardrtControl *, shardrtGpuThread *self) {
    self->hooks->barrier(self, self->threadIdx == 40 ? 5 : 4);
  };
  EXPECT_EQ(run(barriers), "kernel 'k': thread 0 of block 0 waits at barrier 4, but thread 40 waits at barrier 5: "
                           "threads of a block part ways [run-emulator]");
  auto ends = [](void *const *, const shardrtControl *, shardrtGpuThread *self) {
    if (self->threadIdx != 7)
      self->hooks->barrier(self, 1);
  };
  EXPECT_EQ(run(ends), "kernel 'k': thread 0 of block 0 waits at barrier 1, but thread 7 has ended: threads of a block "
                       "part ways [run-emulator]");
  auto lonely = [](void *const *, const shardrtControl *, shardrtGpuThread *self) {
    if (self->threadIdx < 31)
      shuffle(self, 0, 1, SHARDRT_SHUFFLE_XOR, 32, nullptr);
  };
  EXPECT_NE(run(lonely).find("waits at shuffle 9, but thread 31 has ended"), std::string::npos);
  EXPECT_NE(run(ends, false).find("meets others, in a kernel whose threads do not"), std::string::npos);
}

} // namespace
