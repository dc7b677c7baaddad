//===-- Optimizers.h - the arithmetic of an optimizer's step ------------------------------------------------------===//
//
// An optimizer is a set of formulas, as PyTorch defines them: which tensors it keeps for each parameter, which scalars
// for all together, and how they and the parameter follow from the gradient.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_LIB_AUTODIFF_OPTIMIZERS_H
#define SHARDC_LIB_AUTODIFF_OPTIMIZERS_H

#include "dialects/nn/Builders.h"

#include <memory>
#include <string>

namespace shardc::autodiff {

/// The settings in `nn.training`.
struct OptimizerSettings {
  std::string optimizer;
  double momentum, beta1, beta2, epsilon, weightDecay;

  /// Reads them; reports what is missing or has the wrong type at `module`.
  static mlir::FailureOr<OptimizerSettings> read(mlir::Operation *module);
};

/// A scalar state: its name and its value before the first step. It is f64.
struct ScalarState {
  llvm::StringRef name;
  double initial;
};

class Optimizer {
public:
  virtual ~Optimizer() = default;

  /// What is kept for each parameter, in its shape and type, 0 before the first step.
  virtual llvm::SmallVector<llvm::StringRef> getStates() const = 0;
  virtual llvm::SmallVector<ScalarState> getScalarStates() const { return {}; }

  /// Builds what all parameters share, from the old scalar states; returns the new ones.
  virtual llvm::SmallVector<mlir::Value> buildStep(nn::TensorBuilder build, mlir::ValueRange scalars) = 0;
  /// Builds the new parameter and then its new states from the mean gradient. Call it after buildStep.
  virtual llvm::SmallVector<mlir::Value> buildUpdate(nn::TensorBuilder build, mlir::Value parameter,
                                                     mlir::Value gradient, mlir::ValueRange states, bool decays) = 0;

  /// Reports an unknown optimizer at `module`.
  static mlir::FailureOr<std::unique_ptr<Optimizer>> create(mlir::Operation *module);
};

} // namespace shardc::autodiff

#endif
