//===-- Interfaces.cpp - default methods of the op interfaces -----------------------------------------------------===//

#include "dialects/nn/NN.h"

using namespace mlir;

namespace {

int64_t countBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * ((tensor.getElementTypeBitWidth() + 7) / 8);
}

} // namespace

SmallVector<Value> shardc::nn::partitionByCloning(Operation *op, OpBuilder &builder, ValueRange operands,
                                                  TypeRange resultTypes) {
  OperationState state(op->getLoc(), op->getName(), operands, resultTypes, op->getAttrs());
  Operation *local = builder.create(state);
  return SmallVector<Value>(local->getResults());
}

int64_t shardc::nn::countElementwiseFlops(Operation *op) {
  int64_t elements = 0;
  for (Type type : op->getResultTypes())
    elements = std::max(elements, cast<RankedTensorType>(type).getNumElements());
  for (Type type : op->getOperandTypes())
    elements = std::max(elements, cast<RankedTensorType>(type).getNumElements());
  return elements;
}

int64_t shardc::nn::countOperandAndResultBytes(Operation *op) {
  int64_t bytes = 0;
  for (Type type : op->getOperandTypes())
    bytes += countBytes(type);
  for (Type type : op->getResultTypes())
    bytes += countBytes(type);
  return bytes;
}
