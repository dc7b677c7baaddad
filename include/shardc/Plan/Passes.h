//===-- Passes.h - the passes of Plan -----------------------------------------------------------------------------===//
#ifndef SHARDC_PLAN_PASSES_H
#define SHARDC_PLAN_PASSES_H

#include "mlir/Pass/Pass.h"

namespace shardc::plan {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "shardc/Plan/Passes.h.inc"

} // namespace shardc::plan

#endif
