//===-- NodeBuilder.cpp - the inputs, attributes and results of a node --------------------------------------------===//

#include "NodeBuilder.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::importer;

ArrayRef<int64_t> Operand::getShape() const {
  return constant ? ArrayRef<int64_t>(constant->shape) : cast<RankedTensorType>(value.getType()).getShape();
}

int32_t Operand::getType() const {
  return constant ? constant->type : getOnnxType(cast<RankedTensorType>(value.getType()).getElementType());
}

Operand NodeBuilder::getInput(int64_t index) const {
  return hasInput(index) ? state.values.lookup(node.inputs[index]) : Operand();
}

LogicalResult NodeBuilder::checkInput(int64_t index, StringRef what) {
  if (hasInput(index))
    return success();
  return fail("graph-24", Twine("its input ") + Twine(index) + " (" + what + ") is missing, but required in opset " +
                              Twine(node.opset));
}

FailureOr<Shape> NodeBuilder::getIntsOfInput(int64_t index, StringRef what) {
  if (failed(checkInput(index, what)))
    return failure();
  Operand input = getInput(index);
  if (!input.isConstant())
    return fail("shape-62",
                Twine("its ") + what + " ('" + node.inputs[index] + "') is computed from the data, " +
                    "expected a constant",
                "shapes must be known when compiling: export with fixed sizes besides the batch");
  Shape values;
  for (int64_t i = 0; i < input.getNumElements(); ++i)
    values.push_back(input.getConstant().getInt(i));
  return values;
}

FailureOr<double> NodeBuilder::getScalarOfInput(int64_t index, StringRef what) {
  if (failed(checkInput(index, what)))
    return failure();
  Operand input = getInput(index);
  if (!input.isConstant() || input.getNumElements() != 1)
    return fail("shape-62", Twine("its ") + what + " ('" + node.inputs[index] + "') is not a constant scalar");
  return input.getConstant().getFloat(0);
}

int64_t NodeBuilder::getInt(StringRef name, int64_t otherwise) const {
  const onnx::AttributeProto *attribute = node.getAttribute(name);
  return attribute ? attribute->i() : otherwise;
}

double NodeBuilder::getFloat(StringRef name, double otherwise) const {
  const onnx::AttributeProto *attribute = node.getAttribute(name);
  return attribute ? attribute->f() : otherwise;
}

std::string NodeBuilder::getString(StringRef name, StringRef otherwise) const {
  const onnx::AttributeProto *attribute = node.getAttribute(name);
  return attribute ? attribute->s() : otherwise.str();
}

Shape NodeBuilder::getInts(StringRef name) const {
  const onnx::AttributeProto *attribute = node.getAttribute(name);
  return attribute ? Shape(attribute->ints().begin(), attribute->ints().end()) : Shape();
}

FailureOr<int64_t> NodeBuilder::normalizeAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return fail("shape-57", Twine("axis ") + Twine(axis) + " is not in [" + Twine(-rank) + ", " + Twine(rank) + ")");
  return axis < 0 ? axis + rank : axis;
}

FailureOr<Shape> NodeBuilder::normalizeAxes(ArrayRef<int64_t> axes, int64_t rank) {
  Shape normalized;
  for (int64_t axis : axes) {
    FailureOr<int64_t> dim = normalizeAxis(axis, rank);
    if (failed(dim))
      return failure();
    if (llvm::is_contained(normalized, *dim))
      return fail("shape-57", Twine("axis ") + Twine(axis) + " occurs twice");
    normalized.push_back(*dim);
  }
  llvm::sort(normalized);
  return normalized;
}

bool NodeBuilder::isOutputUsed(int64_t index) const {
  return index < getNumOutputs() && !node.outputs[index].empty() && state.useCounts.lookup(node.outputs[index]) > 0;
}

LogicalResult NodeBuilder::setResult(int64_t index, Operand result) {
  if (index < getNumOutputs() && !node.outputs[index].empty())
    state.values[node.outputs[index]] = std::move(result);
  return success();
}

LogicalResult NodeBuilder::setMean(int64_t index, MeanParts parts) {
  if (index < getNumOutputs() && !node.outputs[index].empty())
    state.means[node.outputs[index]] = parts;
  return success();
}

LogicalResult NodeBuilder::fail(StringRef label, const Twine &what, const Twine &remedy) {
  return state.diagnostics.error(label, loc, "node", node.name, Twine("(") + node.getOpName() + ") " + what, remedy);
}

LogicalResult NodeBuilder::checkBroadcast(const Operand &a, const Operand &b) {
  if (broadcastShapes(a.getShape(), b.getShape()))
    return success();
  return fail("shape-55", Twine("the shapes ") + formatShape(a.getShape()) + " and " + formatShape(b.getShape()) +
                              " do not broadcast");
}
