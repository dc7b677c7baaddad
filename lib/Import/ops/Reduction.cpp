//===-- Reduction.cpp - Reduce… -----------------------------------------------------------------------------------===//

#include "../OpTable.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::importer;

namespace {

/// Which dimensions a node reduces, and the shape of its result.
struct Reduction {
  Shape dims, shape;
  int64_t count = 1;
};

/// Axes are an attribute before opset `since` and input 1 from then on; none means all, or none with
/// noop_with_empty_axes.
FailureOr<Reduction> getReduction(NodeBuilder &builder, const Operand &input, int64_t since) {
  Shape axes = builder.getInts("axes");
  if (builder.getNode().opset >= since && builder.hasInput(1)) {
    FailureOr<Shape> given = builder.getIntsOfInput(1, "axes");
    if (failed(given))
      return failure();
    axes = *given;
  }
  FailureOr<Shape> dims = builder.normalizeAxes(axes, input.getRank());
  if (failed(dims))
    return failure();
  Reduction reduction;
  reduction.dims = *dims;
  if (reduction.dims.empty() && builder.getInt("noop_with_empty_axes", 0) == 0)
    for (int64_t dim = 0; dim < input.getRank(); ++dim)
      reduction.dims.push_back(dim);
  bool keeps = builder.getInt("keepdims", 1) != 0;
  for (int64_t dim = 0; dim < input.getRank(); ++dim) {
    int64_t size = input.getShape()[dim];
    bool isReduced = llvm::is_contained(reduction.dims, dim);
    reduction.count *= isReduced ? size : 1;
    if (!isReduced || keeps)
      reduction.shape.push_back(isReduced ? 1 : size);
  }
  return reduction;
}

constexpr int64_t kAxesInput = 18, kAxesInputOfSum = 13;

template <nn::ReduceKind kind> LogicalResult buildReduce(NodeBuilder &builder) {
  Operand input = builder.getInput(0);
  int64_t since = kind == nn::ReduceKind::Sum ? kAxesInputOfSum : kAxesInput;
  FailureOr<Reduction> reduction = getReduction(builder, input, since);
  if (failed(reduction))
    return failure();
  return builder.setResult(0, builder.reshape(builder.reduce(kind, input, reduction->dims), reduction->shape));
}

/// Sum by count. A mean over everything may be the loss: its parts are kept.
LogicalResult buildReduceMean(NodeBuilder &builder) {
  Operand input = builder.getInput(0);
  if (!input.isFloat())
    return builder.fail("shape-55", Twine("its input is ") + getTypeName(input.getType()) + ", expected a float");
  FailureOr<Reduction> reduction = getReduction(builder, input, kAxesInput);
  if (failed(reduction))
    return failure();
  Operand sum = builder.reduce(nn::ReduceKind::Sum, input, reduction->dims);
  Operand mean = builder.binary(BinaryKind::Div, sum, static_cast<double>(reduction->count));
  if (!sum.isConstant() && sum.getRank() == 0) {
    Operand weight = builder.makeScalar(input.getType(), static_cast<double>(reduction->count));
    (void)builder.setMean(0, {sum.getValue(), builder.materialize(weight)});
  }
  return builder.setResult(0, builder.reshape(mean, reduction->shape));
}

template <bool root> LogicalResult buildReduceSquares(NodeBuilder &builder) {
  Operand input = builder.getInput(0);
  FailureOr<Reduction> reduction = getReduction(builder, input, kAxesInput);
  if (failed(reduction))
    return failure();
  Operand sum = builder.reduce(nn::ReduceKind::Sum, builder.binary(BinaryKind::Mul, input, input), reduction->dims);
  if (root)
    sum = builder.unary(UnaryKind::Sqrt, sum);
  return builder.setResult(0, builder.reshape(sum, reduction->shape));
}

constexpr const char *kAttributes = "axes:is keepdims:i noop_with_empty_axes:i";

const OpInfo kOps[] = {
    {"ReduceL2", 1, 1, 2, 1, kAttributes, buildReduceSquares<true>},
    {"ReduceMax", 1, 1, 2, 1, kAttributes, buildReduce<nn::ReduceKind::Max>},
    {"ReduceMean", 1, 1, 2, 1, kAttributes, buildReduceMean},
    {"ReduceMin", 1, 1, 2, 1, kAttributes, buildReduce<nn::ReduceKind::Min>},
    {"ReduceProd", 1, 1, 2, 1, kAttributes, buildReduce<nn::ReduceKind::Prod>},
    {"ReduceSum", 1, 1, 2, 1, kAttributes, buildReduce<nn::ReduceKind::Sum>},
    {"ReduceSumSquare", 1, 1, 2, 1, kAttributes, buildReduceSquares<false>},
};

} // namespace

ArrayRef<OpInfo> shardc::importer::getReductionOps() { return kOps; }
