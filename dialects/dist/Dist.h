//===-- Dist.h - meshes, shardings, collectives -------------------------------------------------------------------===//
//
// The dist dialect. DistAttrs.td has the model: meshes, sub-dimensions, axes and partial values.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_DIST_DIST_H
#define SHARDC_DIALECTS_DIST_DIST_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

#include "dialects/dist/DistDialect.h.inc"
#include "dialects/dist/DistEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/dist/DistAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/dist/DistOps.h.inc"

namespace shardc::dist {

/// Names of the discardable attributes that carry meshes and shardings.
inline constexpr llvm::StringLiteral kMeshAttr = "dist.mesh";
inline constexpr llvm::StringLiteral kShardingAttr = "dist.sharding";
inline constexpr llvm::StringLiteral kShardingsAttr = "dist.shardings";
/// Between annotation and partitioning, on an op: where it takes its operands, an array with one sharding an operand.
inline constexpr llvm::StringLiteral kOperandShardingsAttr = "dist.operand_shardings";

/// The sharding of a value from `dist.shardings` of its op or `dist.sharding` of the function argument; null where
/// there is none.
ShardingAttr getSharding(mlir::Value value);
/// Sets the sharding of a value where getSharding finds it.
void setSharding(mlir::Value value, ShardingAttr sharding);

} // namespace shardc::dist

#endif
