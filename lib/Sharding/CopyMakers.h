//===-- CopyMakers.h - one maker of a number for each use ---------------------------------------------------------===//
#ifndef SHARDC_LIB_SHARDING_COPYMAKERS_H
#define SHARDC_LIB_SHARDING_COPYMAKERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::sharding {

/// Gives every use of a maker (an op without operands, or one that repeats a scalar) its own copy: a zero of shape
/// [8, 8] that serves as [batch, heads] here and as [heads, batch] there must not make the two the same dimension.
void copyMakers(mlir::func::FuncOp function);

/// The inverse: merges makers that are equal in everything.
void mergeMakers(mlir::func::FuncOp function);

} // namespace shardc::sharding

#endif
