//===-- Memory.h - loads and stores of scalars and of vectors of 16 lanes -----------------------------------------===//
//
// Truth values (i1) are bytes in memory. 16-bit floats are f32 in registers, holding the number that they stand for:
// loads widen, stores take values that are rounded already (Rounding.h) and drop zeros. A mask is a vector of 16 i1; a
// null mask stands for all lanes. Lanes that are masked out are neither read nor written, and hold zero after a load.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_CODEGEN_EMIT_MEMORY_H
#define SHARDC_CODEGEN_EMIT_MEMORY_H

#include "mlir/IR/Builders.h"

namespace shardc::codegen {

/// Where the lanes of an access lie, in elements: lane l at base + l · laneStride + laneOffsets[l]. A null base is 0;
/// laneOffsets (a vector of i64) may be null.
struct Address {
  mlir::Value base;
  int64_t laneStride = 0;
  mlir::Value laneOffsets;
};

/// Integer arithmetic on i64 that leaves out what is trivially 0 or 1. A null value is 0.
mlir::Value buildI64(mlir::OpBuilder &builder, mlir::Location loc, int64_t value);
mlir::Value addI64(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lhs, mlir::Value rhs);
mlir::Value scaleI64(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, int64_t factor);

/// The mask of lanes 0 … count - 1, for a constant and a computed count.
mlir::Value buildTailMask(mlir::OpBuilder &builder, mlir::Location loc, int64_t count);
mlir::Value buildTailMask(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value count);

/// A scalar in all lanes; vectors stay as they are.
mlir::Value broadcastLanes(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);

/// The position base + l · laneStride + laneOffsets[l] of each lane (a vector of i64), or of the scalar at `base`
/// (i64).
mlir::Value buildPosition(mlir::OpBuilder &builder, mlir::Location loc, const Address &address, bool isVector);

/// The type of an element in a register: f32 for 16-bit floats, others as they are.
mlir::Type getRegisterType(mlir::Type elementType);

/// From memory's form of an element to a register's, and back.
mlir::Value decodeElement(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type elementType, mlir::Value loaded);
mlir::Value encodeElement(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type elementType, mlir::Value value);

mlir::Value loadScalar(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type elementType, mlir::Value pointer,
                       mlir::Value offset);
mlir::Value loadVector(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type elementType, mlir::Value pointer,
                       const Address &address, mlir::Value mask);
void storeScalar(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type elementType, mlir::Value value,
                 mlir::Value pointer, mlir::Value offset);
void storeVector(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type elementType, mlir::Value value,
                 mlir::Value pointer, const Address &address, mlir::Value mask);

} // namespace shardc::codegen

#endif
