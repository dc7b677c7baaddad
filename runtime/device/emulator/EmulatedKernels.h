//===-- EmulatedKernels.h - the kernels of a plan for GPUs, run on the CPU ----------------------------------------===//
//
// Runs kernels.emulator.so, which is made from the same code as the PTX, thread by thread, and watches what a GPU would
// not say: accesses out of bounds or misaligned, writes to what is only read, threads of a block that meet at different
// places, reads of shared memory that nobody has written, and races on it. The order of threads is drawn by a seed:
// what depends on it shows.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_EMULATOR_EMULATEDKERNELS_H
#define SHARDC_RUNTIME_DEVICE_EMULATOR_EMULATEDKERNELS_H

#include "runtime/device/Kernels.h"
#include "runtime/format/plan.pb.h"
#include "shardrt/emulator.h"

#include <memory>
#include <string>
#include <vector>

namespace shardc::rt {

/// A kernel and how it is launched.
struct EmulatedKernel {
  shardrtEmulatedKernel function = nullptr;
  std::string name;
  uint32_t grid = 1, block = 1, sharedBytes = 0;
  bool isCooperative = false; // threads meet
};

/// Runs all blocks of a kernel, one after another. The first thing that is wrong is the error, with the thread, its
/// block, and the operand.
Status runEmulated(const EmulatedKernel &kernel, const KernelArguments &arguments, const shardrtControl &control,
                   uint64_t seed);

class EmulatedKernels final : public Kernels {
public:
  /// Opens kernels.emulator.so of a plan folder and looks up every symbol.
  static Result<std::unique_ptr<EmulatedKernels>> open(const std::string &folder, const plan::Plan &plan,
                                                       uint64_t seed);

  Status run(size_t kernel, const KernelArguments &arguments, const shardrtControl &control, int64_t items,
             ThreadPool &threads) const override;

private:
  struct Close {
    void operator()(void *handle) const;
  };
  std::unique_ptr<void, Close> handle;
  std::vector<EmulatedKernel> kernels;
  uint64_t seed = 0;
};

} // namespace shardc::rt

#endif
