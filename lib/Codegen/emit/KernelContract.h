//===-- KernelContract.h - what every target's code takes for granted ---------------------------------------------===//
#ifndef SHARDC_CODEGEN_EMIT_KERNELCONTRACT_H
#define SHARDC_CODEGEN_EMIT_KERNELCONTRACT_H

#include "dialects/exec/Exec.h"

#include "mlir/IR/BuiltinOps.h"

namespace shardc::codegen {

/// Each operand type is a strided memref of the body's shape and of an element type that kernels have, and in_place
/// names pairs of one layout; an error at the kernel otherwise.
mlir::LogicalResult verifyKernel(exec::KernelDefOp def);

/// By operand (reads, then writes): may it share memory with another one? The others are noalias.
llvm::SmallVector<bool> getSharing(exec::KernelDefOp def);

/// A module of its own with the kernels of `module`, and what they refer to.
mlir::OwningOpRef<mlir::ModuleOp> copyKernels(mlir::ModuleOp module);

} // namespace shardc::codegen

#endif
