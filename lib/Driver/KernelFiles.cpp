//===-- KernelFiles.cpp - kernels for the target of a plan --------------------------------------------------------===//

#include "KernelFiles.h"

#include "runtime/base/XxHash.h"
#include "runtime/format/LoadPlan.h"
#include "shardc/Codegen/EmitGpu.h"

#include "mlir/IR/Diagnostics.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::driver;

namespace {

/// The lowest architecture whose instructions kernels use.
constexpr int kLowestArch = 80;

/// The number in "sm_90a"; 0 where there is none.
int getNumber(StringRef arch) {
  int number = 0;
  return arch.consume_front("sm_") && !arch.consumeInteger(10, number) ? number : 0;
}

FailureOr<uint64_t> hashFile(Location loc, const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return FailureOr<uint64_t>(emitError(loc) << "file '" << path << "': cannot be read: " << file.getError().message()
                                              << " [output-file]");
  return rt::xxHash64((*file)->getBuffer());
}

LogicalResult emitForCpu(ModuleOp module, const KernelTarget &target, const std::string &path, plan::Plan &plan) {
  if (failed(codegen::emitCpuKernels(module, target.cpu, path)))
    return failure();
  FailureOr<uint64_t> checksum = hashFile(module.getLoc(), path);
  if (failed(checksum))
    return failure();
  plan.mutable_target()->set_kind("cpu");
  plan.set_kernels_checksum(*checksum);
  return success();
}

void describeLaunches(const codegen::GpuKernels &kernels, plan::Plan &plan) {
  for (auto [kernel, launch] : llvm::zip(*plan.mutable_kernels(), kernels.launches)) {
    plan::Launch &message = *kernel.mutable_launch();
    message.set_grid(launch.grid);
    message.set_block(launch.block);
    message.set_shared_bytes(launch.sharedBytes);
    message.set_cooperative(launch.isCooperative);
  }
}

LogicalResult emitForGpu(ModuleOp module, const KernelTarget &target,
                         const std::function<std::string(StringRef)> &getFile, plan::Plan &plan) {
  codegen::GpuKernels kernels;
  std::string emulator = getFile(rt::kEmulatorFile), ptx = getFile(rt::kPtxFile);
  if (failed(codegen::emitGpuKernels(module, target.gpuArchs.front(), target.cpu, emulator, kernels)) ||
      failed(writeFile(module.getLoc(), ptx, kernels.ptx)))
    return failure();
  // Without an assembler, the driver assembles the PTX when a plan is loaded.
  if (std::optional<std::string> ptxas = codegen::findPtxas())
    for (const std::string &arch : target.gpuArchs)
      if (failed(codegen::assemblePtx(*ptxas, ptx, arch, getFile("kernels." + arch + ".cubin"), module)))
        return failure();
  FailureOr<uint64_t> checksum = hashFile(module.getLoc(), emulator);
  if (failed(checksum))
    return failure();
  describeLaunches(kernels, plan);
  plan.mutable_target()->set_kind("cuda");
  plan.mutable_target()->mutable_gpu_archs()->Assign(target.gpuArchs.begin(), target.gpuArchs.end());
  plan.mutable_target()->set_emulator_checksum(*checksum);
  plan.set_kernels_checksum(rt::xxHash64(kernels.ptx));
  return success();
}

} // namespace

FailureOr<KernelTarget> shardc::driver::getKernelTarget(MLIRContext *context, const Options &options) {
  KernelTarget target;
  target.cpu = options.targetCpu.empty() ? codegen::getHostTarget() : codegen::CpuTarget{options.targetCpu, {}};
  if (options.target != "cuda")
    return target;
  SmallVector<StringRef> archs;
  StringRef(options.gpuArchs).split(archs, ',');
  for (StringRef arch : archs) {
    if (getNumber(arch) < kLowestArch || !codegen::isGpuArch(arch))
      return FailureOr<KernelTarget>(emitError(UnknownLoc::get(context))
                                     << "GPU architecture '" << arch << "': expected one that LLVM knows, from sm_"
                                     << kLowestArch << " on [target-gpu]");
    target.gpuArchs.push_back(arch.str());
  }
  llvm::sort(target.gpuArchs, [](const std::string &a, const std::string &b) {
    return std::pair(getNumber(a), a) < std::pair(getNumber(b), b);
  });
  target.gpuArchs.erase(llvm::unique(target.gpuArchs), target.gpuArchs.end());
  return target;
}

LogicalResult shardc::driver::emitKernelFiles(ModuleOp module, const KernelTarget &target,
                                              const std::function<std::string(StringRef)> &getFile, plan::Plan &plan) {
  bool isGpu = !target.gpuArchs.empty();
  if (failed(isGpu ? emitForGpu(module, target, getFile, plan)
                   : emitForCpu(module, target, getFile(rt::kKernelsFile), plan)))
    return failure();
  plan.mutable_target()->set_cpu(target.cpu.cpu);
  for (const std::string &feature : codegen::getRequiredFeatures(target.cpu))
    plan.mutable_target()->add_features(feature);
  return success();
}

LogicalResult shardc::driver::writeFile(Location loc, const std::string &path, StringRef bytes) {
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (!error) {
    file << bytes;
    file.close();
    error = file.error();
    file.clear_error();
  }
  if (error)
    return emitError(loc) << "file '" << path << "': cannot be written: " << error.message() << " [output-file]";
  return success();
}
