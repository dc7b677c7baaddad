//===-- StepScale.h - norm, clipping and skipping -----------------------------------------------------------------===//
#ifndef SHARDC_LIB_PIPELINE_STEPSCALE_H
#define SHARDC_LIB_PIPELINE_STEPSCALE_H

#include "WorldExchange.h"

namespace shardc::pipeline {

/// How a step is scaled: `lossSeed` is W0, `clipNorm` 0 is off.
struct StepScaleOptions {
  double lossSeed;
  double clipNorm;
};

/// Scalars: what the optimizer takes (`scale` f32, `skip` i1), and what the host reads (f32), by name.
struct StepScale {
  mlir::Value scale;
  mlir::Value skip;
  llvm::SmallVector<std::pair<llvm::StringRef, mlir::Value>> outputs;
};

/// Gradients are sums over the samples of a step, divided by W0: the mean gradient is W0/ΣW times as large. Its norm is
/// clipped as min(1, clip / (norm + 1e-6)). A step without weight (ΣW = 0) or with a value that is not finite is
/// skipped.
StepScale computeStepScale(mlir::OpBuilder &builder, const WorldSums &sums, const StepScaleOptions &options);

} // namespace shardc::pipeline

#endif
