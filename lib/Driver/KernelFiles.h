//===-- KernelFiles.h - what kernels are compiled for, and the files of a plan that hold them ---------------------===//
#ifndef SHARDC_LIB_DRIVER_KERNELFILES_H
#define SHARDC_LIB_DRIVER_KERNELFILES_H

#include "shardc/Codegen/EmitCpu.h"
#include "shardc/Driver/Options.h"

#include <functional>

namespace shardc::plan {
class Plan;
}

namespace shardc::driver {

/// A CPU, or NVIDIA GPUs (and the CPU that the emulator of them runs on).
struct KernelTarget {
  codegen::CpuTarget cpu;
  std::vector<std::string> gpuArchs; // ascending; empty: kernels are for the CPU
};

/// The target that options name; an error where an architecture is none.
llvm::FailureOr<KernelTarget> getKernelTarget(mlir::MLIRContext *context, const Options &options);

/// Compiles the kernels of `module` into files, whose path `getFile` gives for a name, and describes them in `plan`:
/// target, checksums and launches.
llvm::LogicalResult emitKernelFiles(mlir::ModuleOp module, const KernelTarget &target,
                                    const std::function<std::string(llvm::StringRef)> &getFile, plan::Plan &plan);

/// Writes a file; an error at `loc` where that fails.
llvm::LogicalResult writeFile(mlir::Location loc, const std::string &path, llvm::StringRef bytes);

} // namespace shardc::driver

#endif
