//===-- Loss.cpp - the loss as numerator and denominator ----------------------------------------------------------===//

#include "Loss.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::importer;
using onnx::TensorProto;

namespace {

/// [b, s, C] → [b·s, C] beside [b, s] → [b·s] says nothing about the loss, but hides the batch dimension.
void seeThroughReshapes(Value &logits, Value &labels) {
  auto wide = logits.getDefiningOp<nn::ReshapeOp>(), narrow = labels.getDefiningOp<nn::ReshapeOp>();
  if (!wide || !narrow)
    return;
  auto from = cast<RankedTensorType>(wide.getInput().getType()), to = cast<RankedTensorType>(logits.getType());
  auto rows = cast<RankedTensorType>(narrow.getInput().getType());
  if (from.getRank() == 0 || from.getShape().back() != to.getShape().back() ||
      from.getShape().drop_back() != rows.getShape())
    return;
  logits = wide.getInput();
  labels = narrow.getInput();
}

} // namespace

CrossEntropy shardc::importer::buildCrossEntropy(NodeBuilder &builder, const Operand &logits, const Operand &labels,
                                                 std::optional<int64_t> ignored, const Operand &classWeights) {
  Value x = builder.materialize(logits), y = builder.materialize(labels);
  seeThroughReshapes(x, y);
  auto logitsType = cast<RankedTensorType>(x.getType());
  int64_t ignore = ignored.value_or(kDefaultIgnore);
  auto rowType = RankedTensorType::get(logitsType.getShape().drop_back(), logitsType.getElementType());
  Operand rows = builder.create<nn::CrossEntropyOp>(TypeRange{rowType, rowType}, x, y, ignore, IntegerAttr());
  Operand y32(y);
  Operand counts = builder.compare(nn::CompareDirection::NE, y32, builder.makeScalar(y32.getType(), ignore));
  Operand weights = builder.convert(counts, logits.getType());
  if (classWeights) {
    // An ignored label that happens to be in range must not count; one out of range reads zero.
    Operand gathered = builder.gather(classWeights, y32, 0);
    weights = builder.binary(BinaryKind::Mul, weights, gathered);
    rows = builder.binary(BinaryKind::Mul, rows, weights);
  }
  Value weight = sumRows(builder, weights.getValue());
  builder.getState().indexUses.push_back({y, logitsType.getShape().back(), /*isLabel=*/true, ignored, weight});
  return {rows.getValue(), weight};
}

Value shardc::importer::sumRows(NodeBuilder &builder, Value rows) {
  Shape dims;
  for (int64_t dim = 0; dim < cast<RankedTensorType>(rows.getType()).getRank(); ++dim)
    dims.push_back(dim);
  return builder.materialize(builder.reduce(nn::ReduceKind::Sum, rows, dims));
}
