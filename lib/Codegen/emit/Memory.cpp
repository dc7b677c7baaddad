//===-- Memory.cpp - loads and stores of scalars and of vectors of 16 lanes ---------------------------------------===//

#include "Memory.h"

#include "KernelGraph.h"
#include "Rounding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

Type getMemoryType(OpBuilder &builder, Type elementType) {
  if (nn::isLowPrecision(elementType))
    return builder.getI16Type();
  return elementType.isInteger(1) ? builder.getI8Type() : elementType;
}

unsigned getAlignment(Type memoryType) { return memoryType.getIntOrFloatBitWidth() / 8; }

VectorType getVectorType(Type elementType) { return VectorType::get({kLanes}, elementType); }

Value buildZeros(OpBuilder &builder, Location loc, VectorType type) {
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
}

Value buildElementPointer(OpBuilder &builder, Location loc, Type memoryType, Value pointer, Value offset) {
  if (!offset)
    return pointer;
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), memoryType, pointer, ArrayRef<LLVM::GEPArg>{offset});
}

Value buildLanePointers(OpBuilder &builder, Location loc, Type memoryType, Value pointer, const Address &address) {
  Type pointers = getVectorType(pointer.getType());
  Value position = buildPosition(builder, loc, address, /*isVector=*/true);
  return LLVM::GEPOp::create(builder, loc, pointers, memoryType, pointer, ArrayRef<LLVM::GEPArg>{position});
}

/// Bytes to truth values, halves to f32.
Value decode(OpBuilder &builder, Location loc, Type elementType, Value loaded) {
  if (nn::isLowPrecision(elementType))
    return widenHalf(builder, loc, elementType, loaded);
  if (!elementType.isInteger(1))
    return loaded;
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(loaded.getType()));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, loaded, zero);
}

/// Truth values to bytes, f32 to halves.
Value encode(OpBuilder &builder, Location loc, Type elementType, Value value) {
  if (nn::isLowPrecision(elementType))
    return narrowToHalf(builder, loc, elementType, value);
  if (!getElementTypeOrSelf(value.getType()).isInteger(1))
    return value;
  Type bytes = builder.getI8Type();
  if (isa<VectorType>(value.getType()))
    bytes = getVectorType(bytes);
  return arith::ExtUIOp::create(builder, loc, bytes, value);
}

Value buildMask(OpBuilder &builder, Location loc, Value mask) {
  return mask ? mask : buildTailMask(builder, loc, kLanes);
}

} // namespace

Value shardc::codegen::decodeElement(OpBuilder &builder, Location loc, Type elementType, Value loaded) {
  return decode(builder, loc, elementType, loaded);
}

Value shardc::codegen::encodeElement(OpBuilder &builder, Location loc, Type elementType, Value value) {
  return encode(builder, loc, elementType, value);
}

Value shardc::codegen::buildI64(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 64);
}

Value shardc::codegen::addI64(OpBuilder &builder, Location loc, Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return arith::AddIOp::create(builder, loc, lhs, rhs);
}

Value shardc::codegen::scaleI64(OpBuilder &builder, Location loc, Value value, int64_t factor) {
  if (!value || factor == 0)
    return {};
  if (factor == 1)
    return value;
  return arith::MulIOp::create(builder, loc, value, buildI64(builder, loc, factor));
}

Value shardc::codegen::buildTailMask(OpBuilder &builder, Location loc, int64_t count) {
  SmallVector<bool> lanes;
  for (int64_t lane = 0; lane < kLanes; ++lane)
    lanes.push_back(lane < count);
  auto type = getVectorType(builder.getI1Type());
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, lanes));
}

Value shardc::codegen::buildTailMask(OpBuilder &builder, Location loc, Value count) {
  Value lanes = buildPosition(builder, loc, {{}, 1, {}}, /*isVector=*/true);
  Value limit = broadcastLanes(builder, loc, count);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, lanes, limit);
}

Value shardc::codegen::broadcastLanes(OpBuilder &builder, Location loc, Value value) {
  if (isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(builder, loc, getVectorType(value.getType()), value);
}

Value shardc::codegen::buildPosition(OpBuilder &builder, Location loc, const Address &address, bool isVector) {
  if (!isVector)
    return address.base ? address.base : buildI64(builder, loc, 0);
  auto type = getVectorType(builder.getI64Type());
  Value position = address.base ? broadcastLanes(builder, loc, address.base) : Value();
  if (address.laneStride != 0) {
    SmallVector<int64_t> offsets;
    for (int64_t lane = 0; lane < kLanes; ++lane)
      offsets.push_back(lane * address.laneStride);
    Value lanes = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(offsets)));
    position = addI64(builder, loc, position, lanes);
  }
  position = addI64(builder, loc, position, address.laneOffsets);
  return position ? position : buildZeros(builder, loc, type);
}

Type shardc::codegen::getRegisterType(Type elementType) {
  return nn::isLowPrecision(elementType) ? Type(Float32Type::get(elementType.getContext())) : elementType;
}

Value shardc::codegen::loadScalar(OpBuilder &builder, Location loc, Type elementType, Value pointer, Value offset) {
  Type memoryType = getMemoryType(builder, elementType);
  Value element = buildElementPointer(builder, loc, memoryType, pointer, offset);
  return decode(builder, loc, elementType, LLVM::LoadOp::create(builder, loc, memoryType, element));
}

Value shardc::codegen::loadVector(OpBuilder &builder, Location loc, Type elementType, Value pointer,
                                  const Address &address, Value mask) {
  Type memoryType = getMemoryType(builder, elementType);
  VectorType type = getVectorType(memoryType);
  unsigned alignment = getAlignment(memoryType);
  if (address.laneOffsets || (address.laneStride != 0 && address.laneStride != 1)) {
    Value pointers = buildLanePointers(builder, loc, memoryType, pointer, address);
    Value lanes = buildMask(builder, loc, mask), zeros = buildZeros(builder, loc, type);
    Value loaded = LLVM::masked_gather::create(builder, loc, type, pointers, lanes, ValueRange{zeros}, alignment);
    return decode(builder, loc, elementType, loaded);
  }
  if (address.laneStride == 0)
    return broadcastLanes(builder, loc, loadScalar(builder, loc, elementType, pointer, address.base));
  Value element = buildElementPointer(builder, loc, memoryType, pointer, address.base);
  Value loaded;
  if (mask)
    loaded = LLVM::MaskedLoadOp::create(builder, loc, type, element, mask, buildZeros(builder, loc, type), alignment);
  else
    loaded = LLVM::LoadOp::create(builder, loc, type, element, alignment);
  return decode(builder, loc, elementType, loaded);
}

void shardc::codegen::storeScalar(OpBuilder &builder, Location loc, Type elementType, Value value, Value pointer,
                                  Value offset) {
  Value encoded = encode(builder, loc, elementType, value);
  LLVM::StoreOp::create(builder, loc, encoded, buildElementPointer(builder, loc, encoded.getType(), pointer, offset));
}

void shardc::codegen::storeVector(OpBuilder &builder, Location loc, Type elementType, Value value, Value pointer,
                                  const Address &address, Value mask) {
  Value encoded = encode(builder, loc, elementType, value);
  Type memoryType = getElementTypeOrSelf(encoded.getType());
  unsigned alignment = getAlignment(memoryType);
  if (address.laneOffsets || address.laneStride != 1) {
    Value pointers = buildLanePointers(builder, loc, memoryType, pointer, address);
    LLVM::masked_scatter::create(builder, loc, encoded, pointers, buildMask(builder, loc, mask),
                                 builder.getI32IntegerAttr(alignment));
    return;
  }
  Value element = buildElementPointer(builder, loc, memoryType, pointer, address.base);
  if (mask)
    LLVM::MaskedStoreOp::create(builder, loc, encoded, element, mask, builder.getI32IntegerAttr(alignment));
  else
    LLVM::StoreOp::create(builder, loc, encoded, element, alignment);
}
