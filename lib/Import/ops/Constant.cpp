//===-- Constant.cpp - constants and what gives integers: Constant, Shape, Range, … -------------------------------===//

#include "../OpTable.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::importer;
using onnx::TensorProto;

namespace {

/// A tensor in the attribute `value` was checked and read before (see Importer); the scalar and list forms are here.
LogicalResult buildConstant(NodeBuilder &builder) {
  const Node &node = builder.getNode();
  if (builder.getState().values.contains(node.outputs[0]))
    return success();
  if (const auto *attribute = node.getAttribute("value_float"))
    return builder.setResult(0, Constant::makeFloats(TensorProto::FLOAT, {}, {attribute->f()}));
  if (const auto *attribute = node.getAttribute("value_int"))
    return builder.setResult(0, Constant::makeInts(TensorProto::INT64, {}, {attribute->i()}));
  if (const auto *attribute = node.getAttribute("value_floats"))
    return builder.setResult(0, Constant::makeFloats(TensorProto::FLOAT, {attribute->floats_size()},
                                                     {attribute->floats().begin(), attribute->floats().end()}));
  if (const auto *attribute = node.getAttribute("value_ints"))
    return builder.setResult(0, Constant::makeInts(TensorProto::INT64, {attribute->ints_size()},
                                                   {attribute->ints().begin(), attribute->ints().end()}));
  return builder.fail("graph-27", "has no value");
}

LogicalResult buildShape(NodeBuilder &builder) {
  ArrayRef<int64_t> shape = builder.getInput(0).getShape();
  int64_t rank = static_cast<int64_t>(shape.size());
  auto clamp = [&](int64_t bound) { return std::clamp<int64_t>(bound < 0 ? bound + rank : bound, 0, rank); };
  int64_t start = clamp(builder.getInt("start", 0)), end = clamp(builder.getInt("end", rank));
  std::vector<int64_t> dims;
  for (int64_t i = start; i < end; ++i)
    dims.push_back(shape[i]);
  Shape resultShape{static_cast<int64_t>(dims.size())};
  return builder.setResult(0, Constant::makeInts(TensorProto::INT64, resultShape, std::move(dims)));
}

LogicalResult buildSize(NodeBuilder &builder) {
  return builder.setResult(0, Constant::makeInts(TensorProto::INT64, {}, {builder.getInput(0).getNumElements()}));
}

LogicalResult buildConstantOfShape(NodeBuilder &builder) {
  FailureOr<Shape> shape = builder.getIntsOfInput(0, "shape");
  if (failed(shape))
    return failure();
  if (!countElements(*shape))
    return builder.fail("shape-56", Twine("has shape [") + formatShape(*shape) +
                                        "], expected dimensions that are not "
                                        "negative and fit");
  Operand scalar = builder.makeScalar(TensorProto::FLOAT, 0);
  if (builder.hasAttribute("value")) {
    scalar = builder.getState().values.lookup(builder.getNode().outputs[0]);
    if (scalar.getNumElements() != 1)
      return builder.fail("graph-26", "its value has more than one element");
    scalar = builder.reshape(scalar, {});
  }
  return builder.setResult(0, builder.broadcast(scalar, *shape));
}

LogicalResult buildRange(NodeBuilder &builder) {
  FailureOr<double> start = builder.getScalarOfInput(0, "start"), limit = builder.getScalarOfInput(1, "limit"),
                    delta = builder.getScalarOfInput(2, "delta");
  if (failed(start) || failed(limit) || failed(delta))
    return failure();
  if (*delta == 0)
    return builder.fail("shape-56", "its delta is 0");
  double count = std::max(0.0, std::ceil((*limit - *start) / *delta));
  if (!(count < 1e9))
    return builder.fail("shape-63", "has more than 1000000000 elements");
  int32_t type = builder.getInput(0).getType();
  Operand index = builder.iota({static_cast<int64_t>(count)}, 0, type);
  if (*delta != 1)
    index = builder.binary(BinaryKind::Mul, index, *delta);
  if (*start != 0)
    index = builder.binary(BinaryKind::Add, index, *start);
  return builder.setResult(0, index);
}

const OpInfo kOps[] = {
    {"Constant", 1, 0, 0, 1, "value:t value_float:f value_int:i value_floats:fs value_ints:is", buildConstant},
    {"ConstantOfShape", 9, 1, 1, 1, "value:t", buildConstantOfShape},
    {"Range", 11, 3, 3, 1, "", buildRange},
    {"Shape", 1, 1, 1, 1, "start:i end:i", buildShape},
    {"Size", 1, 1, 1, 1, "", buildSize},
};

} // namespace

ArrayRef<OpInfo> shardc::importer::getConstantOps() { return kOps; }
