//===-- Random.cpp - Dropout --------------------------------------------------------------------------------------===//

#include "../OpTable.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::importer;
using onnx::TensorProto;

namespace {

/// Whether the node drops anything; before opset 12 it is defined for inference alone.
FailureOr<bool> isTraining(NodeBuilder &builder) {
  if (builder.getNode().opset < 12 || !builder.hasInput(2))
    return false;
  FailureOr<double> mode = builder.getScalarOfInput(2, "training_mode");
  if (failed(mode))
    return failure();
  return *mode != 0;
}

FailureOr<double> getRatio(NodeBuilder &builder) {
  double ratio = builder.getState().dropout;
  if (ratio < 0) {
    ratio = 0.5;
    if (builder.hasInput(1)) {
      FailureOr<double> given = builder.getScalarOfInput(1, "ratio");
      if (failed(given))
        return failure();
      ratio = *given;
    }
  }
  if (!(ratio >= 0 && ratio <= 1))
    return builder.fail("graph-26", Twine("drops a ratio of ") + std::to_string(ratio) + ", expected 0 to 1",
                        "override it: --dropout P with P in [0, 1)");
  return ratio;
}

/// One number for each element, by its index in the whole step's batch.
Operand makeUniform(NodeBuilder &builder, ArrayRef<int64_t> shape) {
  ImportState &state = builder.getState();
  int64_t elements = *countElements(shape);
  bool hasBatch = !shape.empty() && shape[0] % state.batch == 0;
  int64_t perSample = hasBatch ? elements / state.batch : elements;
  auto index = builder.getTensorType({}, TensorProto::INT64);
  Operand offset = builder.create<nn::ControlOp>(index, nn::ControlField::SampleOffset);
  Operand base = builder.binary(BinaryKind::Mul, offset, static_cast<double>(perSample));
  Shape strides = getBroadcastStrides(shape, shape);
  return builder.create<nn::RngUniformOp>(builder.getTensorType(shape, TensorProto::FLOAT), base.getValue(),
                                          static_cast<uint64_t>(state.randomOps++), strides);
}

/// Says that an op is part of a Dropout.
Operand mark(Operand operand) {
  Value value = operand.getValue();
  value.getDefiningOp()->setAttr(nn::kDropoutAttr, UnitAttr::get(value.getContext()));
  return operand;
}

/// Keeps an element where its number is at least the ratio, scaled by 1 / (1 − ratio).
LogicalResult buildDropout(NodeBuilder &builder) {
  Operand input = builder.getInput(0);
  FailureOr<bool> trains = isTraining(builder);
  if (failed(trains))
    return failure();
  FailureOr<double> ratio = *trains ? getRatio(builder) : FailureOr<double>(0.0);
  if (failed(ratio))
    return failure();
  if (*ratio == 0) {
    if (builder.isOutputUsed(1)) {
      Operand all = builder.makeScalar(TensorProto::BOOL, 1);
      (void)builder.setResult(1, builder.broadcast(builder.materialize(all), input.getShape()));
    }
    return builder.setResult(0, input);
  }
  Operand uniform = makeUniform(builder, input.getShape());
  Operand keep =
      mark(builder.compare(nn::CompareDirection::GE, uniform, builder.makeScalar(TensorProto::FLOAT, *ratio)));
  Operand kept = mark(builder.select(keep, input, builder.makeScalar(input.getType(), 0)));
  double scale = *ratio == 1 ? 0 : 1 / (1 - *ratio);
  (void)builder.setResult(1, keep);
  return builder.setResult(0, mark(builder.binary(BinaryKind::Mul, kept, scale)));
}

const OpInfo kOps[] = {{"Dropout", 1, 1, 3, 2, "ratio:f seed:i", buildDropout}};

} // namespace

ArrayRef<OpInfo> shardc::importer::getRandomOps() { return kOps; }
