//===-- Passes.h - the passes of Codegen --------------------------------------------------------------------------===//
#ifndef SHARDC_CODEGEN_PASSES_H
#define SHARDC_CODEGEN_PASSES_H

#include "dialects/exec/Exec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shardc::codegen {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "shardc/Codegen/Passes.h.inc"

} // namespace shardc::codegen

#endif
