//===-- Elementwise.cpp - cotangents of elementwise ops -----------------------------------------------------------===//
//
// With y the result and g its cotangent. Formulas use y where the forward has it anyway.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "dialects/nn/Builders.h"

#include "llvm/Support/MathExtras.h"

#include <numbers>

using namespace mlir;
using namespace shardc;
using namespace shardc::nn;

namespace {

/// The number that all elements of `value` are, seen through ops that only repeat it; none where they differ.
std::optional<double> getSplatNumber(Value value) {
  Operation *op = value.getDefiningOp();
  while (isa_and_present<BroadcastInDimOp, ReshapeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  auto constant = dyn_cast_if_present<ConstantOp>(op);
  auto elements = constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : DenseFPElementsAttr();
  if (!elements || !elements.isSplat())
    return std::nullopt;
  return elements.getSplatValue<APFloat>().convertToDouble();
}

/// Cotangents of max and min: `wins` says how an operand compares with the other where it is the result. Ties give
/// each operand a half.
SmallVector<Value> buildChoiceCotangents(TensorBuilder build, CompareDirection wins, Value lhs, Value rhs, Value g,
                                         ArrayRef<bool> needed) {
  Value zero = build.splatLike(g, 0);
  Value otherwise = build.select(build.compare(CompareDirection::EQ, lhs, rhs), build.mul(g, 0.5), zero);
  SmallVector<Value> result(2);
  if (needed[0])
    result[0] = build.select(build.compare(wins, lhs, rhs), g, otherwise);
  if (needed[1])
    result[1] = build.select(build.compare(wins, rhs, lhs), g, otherwise);
  return result;
}

/// g · b · aᵇ⁻¹, 0 where b is 0 (where a = 0 would give 0 · ∞).
Value buildPowBaseCotangent(TensorBuilder build, Value base, Value exponent, Value g) {
  if (std::optional<double> number = getSplatNumber(exponent)) {
    if (*number == 0)
      return {};
    if (*number == 1)
      return g;
    Value scaled = build.mul(g, *number);
    if (*number == 2)
      return build.mul(scaled, base);
    if (*number == 3)
      return build.mul(scaled, build.mul(base, base));
    return build.mul(scaled, build.pow(base, build.splatLike(exponent, *number - 1)));
  }
  Value slope = build.mul(exponent, build.pow(base, build.add(exponent, -1)));
  Value isZero = build.compare(CompareDirection::EQ, exponent, 0.0);
  return build.select(isZero, build.splatLike(g, 0), build.mul(g, slope));
}

/// g · y · ln a, 0 where a ≤ 0.
Value buildPowExponentCotangent(TensorBuilder build, Value base, Value y, Value g) {
  Value isPositive = build.compare(CompareDirection::GT, base, 0.0);
  Value logarithm = build.log(build.select(isPositive, base, build.splatLike(base, 1)));
  return build.select(isPositive, build.mul(g, build.mul(y, logarithm)), build.splatLike(g, 0));
}

} // namespace

SmallVector<Value> NegOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> /*needed*/) {
  return {TensorBuilder(builder, getLoc()).neg(cotangents[0])};
}

SmallVector<Value> ExpOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> /*needed*/) {
  return {TensorBuilder(builder, getLoc()).mul(cotangents[0], getResult())};
}

SmallVector<Value> LogOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> /*needed*/) {
  return {TensorBuilder(builder, getLoc()).div(cotangents[0], getInput())};
}

SmallVector<Value> SqrtOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> /*needed*/) {
  TensorBuilder build(builder, getLoc());
  return {build.div(build.mul(cotangents[0], 0.5), getResult())};
}

SmallVector<Value> RsqrtOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> /*needed*/) {
  TensorBuilder build(builder, getLoc());
  Value y = getResult();
  return {build.mul(build.mul(cotangents[0], -0.5), build.mul(y, build.mul(y, y)))};
}

SmallVector<Value> TanhOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> /*needed*/) {
  TensorBuilder build(builder, getLoc());
  Value y = getResult();
  return {build.mul(cotangents[0], build.sub(build.splatLike(y, 1), build.mul(y, y)))};
}

SmallVector<Value> ErfOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> /*needed*/) {
  TensorBuilder build(builder, getLoc());
  Value x = getInput();
  Value bell = build.exp(build.neg(build.mul(x, x)));
  return {build.mul(cotangents[0], build.mul(bell, 2 * std::numbers::inv_sqrtpi))};
}

SmallVector<Value> LogisticOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents,
                                               ArrayRef<bool> /*needed*/) {
  TensorBuilder build(builder, getLoc());
  Value y = getResult();
  return {build.mul(cotangents[0], build.mul(y, build.sub(build.splatLike(y, 1), y)))};
}

SmallVector<Value> SinOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> /*needed*/) {
  TensorBuilder build(builder, getLoc());
  return {build.mul(cotangents[0], build.cos(getInput()))};
}

SmallVector<Value> CosOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> /*needed*/) {
  TensorBuilder build(builder, getLoc());
  return {build.neg(build.mul(cotangents[0], build.sin(getInput())))};
}

SmallVector<Value> AddOp::buildCotangents(OpBuilder & /*builder*/, ArrayRef<Value> cotangents,
                                          ArrayRef<bool> /*needed*/) {
  return {cotangents[0], cotangents[0]};
}

SmallVector<Value> SubOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> needed) {
  TensorBuilder build(builder, getLoc());
  return {cotangents[0], needed[1] ? build.neg(cotangents[0]) : Value()};
}

SmallVector<Value> MulOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> needed) {
  TensorBuilder build(builder, getLoc());
  Value g = cotangents[0];
  return {needed[0] ? build.mul(g, getRhs()) : Value(), needed[1] ? build.mul(g, getLhs()) : Value()};
}

SmallVector<Value> DivOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> needed) {
  TensorBuilder build(builder, getLoc());
  Value quotient = build.div(cotangents[0], getRhs());
  return {quotient, needed[1] ? build.neg(build.mul(quotient, getResult())) : Value()};
}

SmallVector<Value> MaxOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> needed) {
  TensorBuilder build(builder, getLoc());
  return buildChoiceCotangents(build, CompareDirection::GT, getLhs(), getRhs(), cotangents[0], needed);
}

SmallVector<Value> MinOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> needed) {
  TensorBuilder build(builder, getLoc());
  return buildChoiceCotangents(build, CompareDirection::LT, getLhs(), getRhs(), cotangents[0], needed);
}

SmallVector<Value> PowOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> needed) {
  TensorBuilder build(builder, getLoc());
  Value g = cotangents[0];
  return {needed[0] ? buildPowBaseCotangent(build, getLhs(), getRhs(), g) : Value(),
          needed[1] ? buildPowExponentCotangent(build, getLhs(), getResult(), g) : Value()};
}

SmallVector<Value> SelectOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> needed) {
  TensorBuilder build(builder, getLoc());
  Value g = cotangents[0], zero = build.splatLike(g, 0);
  return {Value(), needed[1] ? build.select(getPredicate(), g, zero) : Value(),
          needed[2] ? build.select(getPredicate(), zero, g) : Value()};
}

SmallVector<Value> ConvertOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents,
                                              ArrayRef<bool> /*needed*/) {
  Type from = getTensorType(getInput()).getElementType();
  if (!isa<FloatType>(from))
    return {Value()};
  return {TensorBuilder(builder, getLoc()).convert(cotangents[0], from)};
}
