//===-- Pipelines.h - the passes in their order
//------------------------------------------------------------------------===//
#ifndef SHARDC_DRIVER_PIPELINES_H
#define SHARDC_DRIVER_PIPELINES_H

#include "shardc/Driver/Options.h"

#include "mlir/Pass/PassManager.h"

namespace shardc::driver {

/// Adds the passes between import and emission, up to what `last` prints (everything for Emit::Plan).
void addPasses(mlir::OpPassManager &passes, Emit last);

} // namespace shardc::driver

#endif
