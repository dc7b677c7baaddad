//===-- Partial.h - over which axes the values of a function are partial ------------------------------------------===//
#ifndef SHARDC_LIB_CODEGEN_LOWER_PARTIAL_H
#define SHARDC_LIB_CODEGEN_LOWER_PARTIAL_H

#include "dialects/exec/Exec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::codegen {

/// What the values of a function are partial over. A value with a sharding says so itself; one without is partial over
/// what it is computed from is partial over, less what a collective combines.
class PartialAxes {
public:
  explicit PartialAxes(mlir::func::FuncOp function);
  /// An array of #dist.partial.
  mlir::ArrayAttr get(mlir::Value value) const { return partial.lookup(value); }

private:
  void visit(mlir::Operation *op);
  mlir::ArrayAttr unite(mlir::MLIRContext *context, llvm::ArrayRef<mlir::Value> values) const;

  llvm::DenseMap<mlir::Value, mlir::ArrayAttr> partial;
};

} // namespace shardc::codegen

#endif
