//===-- EmitCpu.h - kernels for the CPU as a shared library -------------------------------------------------------===//
#ifndef SHARDC_CODEGEN_EMITCPU_H
#define SHARDC_CODEGEN_EMITCPU_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace shardc::codegen {

/// What kernels are compiled for: a CPU by LLVM's name ("x86-64-v3", "znver4") and feature flags on top of it, in
/// LLVM's form ("+avx2", "-avx512f").
struct CpuTarget {
  std::string cpu;
  std::vector<std::string> features;
};

/// The machine that we run on.
CpuTarget getHostTarget();

/// The features, by name without sign and in a fixed order, that a machine must have to run code for `target`; empty
/// where the CPU is not known.
std::vector<std::string> getRequiredFeatures(const CpuTarget &target);

/// Compiles every exec.kernel_def of `module` into the shared library `outputPath`, one symbol (a shardrtKernel) for
/// each, under its name. The library needs no other. Equal input gives equal bytes. `module` is not changed. Fails,
/// with an error, for a kernel that breaks the kernel model, an unknown CPU, one without fused multiply-add, and where
/// the system's linker is missing or fails.
mlir::LogicalResult emitCpuKernels(mlir::ModuleOp module, const CpuTarget &target, llvm::StringRef outputPath);

} // namespace shardc::codegen

#endif
