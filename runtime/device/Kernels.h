//===-- Kernels.h - the kernels of a plan, as a device runs them --------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_KERNELS_H
#define SHARDC_RUNTIME_DEVICE_KERNELS_H

#include "runtime/base/Status.h"
#include "runtime/device/cpu/ThreadPool.h"

#include <span>

namespace shardc::rt {

/// The operands of one call: reads, then writes. `pointers` are what the kernel gets; the memory of the buffer slot
/// behind each is what it may touch.
struct KernelArguments {
  std::span<void *const> pointers;
  std::span<const std::span<const char>> slots;
  size_t reads = 0;
};

/// The kernels of a plan, in the plan's order. Shared by all ranks of a process.
class Kernels {
public:
  virtual ~Kernels() = default;

  /// Runs a kernel with `items` work items to its end.
  virtual Status run(size_t kernel, const KernelArguments &arguments, const shardrtControl &control, int64_t items,
                     ThreadPool &threads) const = 0;
};

} // namespace shardc::rt

#endif
