//===-- ReverseMode.h - reverse-mode differentiation of one block -------------------------------------------------===//
//
// A value is *active* if it is a float that depends on a parameter to differentiate by. Walking the block from its end,
// every op with a cotangent for some result builds cotangents for its active operands. The cotangents of a value are
// collected and summed when the walk reaches the value's op (or, for parameters, its end): all uses lie behind then.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_LIB_AUTODIFF_REVERSEMODE_H
#define SHARDC_LIB_AUTODIFF_REVERSEMODE_H

#include "Provenance.h"

#include "mlir/IR/Block.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace shardc::autodiff {

class ReverseMode {
public:
  /// Differentiates by `parameters`, arguments of `block`. What is built goes before the block's terminator.
  ReverseMode(mlir::Block &block, llvm::ArrayRef<mlir::BlockArgument> parameters);

  bool isActive(mlir::Value value) const { return active.contains(value); }
  /// Gives `value` the cotangent `number` (of a scalar), as coming from the op that made it; with `isScaled`, times the
  /// loss scale of the step.
  void seed(mlir::Value value, double number, bool isScaled);
  /// Walks the block. Reports every op on the way that has no gradient.
  mlir::LogicalResult run();
  /// The gradient of a parameter after the walk; null where no use of it reaches a seed.
  mlir::Value getGradient(mlir::BlockArgument parameter);

private:
  struct Contribution {
    mlir::Value value;
    mlir::Operation *use;
  };

  void propagateActivity();
  mlir::LogicalResult differentiate(mlir::Operation *op);
  mlir::LogicalResult checkDifferentiable(mlir::Operation *op, llvm::ArrayRef<mlir::Value> cotangents);
  /// Notes on `diagnostic` the way from a parameter to `op`.
  void attachPath(mlir::InFlightDiagnostic &diagnostic, mlir::Operation *op);
  mlir::Value sumContributions(mlir::Value value);
  /// Replaces pads among the contributions that tile the value by one concat.
  void concatTiles(llvm::SmallVectorImpl<Contribution> &contributions);
  void widen(llvm::SmallVectorImpl<Contribution> &contributions);
  mlir::Value add(mlir::Value sum, const Contribution &next, bool isGradient);

  mlir::Block &block;
  llvm::SmallVector<mlir::BlockArgument> parameters;
  Provenance provenance;
  mlir::OpBuilder builder;
  llvm::DenseSet<mlir::Value> active;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Contribution, 2>> contributions;
};

} // namespace shardc::autodiff

#endif
