//===-- NN.h - tensors and mathematics ----------------------------------------------------------------------------===//
//
// The nn dialect: ops, their interfaces, and the discardable attributes that models carry.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_NN_NN_H
#define SHARDC_DIALECTS_NN_NN_H

#include "dialects/nn/Factors.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace shardc::nn {

/// Default methods of the interfaces.
llvm::SmallVector<mlir::Value> partitionByCloning(mlir::Operation *op, mlir::OpBuilder &builder,
                                                  mlir::ValueRange operands, mlir::TypeRange resultTypes);
int64_t countElementwiseFlops(mlir::Operation *op);
int64_t countOperandAndResultBytes(mlir::Operation *op);

/// Discardable attributes; NNBase.td has their meaning.
inline constexpr llvm::StringLiteral kOriginAttr = "nn.origin";
inline constexpr llvm::StringLiteral kBackwardAttr = "nn.backward";
inline constexpr llvm::StringLiteral kGradientSumAttr = "nn.gradient_sum";
/// On the ops of a Dropout (unit): where dropout is off, a marked select is its true value, a product its first
/// operand, a comparison true.
inline constexpr llvm::StringLiteral kDropoutAttr = "nn.dropout";
inline constexpr llvm::StringLiteral kInputAttr = "nn.input";
inline constexpr llvm::StringLiteral kParameterAttr = "nn.parameter";
inline constexpr llvm::StringLiteral kLossAttr = "nn.loss";
inline constexpr llvm::StringLiteral kGradientAttr = "nn.gradient";

/// Whether a type is one of the 16-bit floats of mixed precision, bf16 or f16 (docs/precision.md).
inline bool isLowPrecision(mlir::Type elementType) { return elementType.isBF16() || elementType.isF16(); }

/// Gives `to` the origin, direction and location of `from`.
void copyOrigin(mlir::Operation *from, mlir::Operation *to);

} // namespace shardc::nn

#include "dialects/nn/NNDialect.h.inc"
#include "dialects/nn/NNEnums.h.inc"
#include "dialects/nn/NNInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/nn/NNAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/nn/NNOps.h.inc"

#endif
