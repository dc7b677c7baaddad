//===-- Kernels.h - generated kernels -----------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CPU_KERNELS_H
#define SHARDC_RUNTIME_DEVICE_CPU_KERNELS_H

#include "runtime/base/Status.h"
#include "runtime/format/plan.pb.h"
#include "shardrt/control.h"

#include <memory>
#include <vector>

namespace shardc::rt {

/// The kernels of a plan, in the plan's order. Shared by all ranks of a process.
class KernelLibrary {
public:
  /// Opens kernels.so of a plan folder and looks up every symbol. A plan without kernels needs no file.
  static Result<KernelLibrary> open(const std::string &folder, const plan::Plan &plan);
  KernelLibrary() = default;

  shardrtKernel kernel(size_t index) const { return kernels[index]; }

private:
  struct Close {
    void operator()(void *handle) const;
  };
  std::unique_ptr<void, Close> handle;
  std::vector<shardrtKernel> kernels;
};

} // namespace shardc::rt

#endif
