//===-- Passes.h - the passes of Pipeline -------------------------------------------------------------------------===//
#ifndef SHARDC_PIPELINE_PASSES_H
#define SHARDC_PIPELINE_PASSES_H

#include "dialects/exec/Exec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shardc::pipeline {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "shardc/Pipeline/Passes.h.inc"

} // namespace shardc::pipeline

#endif
