//===-- Ptx.h - from LLVM IR to PTX -------------------------------------------------------------------------------===//
#ifndef SHARDC_CODEGEN_EMIT_GPU_PTX_H
#define SHARDC_CODEGEN_EMIT_GPU_PTX_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace llvm {
class Module;
}

namespace shardc::codegen {

/// Optimises `module` and writes it as PTX for `arch` ("sm_80"). Errors are reported at `at`.
mlir::LogicalResult compilePtx(llvm::Module &module, llvm::StringRef arch, mlir::ModuleOp at, std::string &ptx);

} // namespace shardc::codegen

#endif
