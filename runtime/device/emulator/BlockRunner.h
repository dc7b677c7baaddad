//===-- BlockRunner.h - the threads of one block ------------------------------------------------------------------===//
//
// Threads that never meet run one after another. Those that do are fibers: one runs until it comes to a barrier or a
// shuffle, then the next; when all threads of the block (the warp) stand at the same place, they go on.
//
// After an error fibers that have not ended are abandoned, memory and all: kernels cannot be unwound.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_EMULATOR_BLOCKRUNNER_H
#define SHARDC_RUNTIME_DEVICE_EMULATOR_BLOCKRUNNER_H

#include "runtime/device/emulator/EmulatedKernels.h"
#include "runtime/device/emulator/SharedMemory.h"

#include <boost/context/fiber.hpp>
#include <functional>
#include <random>

namespace shardc::rt {

class BlockRunner {
public:
  BlockRunner(const EmulatedKernel &kernel, const KernelArguments &arguments, const shardrtControl &control,
              uint64_t seed);

  /// Runs the threads of a block; what is wrong, or nothing.
  const std::string &run(uint32_t block);

private:
  enum class State { Runnable, AtBarrier, AtShuffle, Done };
  struct Strand {
    boost::context::fiber fiber, scheduler;
  };
  struct Thread {
    shardrtGpuThread self; // first: hooks get a pointer to it
    BlockRunner *runner = nullptr;
    State state = State::Runnable;
    uint32_t site = 0;
    // Of a shuffle: what this thread gives, and whom it asks; then what it gets.
    uint32_t bits = 0, operand = 0, width = 0, mode = 0, received = 0, isValid = 0;
    Strand *strand = nullptr;
  };

  static void barrier(shardrtGpuThread *self, uint32_t site);
  static uint32_t shuffle(shardrtGpuThread *self, uint32_t bits, uint32_t operand, uint32_t width, uint32_t mode,
                          uint32_t *valid, uint32_t site);
  static void access(shardrtGpuThread *self, uint32_t operand, const void *address, uint32_t bytes, uint32_t alignment,
                     uint32_t isWrite, uint32_t site);
  static const shardrtGpuHooks kHooks;

  static Thread &get(shardrtGpuThread *self) { return *reinterpret_cast<Thread *>(self); }
  void fail(const Thread &thread, const std::string &what);
  [[noreturn]] static void abandon(Thread &thread);
  void start(Strand &strand, std::function<void()> body);
  void wait(Thread &thread, State state, uint32_t site);
  void runInTurn();
  void runTogether();
  bool isMeeting(size_t begin, size_t end, State state) const;
  void releaseShuffle(size_t begin, size_t end);
  bool releaseMeetings();
  void reportDivergence();

  const EmulatedKernel &kernel;
  const KernelArguments &arguments;
  const shardrtControl &control;
  std::mt19937_64 random;
  SharedMemory shared;
  std::vector<Thread> threads;
  std::vector<Strand> strands; // of each thread, or one for all
  std::vector<size_t> order;
  std::string error;
};

} // namespace shardc::rt

#endif
