//===-- Passes.h - the passes of Memory ---------------------------------------------------------------------------===//
#ifndef SHARDC_MEMORY_PASSES_H
#define SHARDC_MEMORY_PASSES_H

#include "mlir/Pass/Pass.h"

namespace shardc::memory {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "shardc/Memory/Passes.h.inc"

} // namespace shardc::memory

#endif
