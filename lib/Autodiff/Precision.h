//===-- Precision.h - the setting of mixed precision --------------------------------------------------------------===//
#ifndef SHARDC_LIB_AUTODIFF_PRECISION_H
#define SHARDC_LIB_AUTODIFF_PRECISION_H

#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinOps.h"

namespace shardc::autodiff {

/// How the loss scale of fp16 begins and changes; docs/precision.md.
struct LossScaling {
  double initial, growthInterval, growthFactor, backoffFactor;
};

/// What `nn.training` says of precision.
struct Precision {
  /// The 16-bit float type; null for fp32, which is also what a module without the setting has.
  mlir::Type low;
  /// With fp16 only.
  std::optional<LossScaling> lossScaling;

  /// Reports a setting that is unknown, or one of the loss scale that is missing.
  static mlir::FailureOr<Precision> read(mlir::ModuleOp module);
};

/// Numbers the ops in their order, unless all have numbers already.
void assignOrigins(mlir::Block &block);

} // namespace shardc::autodiff

#endif
