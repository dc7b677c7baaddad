//===-- Passes.h - the passes of Pipeline
//----------------------------------------------------------------------------===//
#ifndef SHARDC_PIPELINE_PASSES_H
#define SHARDC_PIPELINE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace shardc::pipeline {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "shardc/Pipeline/Passes.h.inc"

} // namespace shardc::pipeline

#endif
