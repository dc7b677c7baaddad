//===-- ObjectFile.h - from LLVM IR to object code and a shared library -------------------------------------------===//
#ifndef SHARDC_CODEGEN_EMIT_OBJECTFILE_H
#define SHARDC_CODEGEN_EMIT_OBJECTFILE_H

#include "shardc/Codegen/EmitCpu.h"

#include "llvm/ADT/SmallVector.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace shardc::codegen {

/// LLVM's O3 for what kernels are. They are vectorised already, with lanes that are part of their meaning; so no
/// vectorisers, and no loops replaced by memset or memcpy, which would need a library.
void optimise(llvm::Module &module, llvm::TargetMachine &machine);

/// Optimises `module` for `target` and appends its object code to `object`. Errors are reported at `at`.
mlir::LogicalResult compileObject(llvm::Module &module, const CpuTarget &target, mlir::ModuleOp at,
                                  llvm::SmallVectorImpl<char> &object);

/// Links one object into a shared library that needs no other. Errors are reported at `at`.
mlir::LogicalResult linkSharedLibrary(llvm::ArrayRef<char> object, llvm::StringRef outputPath, mlir::ModuleOp at);

} // namespace shardc::codegen

#endif
