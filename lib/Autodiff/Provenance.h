//===-- Provenance.h - marks what a pass builds with where it comes from ------------------------------------------===//
//
// Ops are built by code that knows nothing of origins: methods of interfaces, formulas. A listener on the builder gives
// each op that appears its origin, direction and location.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_LIB_AUTODIFF_PROVENANCE_H
#define SHARDC_LIB_AUTODIFF_PROVENANCE_H

#include "dialects/nn/NN.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Location.h"

namespace shardc::autodiff {

/// The name in a location: the ONNX node's; empty where it has none.
llvm::StringRef findName(mlir::Location loc);

/// Marks every inserted op with what is set here.
class Provenance : public mlir::OpBuilder::Listener {
public:
  explicit Provenance(mlir::MLIRContext *context) : loc(mlir::UnknownLoc::get(context)) {}

  /// What follows is the gradient of `op`: it has its origin, and "gradient of" its name.
  void setGradientOf(mlir::Operation *op);
  /// What follows belongs to the update of `name`, whose origin is -1.
  void setUpdateOf(llvm::StringRef name);

  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint previous) override;

private:
  mlir::Location loc;
  mlir::IntegerAttr origin;
  bool isBackward = false;
};

} // namespace shardc::autodiff

#endif
