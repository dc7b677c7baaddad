//===-- Passes.h - the passes of Autodiff -------------------------------------------------------------------------===//
#ifndef SHARDC_AUTODIFF_PASSES_H
#define SHARDC_AUTODIFF_PASSES_H

#include "mlir/Pass/Pass.h"

namespace shardc::autodiff {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "shardc/Autodiff/Passes.h.inc"

} // namespace shardc::autodiff

#endif
