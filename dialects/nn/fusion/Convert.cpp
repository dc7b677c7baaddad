//===-- Convert.cpp - scalar body of the conversion between element types -----------------------------------------===//

#include "dialects/nn/NN.h"
#include "dialects/nn/fusion/Scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;
using namespace shardc::nn;

namespace {

/// x ≠ 0; NaN is.
Value convertToBool(OpBuilder &builder, Location loc, Value input) {
  Type type = input.getType();
  if (isa<FloatType>(getElementTypeOrSelf(type)))
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, input, buildFloat(builder, loc, type, 0.0));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, input, buildInteger(builder, loc, type, 0));
}

/// Towards zero; out of range gives the nearest integer, NaN gives 0. Both bounds of the range are powers of two.
Value convertFloatToInteger(OpBuilder &builder, Location loc, Value input, Type type) {
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  Type floatType = input.getType();
  Value low = buildFloat(builder, loc, floatType, -std::ldexp(1.0, width - 1));
  Value high = buildFloat(builder, loc, floatType, std::ldexp(1.0, width - 1));
  Value notBelow = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGE, input, low);
  Value below = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, input, low);
  Value above = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGE, input, high);
  Value notAbove = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, input, high);
  Value inRange = arith::AndIOp::create(builder, loc, notBelow, notAbove);
  Value safe = arith::SelectOp::create(builder, loc, inRange, input, buildFloat(builder, loc, floatType, 0.0));
  Value rounded = arith::FPToSIOp::create(builder, loc, type, safe);
  Value least = buildInteger(builder, loc, type, llvm::minIntN(width));
  Value most = buildInteger(builder, loc, type, llvm::maxIntN(width));
  rounded = arith::SelectOp::create(builder, loc, below, least, rounded);
  return arith::SelectOp::create(builder, loc, above, most, rounded);
}

Value convertInteger(OpBuilder &builder, Location loc, Value input, Type type) {
  unsigned from = getElementTypeOrSelf(input.getType()).getIntOrFloatBitWidth();
  unsigned to = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  if (from == to)
    return input;
  if (from == 1)
    return arith::ExtUIOp::create(builder, loc, type, input);
  if (from < to)
    return arith::ExtSIOp::create(builder, loc, type, input);
  Value least = buildInteger(builder, loc, input.getType(), llvm::minIntN(to));
  Value most = buildInteger(builder, loc, input.getType(), llvm::maxIntN(to));
  Value clamped = arith::MaxSIOp::create(builder, loc, input, least);
  clamped = arith::MinSIOp::create(builder, loc, clamped, most);
  return arith::TruncIOp::create(builder, loc, type, clamped);
}

Value convertToFloat(OpBuilder &builder, Location loc, Value input, Type type) {
  Type from = getElementTypeOrSelf(input.getType());
  if (from.isInteger(1))
    return arith::UIToFPOp::create(builder, loc, type, input);
  if (from.isInteger())
    return arith::SIToFPOp::create(builder, loc, type, input);
  unsigned fromWidth = from.getIntOrFloatBitWidth(), toWidth = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  if (fromWidth == toWidth)
    return input;
  if (fromWidth < toWidth)
    return arith::ExtFOp::create(builder, loc, type, input);
  return arith::TruncFOp::create(builder, loc, type, input);
}

} // namespace

Value ConvertOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  Value input = operands[0];
  Type element = cast<RankedTensorType>(getType()).getElementType();
  Type type = withElementType(input.getType(), element);
  if (type == input.getType())
    return input;
  if (isa<FloatType>(element))
    return convertToFloat(builder, loc, input, type);
  if (element.isInteger(1))
    return convertToBool(builder, loc, input);
  if (isa<FloatType>(getElementTypeOrSelf(input.getType())))
    return convertFloatToInteger(builder, loc, input, type);
  return convertInteger(builder, loc, input, type);
}
