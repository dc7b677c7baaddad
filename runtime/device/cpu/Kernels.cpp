//===-- Kernels.cpp - generated kernels ---------------------------------------------------------------------------===//

#include "runtime/device/cpu/Kernels.h"

#include "runtime/format/LoadPlan.h"

#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>

namespace shardc::rt {

void KernelLibrary::Close::operator()(void *handle) const { dlclose(handle); }

Result<std::unique_ptr<KernelLibrary>> KernelLibrary::open(const std::string &folder, const plan::Plan &plan) {
  auto library = std::make_unique<KernelLibrary>();
  if (plan.kernels().empty())
    return library;
  std::error_code ignored;
  std::string path = std::filesystem::absolute(folder, ignored).string() + "/" + kKernelsFile;
  library->handle.reset(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!library->handle)
    return Status(StatusKind::Corrupt, fmt::format("kernels '{}': cannot load: {} [plan-file]", path, dlerror()),
                  "check that programs may be run from its folder (no noexec), or compile the model again");
  for (const plan::Kernel &kernel : plan.kernels()) {
    void *symbol = dlsym(library->handle.get(), kernel.symbol().c_str());
    if (!symbol)
      return Status(StatusKind::Corrupt, fmt::format("kernels '{}': no symbol '{}' [plan-file]", path, kernel.symbol()),
                    "compile the model again");
    library->kernels.push_back(reinterpret_cast<shardrtKernel>(symbol));
  }
  return library;
}

Status KernelLibrary::run(size_t kernel, const KernelArguments &arguments, const shardrtControl &control, int64_t items,
                          ThreadPool &threads) const {
  threads.run(kernels[kernel], arguments.pointers.data(), &control, items);
  return {};
}

} // namespace shardc::rt
