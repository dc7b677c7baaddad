//===-- Scalar.h - constants and types of scalar bodies -----------------------------------------------------------===//
//
// A scalar body serves scalars and vectors alike: its operands are all scalars or all vectors of one length.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_NN_FUSION_SCALAR_H
#define SHARDC_DIALECTS_NN_FUSION_SCALAR_H

#include "mlir/IR/Builders.h"

namespace shardc::nn {

/// `elementType`, or a vector of it where `like` is a vector.
mlir::Type withElementType(mlir::Type like, mlir::Type elementType);

/// A constant of a float type or a vector of one.
mlir::Value buildFloat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, double value);

/// A constant of an integer type or a vector of one.
mlir::Value buildInteger(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, int64_t value);

/// The value of `attribute` (float or integer) as a constant of `type`, whose element type it has.
mlir::Value buildConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, mlir::TypedAttr attribute);

/// aᵇ in f32, scalars or vectors.
mlir::Value buildPower(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value base, mlir::Value exponent);

} // namespace shardc::nn

#endif
