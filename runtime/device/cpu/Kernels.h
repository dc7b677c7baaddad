//===-- Kernels.h - generated kernels -----------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CPU_KERNELS_H
#define SHARDC_RUNTIME_DEVICE_CPU_KERNELS_H

#include "runtime/device/Kernels.h"
#include "runtime/format/plan.pb.h"
#include "shardrt/control.h"

#include <memory>
#include <vector>

namespace shardc::rt {

/// The kernels of kernels.so.
class KernelLibrary final : public Kernels {
public:
  /// Opens kernels.so of a plan folder and looks up every symbol. A plan without kernels needs no file.
  static Result<std::unique_ptr<KernelLibrary>> open(const std::string &folder, const plan::Plan &plan);

  shardrtKernel kernel(size_t index) const { return kernels[index]; }
  Status run(size_t kernel, const KernelArguments &arguments, const shardrtControl &control, int64_t items,
             ThreadPool &threads) const override;

private:
  struct Close {
    void operator()(void *handle) const;
  };
  std::unique_ptr<void, Close> handle;
  std::vector<shardrtKernel> kernels;
};

} // namespace shardc::rt

#endif
