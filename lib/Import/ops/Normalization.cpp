//===-- Normalization.cpp - Softmax and norms ---------------------------------------------------------------------===//

#include "../OpTable.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::importer;

namespace {

/// x − max − log Σ e^(x − max)
Operand makeLogSoftmax(NodeBuilder &builder, const Operand &input, int64_t axis) {
  Shape kept(input.getShape());
  kept[axis] = 1;
  Operand max = builder.reshape(builder.reduce(nn::ReduceKind::Max, input, {axis}), kept);
  Operand shifted = builder.binary(BinaryKind::Sub, input, max);
  Operand sum = builder.reduce(nn::ReduceKind::Sum, builder.unary(UnaryKind::Exp, shifted), {axis});
  return builder.binary(BinaryKind::Sub, shifted, builder.reshape(builder.unary(UnaryKind::Log, sum), kept));
}

Operand makeSoftmax(NodeBuilder &builder, const Operand &input, int64_t axis) {
  return builder.create<nn::SoftmaxOp>(builder.materialize(input), axis);
}

/// Since opset 13 along one axis (−1); before, over all dimensions from the axis (1) on.
template <Operand (*make)(NodeBuilder &, const Operand &, int64_t)> LogicalResult buildSoftmax(NodeBuilder &builder) {
  Operand input = builder.getInput(0);
  if (!input.isFloat())
    return builder.fail("shape-55", Twine("its input is ") + getTypeName(input.getType()) + ", expected a float");
  bool coerces = builder.getNode().opset < 13;
  FailureOr<int64_t> axis = builder.normalizeAxis(builder.getInt("axis", coerces ? 1 : -1), input.getRank());
  if (failed(axis))
    return failure();
  if (!coerces || *axis == input.getRank() - 1)
    return builder.setResult(0, make(builder, input, *axis));
  int64_t rows = *countElements(input.getShape().take_front(*axis));
  int64_t columns = *countElements(input.getShape().drop_front(*axis));
  Operand result = make(builder, builder.reshape(input, {rows, columns}), 1);
  return builder.setResult(0, builder.reshape(result, input.getShape()));
}

/// A scale or bias in the shape of the normalised dimensions; null where the node has none.
FailureOr<Value> getNormParameter(NodeBuilder &builder, int64_t index, const Operand &input, int64_t axis) {
  Operand parameter = builder.getInput(index);
  if (!parameter)
    return Value();
  ArrayRef<int64_t> shape = input.getShape().drop_front(axis);
  if (broadcastShapes(parameter.getShape(), shape) != Shape(shape) || parameter.getType() != input.getType())
    return builder.fail("shape-55", Twine("its input ") + Twine(index) + " has shape " +
                                        formatShape(parameter.getShape()) + ", expected " + formatShape(shape));
  return builder.materialize(builder.broadcast(builder.materialize(parameter), shape));
}

template <nn::NormKind kind> LogicalResult buildNorm(NodeBuilder &builder) {
  Operand input = builder.getInput(0);
  if (!input.isFloat())
    return builder.fail("shape-55", Twine("its input is ") + getTypeName(input.getType()) + ", expected a float");
  FailureOr<int64_t> axis = builder.normalizeAxis(builder.getInt("axis", -1), input.getRank());
  if (failed(axis))
    return failure();
  for (int64_t output : {1, 2})
    if (builder.isOutputUsed(output))
      return builder.fail("training-73", Twine("its output ") + Twine(output) +
                                             " (a statistic) is used, expected only "
                                             "the normalised values to be");
  FailureOr<Value> scale = getNormParameter(builder, 1, input, *axis),
                   bias = getNormParameter(builder, 2, input, *axis);
  if (failed(scale) || failed(bias))
    return failure();
  auto type = builder.getTensorType(input.getShape(), input.getType());
  auto statistics = builder.getTensorType(input.getShape().take_front(*axis), input.getType());
  Value result = builder.create<nn::NormOp>(TypeRange{type, statistics, statistics}, kind, builder.materialize(input),
                                            *scale, *bias, static_cast<uint64_t>(*axis),
                                            llvm::APFloat(builder.getFloat("epsilon", 1e-5f)));
  return builder.setResult(0, result);
}

const OpInfo kOps[] = {
    {"LayerNormalization", 17, 2, 3, 3, "axis:i epsilon:f stash_type:i", buildNorm<nn::NormKind::Layer>},
    {"LogSoftmax", 1, 1, 1, 1, "axis:i", buildSoftmax<makeLogSoftmax>},
    {"RMSNormalization", 23, 2, 2, 1, "axis:i epsilon:f stash_type:i", buildNorm<nn::NormKind::RMS>},
    {"Softmax", 1, 1, 1, 1, "axis:i", buildSoftmax<makeSoftmax>},
};

} // namespace

ArrayRef<OpInfo> shardc::importer::getNormalizationOps() { return kOps; }
