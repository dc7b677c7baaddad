//===-- StepScale.h - norm, clipping and skipping -----------------------------------------------------------------===//
#ifndef SHARDC_LIB_PIPELINE_STEPSCALE_H
#define SHARDC_LIB_PIPELINE_STEPSCALE_H

#include "WorldExchange.h"

namespace shardc::pipeline {

/// How a step is scaled: `lossSeed` is W0, `clipNorm` 0 is off; with a loss scale the seed was scale/W0.
struct StepScaleOptions {
  double lossSeed;
  double clipNorm;
  bool hasLossScale;
};

/// Scalars: what the optimizer takes (`scale` f32, `skip` and `overflow` i1), and what the host reads (f32), by name.
struct StepScale {
  mlir::Value scale;
  mlir::Value skip;
  mlir::Value overflow; ///< a value that is not finite, whatever the weight
  llvm::SmallVector<std::pair<llvm::StringRef, mlir::Value>> outputs;
};

/// Gradients are sums over the samples of a step, divided by W0: the mean gradient is W0/ΣW times as large. Its norm is
/// clipped as min(1, clip / (norm + 1e-6)). A step without weight (ΣW = 0) or with a value that is not finite is
/// skipped.
///
/// The loss scale divides out of the gradients in fp64; Σg² is that of the scaled gradients until then.
StepScale computeStepScale(mlir::OpBuilder &builder, const WorldSums &sums, const StepScaleOptions &options);

} // namespace shardc::pipeline

#endif
