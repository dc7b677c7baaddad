//===-- Rounding.cpp - 16-bit floats in registers -----------------------------------------------------------------===//
//
// bf16 is the upper half of f32, and rounded in integers: the machine's own conversion flushes denormals, and older
// machines have none. f16 is converted by the machine (F16C), which every CPU with fused multiply-add has.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Rounding.h"

#include "dialects/nn/fusion/Scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace shardc;

namespace {

Value buildBits(OpBuilder &builder, Location loc, Value value) {
  return arith::BitcastOp::create(builder, loc, nn::withElementType(value.getType(), builder.getI32Type()), value);
}

/// Adds half of the last place that stays, less one where that place is even; a carry into the exponent is right.
Value roundToBf16(OpBuilder &builder, Location loc, Value value) {
  Value bits = buildBits(builder, loc, value);
  auto constant = [&](int64_t number) { return nn::buildInteger(builder, loc, bits.getType(), number); };
  Value shifted = arith::ShRUIOp::create(builder, loc, bits, constant(16));
  Value isOdd = arith::AndIOp::create(builder, loc, shifted, constant(1));
  Value bias = arith::AddIOp::create(builder, loc, isOdd, constant(0x7FFF));
  Value rounded = arith::AddIOp::create(builder, loc, bits, bias);
  // A NaN stays one: quiet, so that its upper half is no infinity.
  Value quiet = arith::OrIOp::create(builder, loc, bits, constant(0x400000));
  Value isNan = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, value, value);
  rounded = arith::SelectOp::create(builder, loc, isNan, quiet, rounded);
  rounded = arith::AndIOp::create(builder, loc, rounded, constant(-0x10000));
  return arith::BitcastOp::create(builder, loc, value.getType(), rounded);
}

} // namespace

Value shardc::codegen::roundToHalf(OpBuilder &builder, Location loc, Type elementType, Value value) {
  if (elementType.isBF16())
    return roundToBf16(builder, loc, value);
  Type half = nn::withElementType(value.getType(), elementType);
  Value narrow = arith::TruncFOp::create(builder, loc, half, value);
  return arith::ExtFOp::create(builder, loc, value.getType(), narrow);
}

Value shardc::codegen::widenHalf(OpBuilder &builder, Location loc, Type elementType, Value bits) {
  Type f32 = nn::withElementType(bits.getType(), builder.getF32Type());
  if (elementType.isF16()) {
    Type half = nn::withElementType(bits.getType(), elementType);
    Value number = arith::BitcastOp::create(builder, loc, half, bits);
    return arith::ExtFOp::create(builder, loc, f32, number);
  }
  Type words = nn::withElementType(bits.getType(), builder.getI32Type());
  Value wide = arith::ExtUIOp::create(builder, loc, words, bits);
  wide = arith::ShLIOp::create(builder, loc, wide, nn::buildInteger(builder, loc, words, 16));
  return arith::BitcastOp::create(builder, loc, f32, wide);
}

Value shardc::codegen::narrowToHalf(OpBuilder &builder, Location loc, Type elementType, Value value) {
  Type halves = nn::withElementType(value.getType(), builder.getI16Type());
  if (elementType.isF16()) {
    Type half = nn::withElementType(value.getType(), elementType);
    Value number = arith::TruncFOp::create(builder, loc, half, value);
    return arith::BitcastOp::create(builder, loc, halves, number);
  }
  Value bits = buildBits(builder, loc, value);
  bits = arith::ShRUIOp::create(builder, loc, bits, nn::buildInteger(builder, loc, bits.getType(), 16));
  return arith::TruncIOp::create(builder, loc, halves, bits);
}
