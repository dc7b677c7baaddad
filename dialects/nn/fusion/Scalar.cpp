//===-- Scalar.cpp - constants and types of scalar bodies ---------------------------------------------------------===//

#include "dialects/nn/fusion/Scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

Type shardc::nn::withElementType(Type like, Type elementType) {
  if (auto vector = dyn_cast<VectorType>(like))
    return VectorType::get(vector.getShape(), elementType);
  return elementType;
}

Value shardc::nn::buildConstant(OpBuilder &builder, Location loc, Type type, TypedAttr attribute) {
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(vector, Attribute(attribute)));
  return arith::ConstantOp::create(builder, loc, attribute);
}

Value shardc::nn::buildFloat(OpBuilder &builder, Location loc, Type type, double value) {
  return buildConstant(builder, loc, type, builder.getFloatAttr(getElementTypeOrSelf(type), value));
}

Value shardc::nn::buildInteger(OpBuilder &builder, Location loc, Type type, int64_t value) {
  return buildConstant(builder, loc, type, builder.getIntegerAttr(getElementTypeOrSelf(type), value));
}
