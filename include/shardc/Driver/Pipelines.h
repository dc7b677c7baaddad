//===-- Pipelines.h - the passes in their order -------------------------------------------------------------------===//
#ifndef SHARDC_DRIVER_PIPELINES_H
#define SHARDC_DRIVER_PIPELINES_H

#include "shardc/Driver/Options.h"

#include "mlir/Pass/PassManager.h"

#include <functional>

namespace shardc::driver {

/// Called after the passes of each phase, with what `--emit` calls the phase; may add passes. Tests plant faults with
/// it.
using PhaseHook = std::function<void(Emit phase, mlir::OpPassManager &passes)>;

/// Adds the passes between import and emission, up to what `last` prints (everything for Emit::Plan). Buffers start at
/// multiples of `alignment` bytes.
void addPasses(mlir::OpPassManager &passes, Emit last, const PhaseHook &hook, int64_t alignment);

} // namespace shardc::driver

#endif
