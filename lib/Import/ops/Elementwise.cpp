//===-- Elementwise.cpp - arithmetic, comparisons, conversions ----------------------------------------------------===//

#include "../OpTable.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::importer;
using onnx::TensorProto;

namespace {

LogicalResult checkTypes(NodeBuilder &builder, const Operand &a, const Operand &b) {
  if (a.getType() == b.getType())
    return success();
  return builder.fail("shape-55", Twine("its inputs have the element types ") + getTypeName(a.getType()) + " and " +
                                      getTypeName(b.getType()) + ", expected one type");
}

LogicalResult checkPair(NodeBuilder &builder, const Operand &a, const Operand &b) {
  return failed(checkTypes(builder, a, b)) ? failure() : builder.checkBroadcast(a, b);
}

template <BinaryKind kind> LogicalResult buildBinary(NodeBuilder &builder) {
  Operand a = builder.getInput(0), b = builder.getInput(1);
  if (failed(checkPair(builder, a, b)))
    return failure();
  return builder.setResult(0, builder.binary(kind, a, b));
}

/// Sum, Max, Min: any number of inputs.
template <BinaryKind kind> LogicalResult buildVariadic(NodeBuilder &builder) {
  Operand result = builder.getInput(0);
  for (int64_t i = 1; i < builder.getNumInputs(); ++i) {
    Operand next = builder.getInput(i);
    if (!next)
      return builder.fail("graph-24", Twine("its input ") + Twine(i) + " is empty");
    if (failed(checkPair(builder, result, next)))
      return failure();
    result = builder.binary(kind, result, next);
  }
  return builder.setResult(0, result);
}

template <BinaryKind kind> LogicalResult buildLogical(NodeBuilder &builder) {
  Operand a = builder.getInput(0), b = builder.getInput(1);
  if (a.getType() != TensorProto::BOOL || b.getType() != TensorProto::BOOL)
    return builder.fail("shape-55", "its inputs are not booleans");
  return failed(builder.checkBroadcast(a, b)) ? failure() : builder.setResult(0, builder.binary(kind, a, b));
}

LogicalResult buildNot(NodeBuilder &builder) {
  Operand input = builder.getInput(0);
  if (input.getType() != TensorProto::BOOL)
    return builder.fail("shape-55", "its input is not boolean");
  return builder.setResult(0, builder.binary(BinaryKind::Xor, input, builder.makeScalar(TensorProto::BOOL, 1)));
}

template <nn::CompareDirection direction> LogicalResult buildCompare(NodeBuilder &builder) {
  Operand a = builder.getInput(0), b = builder.getInput(1);
  if (failed(checkPair(builder, a, b)))
    return failure();
  return builder.setResult(0, builder.compare(direction, a, b));
}

template <UnaryKind kind> LogicalResult buildFloatUnary(NodeBuilder &builder) {
  Operand input = builder.getInput(0);
  if (!input.isFloat())
    return builder.fail("shape-55", Twine("its input is ") + getTypeName(input.getType()) + ", expected a float");
  return builder.setResult(0, builder.unary(kind, input));
}

LogicalResult buildNeg(NodeBuilder &builder) {
  return builder.setResult(0, builder.unary(UnaryKind::Neg, builder.getInput(0)));
}

/// Rounding has gradient 0 and no nn op: only what is known at import can be rounded.
template <UnaryKind kind> LogicalResult buildRounding(NodeBuilder &builder) {
  Operand input = builder.getInput(0);
  if (!input.isConstant())
    return builder.fail("training-70", "rounds a value that is computed from the data, and has no gradient");
  return builder.setResult(0, builder.unary(kind, input));
}

/// |x| = max(x, −x), whose halved ties give the gradient 0 at 0.
LogicalResult buildAbs(NodeBuilder &builder) {
  Operand input = builder.getInput(0);
  return builder.setResult(0, builder.binary(BinaryKind::Max, input, builder.unary(UnaryKind::Neg, input)));
}

LogicalResult buildReciprocal(NodeBuilder &builder) {
  Operand input = builder.getInput(0);
  return builder.setResult(0, builder.binary(BinaryKind::Div, builder.makeScalar(input.getType(), 1), input));
}

/// Small constant powers as products, which are exact where pow is not.
LogicalResult buildPow(NodeBuilder &builder) {
  Operand base = builder.getInput(0), exponent = builder.getInput(1);
  if (failed(builder.checkBroadcast(base, exponent)))
    return failure();
  if (!base.isConstant() && exponent.isConstant() && exponent.getNumElements() == 1 &&
      exponent.getRank() <= base.getRank()) {
    double power = exponent.getConstant().getFloat(0);
    if (power == 1)
      return builder.setResult(0, base);
    if (power == 0.5 && base.isFloat())
      return builder.setResult(0, builder.unary(UnaryKind::Sqrt, base));
    if (power == 2 || power == 3) {
      Operand result = builder.binary(BinaryKind::Mul, base, base);
      return builder.setResult(0, power == 2 ? result : builder.binary(BinaryKind::Mul, result, base));
    }
  }
  return builder.setResult(0, builder.binary(BinaryKind::Pow, base, builder.convert(exponent, base.getType())));
}

LogicalResult buildWhere(NodeBuilder &builder) {
  Operand predicate = builder.getInput(0), a = builder.getInput(1), b = builder.getInput(2);
  if (predicate.getType() != TensorProto::BOOL)
    return builder.fail("shape-55", Twine("its condition is ") + getTypeName(predicate.getType()) + ", expected bool");
  if (failed(checkPair(builder, a, b)) || failed(builder.checkBroadcast(predicate, a)) ||
      failed(builder.checkBroadcast(predicate, b)))
    return failure();
  return builder.setResult(0, builder.select(predicate, a, b));
}

LogicalResult convertTo(NodeBuilder &builder, int32_t type) {
  Operand input = builder.getInput(0);
  if (!getElementBytes(type) || (!input.isConstant() && !getElementType(builder.getLoc().getContext(), type)))
    return builder.fail("tensor-40", Twine("converts to ") + getTypeName(type) + ", which is not supported",
                        "export the model in float32");
  if (input.isConstant() && !isFloatType(type) && type != TensorProto::INT64 && type != TensorProto::INT32 &&
      type != TensorProto::BOOL && input.isFloat())
    return builder.fail("tensor-40", Twine("converts floats to ") + getTypeName(type) + ", which is not supported");
  return builder.setResult(0, builder.convert(input, type));
}

LogicalResult buildCast(NodeBuilder &builder) {
  return convertTo(builder, static_cast<int32_t>(builder.getInt("to", TensorProto::UNDEFINED)));
}

LogicalResult buildCastLike(NodeBuilder &builder) { return convertTo(builder, builder.getInput(1).getType()); }

LogicalResult buildIdentity(NodeBuilder &builder) {
  const Node &node = builder.getNode();
  if (auto mean = builder.getState().means.find(node.inputs[0]); mean != builder.getState().means.end())
    (void)builder.setMean(0, MeanParts(mean->second));
  return builder.setResult(0, builder.getInput(0));
}

const OpInfo kOps[] = {
    {"Abs", 6, 1, 1, 1, "", buildAbs},
    {"Add", 7, 2, 2, 1, "", buildBinary<BinaryKind::Add>},
    {"And", 7, 2, 2, 1, "", buildLogical<BinaryKind::And>},
    {"Cast", 6, 1, 1, 1, "to:i! saturate:i round_mode:s", buildCast},
    {"CastLike", 15, 2, 2, 1, "saturate:i round_mode:s", buildCastLike},
    {"Ceil", 6, 1, 1, 1, "", buildRounding<UnaryKind::Ceil>},
    {"Cos", 7, 1, 1, 1, "", buildFloatUnary<UnaryKind::Cos>},
    {"Div", 7, 2, 2, 1, "", buildBinary<BinaryKind::Div>},
    {"Equal", 7, 2, 2, 1, "", buildCompare<nn::CompareDirection::EQ>},
    {"Erf", 9, 1, 1, 1, "", buildFloatUnary<UnaryKind::Erf>},
    {"Exp", 6, 1, 1, 1, "", buildFloatUnary<UnaryKind::Exp>},
    {"Floor", 6, 1, 1, 1, "", buildRounding<UnaryKind::Floor>},
    {"Greater", 7, 2, 2, 1, "", buildCompare<nn::CompareDirection::GT>},
    {"GreaterOrEqual", 12, 2, 2, 1, "", buildCompare<nn::CompareDirection::GE>},
    {"Identity", 1, 1, 1, 1, "", buildIdentity},
    {"Less", 7, 2, 2, 1, "", buildCompare<nn::CompareDirection::LT>},
    {"LessOrEqual", 12, 2, 2, 1, "", buildCompare<nn::CompareDirection::LE>},
    {"Log", 6, 1, 1, 1, "", buildFloatUnary<UnaryKind::Log>},
    {"Max", 8, 1, kManyInputs, 1, "", buildVariadic<BinaryKind::Max>},
    {"Min", 8, 1, kManyInputs, 1, "", buildVariadic<BinaryKind::Min>},
    {"Mul", 7, 2, 2, 1, "", buildBinary<BinaryKind::Mul>},
    {"Neg", 6, 1, 1, 1, "", buildNeg},
    {"Not", 1, 1, 1, 1, "", buildNot},
    {"Or", 7, 2, 2, 1, "", buildLogical<BinaryKind::Or>},
    {"Pow", 7, 2, 2, 1, "", buildPow},
    {"Reciprocal", 6, 1, 1, 1, "", buildReciprocal},
    {"Round", 11, 1, 1, 1, "", buildRounding<UnaryKind::Round>},
    {"Sin", 7, 1, 1, 1, "", buildFloatUnary<UnaryKind::Sin>},
    {"Sqrt", 6, 1, 1, 1, "", buildFloatUnary<UnaryKind::Sqrt>},
    {"Sub", 7, 2, 2, 1, "", buildBinary<BinaryKind::Sub>},
    {"Sum", 8, 1, kManyInputs, 1, "", buildVariadic<BinaryKind::Add>},
    {"Where", 9, 3, 3, 1, "", buildWhere},
    {"Xor", 7, 2, 2, 1, "", buildLogical<BinaryKind::Xor>},
};

} // namespace

ArrayRef<OpInfo> shardc::importer::getElementwiseOps() { return kOps; }
