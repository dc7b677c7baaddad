//===-- Passes.h - the passes of Sharding -------------------------------------------------------------------------===//
#ifndef SHARDC_SHARDING_PASSES_H
#define SHARDC_SHARDING_PASSES_H

#include "dialects/nn/NN.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shardc::sharding {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "shardc/Sharding/Passes.h.inc"

} // namespace shardc::sharding

#endif
