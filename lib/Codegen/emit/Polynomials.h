//===-- Polynomials.h - transcendental functions as arithmetic ----------------------------------------------------===//
#ifndef SHARDC_CODEGEN_EMIT_POLYNOMIALS_H
#define SHARDC_CODEGEN_EMIT_POLYNOMIALS_H

#include "mlir/IR/Operation.h"

namespace shardc::codegen {

/// Turns exp, log, tanh, erf, sin and cos (f32) within `module` into polynomials. These are made of arithmetic and
/// explicit fma, lane by lane: the same bits in a scalar and in any vector, and on every target.
mlir::LogicalResult approximateFunctions(mlir::Operation *module);

} // namespace shardc::codegen

#endif
