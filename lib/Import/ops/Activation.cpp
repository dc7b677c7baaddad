//===-- Activation.cpp - activations, decomposed ------------------------------------------------------------------===//
//
// Kinks are compare and select rather than max and min, whose halved ties would give gradient ½ where frameworks give
// 0. The comparison holds for the replaced side, so that a NaN stays one.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "../OpTable.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace shardc;
using namespace shardc::importer;

namespace {

using Direction = nn::CompareDirection;

Operand replaceWhere(NodeBuilder &builder, Direction direction, const Operand &input, const Operand &bound,
                     const Operand &replacement) {
  return builder.select(builder.compare(direction, input, bound), replacement, input);
}

LogicalResult buildRelu(NodeBuilder &builder) {
  Operand input = builder.getInput(0), scalar = builder.makeScalar(input.getType(), 0);
  Operand zero = builder.broadcast(builder.materialize(scalar), input.getShape());
  return builder.setResult(0, replaceWhere(builder, Direction::LE, input, zero, zero));
}

LogicalResult buildLeakyRelu(NodeBuilder &builder) {
  Operand input = builder.getInput(0), zero = builder.makeScalar(input.getType(), 0);
  Operand sloped = builder.binary(BinaryKind::Mul, input, builder.getFloat("alpha", 0.01f));
  return builder.setResult(0, replaceWhere(builder, Direction::LE, input, zero, sloped));
}

LogicalResult buildSigmoid(NodeBuilder &builder) {
  return builder.setResult(0, builder.unary(UnaryKind::Logistic, builder.getInput(0)));
}

LogicalResult buildTanh(NodeBuilder &builder) {
  return builder.setResult(0, builder.unary(UnaryKind::Tanh, builder.getInput(0)));
}

/// max(x, 0) + log(1 + e^−|x|), which does not overflow.
LogicalResult buildSoftplus(NodeBuilder &builder) {
  Operand x = builder.getInput(0), zero = builder.makeScalar(x.getType(), 0);
  Operand magnitude = builder.binary(BinaryKind::Max, x, builder.unary(UnaryKind::Neg, x));
  Operand decay = builder.unary(UnaryKind::Exp, builder.unary(UnaryKind::Neg, magnitude));
  Operand tail = builder.unary(UnaryKind::Log, builder.binary(BinaryKind::Add, decay, 1));
  return builder.setResult(0,
                           builder.binary(BinaryKind::Add, replaceWhere(builder, Direction::LE, x, zero, zero), tail));
}

/// x · Φ(x), Φ exact or by tanh.
LogicalResult buildGelu(NodeBuilder &builder) {
  Operand x = builder.getInput(0);
  std::string approximate = builder.getString("approximate", "none");
  Operand inner;
  if (approximate == "none") {
    inner = builder.unary(UnaryKind::Erf, builder.binary(BinaryKind::Div, x, std::numbers::sqrt2));
  } else if (approximate == "tanh") {
    Operand cube = builder.binary(BinaryKind::Mul, builder.binary(BinaryKind::Mul, x, x), x);
    Operand sum = builder.binary(BinaryKind::Add, x, builder.binary(BinaryKind::Mul, cube, 0.044715));
    double scale = std::sqrt(2 * std::numbers::inv_pi);
    inner = builder.unary(UnaryKind::Tanh, builder.binary(BinaryKind::Mul, sum, scale));
  } else {
    return builder.fail("graph-26",
                        Twine("its attribute 'approximate' is '") + approximate + "', expected 'none' or 'tanh'");
  }
  Operand half = builder.binary(BinaryKind::Mul, x, 0.5);
  return builder.setResult(0, builder.binary(BinaryKind::Mul, half, builder.binary(BinaryKind::Add, inner, 1)));
}

/// Bounds are attributes before opset 11, then inputs.
LogicalResult buildClip(NodeBuilder &builder) {
  Operand x = builder.getInput(0), low, high;
  if (builder.getNode().opset < 11) {
    if (builder.hasAttribute("min"))
      low = builder.makeScalar(x.getType(), builder.getFloat("min", 0));
    if (builder.hasAttribute("max"))
      high = builder.makeScalar(x.getType(), builder.getFloat("max", 0));
  } else {
    low = builder.getInput(1);
    high = builder.getInput(2);
  }
  for (const Operand &bound : {low, high})
    if (bound && (bound.getNumElements() != 1 || bound.getType() != x.getType()))
      return builder.fail("shape-55", "its bounds are not scalars of the input's type");
  if (low) {
    low = builder.reshape(low, {});
    x = replaceWhere(builder, Direction::LT, x, low, low);
  }
  if (high) {
    high = builder.reshape(high, {});
    x = replaceWhere(builder, Direction::GT, x, high, high);
  }
  return builder.setResult(0, x);
}

const OpInfo kOps[] = {
    {"Clip", 6, 1, 3, 1, "min:f max:f", buildClip},
    {"Gelu", 20, 1, 1, 1, "approximate:s", buildGelu},
    {"LeakyRelu", 6, 1, 1, 1, "alpha:f", buildLeakyRelu},
    {"Relu", 6, 1, 1, 1, "", buildRelu},
    {"Sigmoid", 6, 1, 1, 1, "", buildSigmoid},
    {"Softplus", 1, 1, 1, 1, "", buildSoftplus},
    {"Tanh", 6, 1, 1, 1, "", buildTanh},
};

} // namespace

ArrayRef<OpInfo> shardc::importer::getActivationOps() { return kOps; }
