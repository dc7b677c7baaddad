//===-- EmulatedKernels.cpp - the kernels of a plan for GPUs, run on the CPU --------------------------------------===//

#include "runtime/device/emulator/EmulatedKernels.h"

#include "runtime/base/File.h"
#include "runtime/base/XxHash.h"
#include "runtime/device/emulator/BlockRunner.h"
#include "runtime/format/LoadPlan.h"

#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>

namespace shardc::rt {

void EmulatedKernels::Close::operator()(void *handle) const { dlclose(handle); }

Result<std::unique_ptr<EmulatedKernels>> EmulatedKernels::open(const std::string &folder, const plan::Plan &plan,
                                                               uint64_t seed) {
  std::unique_ptr<EmulatedKernels> library(new EmulatedKernels);
  library->seed = seed;
  if (plan.kernels().empty())
    return library;
  std::error_code ignored;
  std::string path = std::filesystem::absolute(folder, ignored).string() + "/" + kEmulatorFile;
  SHARDRT_ASSIGN(std::string bytes, readFile(path));
  if (xxHash64(bytes) != plan.target().emulator_checksum())
    return Status(
        StatusKind::Corrupt,
        fmt::format("plan '{}': is not the file that the plan was made with (its checksum differs) [plan-file]", path),
        "compile the model again");
  library->handle.reset(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!library->handle)
    return Status(StatusKind::Corrupt, fmt::format("kernels '{}': cannot load: {} [plan-file]", path, dlerror()),
                  "check that programs may be run from its folder (no noexec), or compile the model again");
  for (const plan::Kernel &kernel : plan.kernels()) {
    auto function = reinterpret_cast<shardrtEmulatedKernel>(dlsym(library->handle.get(), kernel.symbol().c_str()));
    const plan::Launch &launch = kernel.launch();
    if (!function || launch.grid() == 0 || launch.block() == 0 || launch.block() > 1024)
      return Status(
          StatusKind::Corrupt,
          fmt::format("kernels '{}': no function '{}' that can be launched [plan-file]", path, kernel.symbol()),
          "compile the model again");
    library->kernels.push_back(
        {function, kernel.symbol(), launch.grid(), launch.block(), launch.shared_bytes(), launch.cooperative()});
  }
  return library;
}

Status EmulatedKernels::run(size_t kernel, const KernelArguments &arguments, const shardrtControl &control, int64_t,
                            ThreadPool &) const {
  return runEmulated(kernels[kernel], arguments, control, seed + static_cast<uint64_t>(control.step));
}

Status runEmulated(const EmulatedKernel &kernel, const KernelArguments &arguments, const shardrtControl &control,
                   uint64_t seed) {
  BlockRunner runner(kernel, arguments, control, seed);
  for (uint32_t block = 0; block < kernel.grid; ++block)
    if (const std::string &error = runner.run(block); !error.empty())
      return Status(StatusKind::InvalidArgument, fmt::format("kernel '{}': {} [run-emulator]", kernel.name, error),
                    "a defect of shardc: report it with the model and the command line");
  return {};
}

} // namespace shardc::rt
