//===-- Loss.cpp - SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss ------------------------------------------===//

#include "../Loss.h"
#include "../OpTable.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::importer;
using onnx::TensorProto;

namespace {

LogicalResult checkLabels(NodeBuilder &builder, const Operand &scores, const Operand &labels) {
  if (labels.getType() != TensorProto::INT64 && labels.getType() != TensorProto::INT32)
    return builder.fail("training-72",
                        Twine("its labels are ") + getTypeName(labels.getType()) + ", expected int32 or int64");
  Shape expected(scores.getShape());
  if (expected.size() >= 2)
    expected.erase(expected.begin() + 1);
  if (scores.getRank() < 2 || Shape(labels.getShape()) != expected)
    return builder.fail("training-72", Twine("its labels have shape ") + formatShape(labels.getShape()) +
                                           " for scores " + formatShape(scores.getShape()) +
                                           ", expected the scores' without dimension 1");
  return success();
}

/// Classes are dimension 1; here they become the last.
Operand moveClassesLast(NodeBuilder &builder, const Operand &scores) {
  Shape permutation{0};
  for (int64_t dim = 2; dim < scores.getRank(); ++dim)
    permutation.push_back(dim);
  permutation.push_back(1);
  return builder.transpose(scores, permutation);
}

/// The log softmax that scores come from, if they do: then the pair is a cross entropy of its input.
Value findLogits(const Operand &scores) {
  auto sub = scores.getValue() ? scores.getValue().getDefiningOp<nn::SubOp>() : nn::SubOp();
  auto shifted = sub ? sub.getLhs().getDefiningOp<nn::SubOp>() : nn::SubOp();
  auto spread = sub ? sub.getRhs().getDefiningOp<nn::BroadcastInDimOp>() : nn::BroadcastInDimOp();
  auto kept = spread ? spread.getInput().getDefiningOp<nn::ReshapeOp>() : nn::ReshapeOp();
  auto log = kept ? kept.getInput().getDefiningOp<nn::LogOp>() : nn::LogOp();
  auto sum = log ? log.getInput().getDefiningOp<nn::ReduceOp>() : nn::ReduceOp();
  auto exp = sum ? sum.getInput().getDefiningOp<nn::ExpOp>() : nn::ExpOp();
  if (!shifted || !exp || exp.getInput() != shifted.getResult() || sum.getDims() != ArrayRef<int64_t>{1})
    return {};
  return shifted.getLhs();
}

LogicalResult finish(NodeBuilder &builder, const CrossEntropy &loss) {
  std::string reduction = builder.getString("reduction", "mean");
  if (reduction == "none")
    return builder.setResult(0, loss.rows);
  Value sum = sumRows(builder, loss.rows);
  if (reduction == "sum")
    return builder.setResult(0, sum);
  if (reduction != "mean")
    return builder.fail("graph-26",
                        Twine("its attribute 'reduction' is '") + reduction + "', expected 'none', 'sum' or 'mean'");
  (void)builder.setMean(0, {sum, loss.weight});
  return builder.setResult(0, builder.binary(BinaryKind::Div, sum, loss.weight));
}

std::optional<int64_t> getIgnored(NodeBuilder &builder) {
  if (!builder.hasAttribute("ignore_index"))
    return std::nullopt;
  return builder.getInt("ignore_index", 0);
}

LogicalResult buildFromLogits(NodeBuilder &builder, const Operand &logits) {
  Operand labels = builder.getInput(1), weights = builder.getInput(2);
  if (failed(checkLabels(builder, logits, labels)))
    return failure();
  if (weights && (weights.getRank() != 1 || weights.getShape()[0] != logits.getShape()[1]))
    return builder.fail("shape-55", Twine("its class weights have shape ") + formatShape(weights.getShape()) +
                                        ", expected " + Twine(logits.getShape()[1]));
  if (weights && weights.getType() != logits.getType())
    return builder.fail("shape-55", Twine("its class weights are ") + getTypeName(weights.getType()) + ", expected " +
                                        getTypeName(logits.getType()));
  Operand last = moveClassesLast(builder, logits);
  return finish(builder, buildCrossEntropy(builder, last, labels, getIgnored(builder), weights));
}

LogicalResult buildSoftmaxCrossEntropy(NodeBuilder &builder) {
  if (builder.isOutputUsed(1))
    return builder.fail("training-70", "its second output (log probabilities) is used, which is not supported",
                        "compute LogSoftmax of the logits in a node of its own");
  return buildFromLogits(builder, builder.getInput(0));
}

LogicalResult buildNegativeLogLikelihood(NodeBuilder &builder) {
  Value logits = findLogits(builder.getInput(0));
  if (!logits)
    return builder.fail("training-70", "its input is no LogSoftmax along dimension 1, which is not supported",
                        "apply LogSoftmax(axis=1) directly before it");
  return buildFromLogits(builder, logits);
}

const OpInfo kOps[] = {
    {"NegativeLogLikelihoodLoss", 12, 2, 3, 1, "ignore_index:i reduction:s", buildNegativeLogLikelihood},
    {"SoftmaxCrossEntropyLoss", 12, 2, 3, 2, "ignore_index:i reduction:s", buildSoftmaxCrossEntropy},
};

} // namespace

ArrayRef<OpInfo> shardc::importer::getLossOps() { return kOps; }
