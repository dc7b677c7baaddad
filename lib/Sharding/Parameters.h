//===-- Parameters.h - the arguments and results of training functions by what they are ---------------------------===//
#ifndef SHARDC_LIB_SHARDING_PARAMETERS_H
#define SHARDC_LIB_SHARDING_PARAMETERS_H

#include "dialects/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::sharding {

inline constexpr llvm::StringLiteral kStateAttr = "nn.state";

/// The name of the parameter that argument `index` is; empty where it is none.
llvm::StringRef getParameterName(mlir::func::FuncOp function, unsigned index);
/// The name of the parameter that argument `index` of the update belongs to, as itself, its gradient or its state.
llvm::StringRef getOwnerName(mlir::func::FuncOp function, unsigned index);
/// The number of the argument that is the parameter whose gradient result `index` is; -1 where it is none.
int getParameterOfGradient(mlir::func::FuncOp function, unsigned index);

/// The parameter that a value is, seen through ops that are linear in one operand and sum nothing (reshapes,
/// transposes, conversions); null where it is none of rank ≥ 2.
mlir::BlockArgument findMatrixParameter(mlir::func::FuncOp function, mlir::Value value);
/// The products whose sum, seen through such ops, a gradient is.
llvm::SmallVector<mlir::Operation *> findGradientProducts(mlir::Value gradient);

/// Whether the op sums over something that it has in an operand.
bool hasReduction(mlir::Operation *op);
/// Whether the value depends on an argument of the function.
bool dependsOnArguments(mlir::Value value);

} // namespace shardc::sharding

#endif
