//===-- Rounding.h - 16-bit floats in registers -------------------------------------------------------------------===//
//
// A bf16 or f16 is computed with as the f32 that has its value. Functions take scalars and vectors alike.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_CODEGEN_EMIT_ROUNDING_H
#define SHARDC_CODEGEN_EMIT_ROUNDING_H

#include "dialects/nn/NN.h"

namespace shardc::codegen {

/// The f32 nearest to `value` (f32) among those that `elementType`, bf16 or f16, has; ties to even, NaN stays NaN.
mlir::Value roundToHalf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type elementType, mlir::Value value);

/// The f32 of 16 bits as they lie in memory (i16).
mlir::Value widenHalf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type elementType, mlir::Value bits);

/// The 16 bits (i16) of an f32 that `elementType` has.
mlir::Value narrowToHalf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type elementType, mlir::Value value);

} // namespace shardc::codegen

#endif
