//===-- EmitGpu.h - kernels for NVIDIA GPUs, and for the emulator -------------------------------------------------===//
#ifndef SHARDC_CODEGEN_EMITGPU_H
#define SHARDC_CODEGEN_EMITGPU_H

#include "shardc/Codegen/EmitCpu.h"

#include <optional>

namespace shardc::codegen {

/// How a kernel is launched: one-dimensional grid and block, bytes of shared memory (static), and whether the threads
/// of a block meet in barriers or shuffles.
struct GpuLaunch {
  std::string name;
  int64_t grid = 0, block = 0, sharedBytes = 0;
  bool isCooperative = false;
};

/// PTX of all kernels, and the launch of each, in the order of the module's definitions.
struct GpuKernels {
  std::string ptx;
  std::vector<GpuLaunch> launches;
};

/// Whether LLVM's code generator knows a GPU architecture by this name ("sm_80").
bool isGpuArch(llvm::StringRef arch);

/// Compiles every exec.kernel_def of `module` to PTX for `arch`, one entry for each, under its name, whose parameters
/// are the operands' pointers (reads, then writes) and one to the control block; and, into the shared library
/// `emulatorPath`, to the same code for one GPU thread on the CPU `emulator` (shardrt/emulator.h). What pointers are
/// aligned to is taken from the placed programs that call the kernel. Equal input gives equal bytes; `module` is not
/// changed. Fails like emitCpuKernels.
mlir::LogicalResult emitGpuKernels(mlir::ModuleOp module, llvm::StringRef arch, const CpuTarget &emulator,
                                   llvm::StringRef emulatorPath, GpuKernels &kernels);

/// The path of NVIDIA's assembler, `ptxas`; nothing where it is not on the path.
std::optional<std::string> findPtxas();

/// Assembles the file `ptxPath` for `arch` into `cubinPath`. Errors, with what the assembler says, at `at`.
mlir::LogicalResult assemblePtx(llvm::StringRef ptxas, llvm::StringRef ptxPath, llvm::StringRef arch,
                                llvm::StringRef cubinPath, mlir::ModuleOp at);

} // namespace shardc::codegen

#endif
