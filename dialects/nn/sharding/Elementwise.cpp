//===-- Elementwise.cpp - factors and linearity of elementwise ops ------------------------------------------------===//

#include "dialects/nn/Builders.h"
#include "dialects/nn/sharding/FactorList.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::nn;

SmallVector<Factor> shardc::nn::getElementwiseFactors(Operation *op) {
  FactorList list(op);
  auto type = getTensorType(op->getResult(0));
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    list.add(type.getDimSize(dim), FactorKind::Parallel).inResult(dim);
    for (unsigned operand = 0; operand < op->getNumOperands(); ++operand)
      if (getTensorType(op->getOperand(operand)).getRank() == type.getRank())
        list.inOperand(operand, dim);
  }
  return list.take();
}

bool shardc::nn::isZeroTensor(Value value) {
  Operation *op = value.getDefiningOp();
  while (isa_and_present<BroadcastInDimOp, ReshapeOp, TransposeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  auto constant = dyn_cast_if_present<ConstantOp>(op);
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || !elements.isSplat())
    return false;
  if (isa<FloatType>(elements.getElementType()))
    return elements.getSplatValue<APFloat>().isZero();
  return elements.getSplatValue<APInt>().isZero();
}

SmallVector<SmallVector<unsigned>> NegOp::getLinearOperands() { return {{0}}; }

SmallVector<SmallVector<unsigned>> AddOp::getLinearOperands() { return {{0, 1}}; }

SmallVector<SmallVector<unsigned>> SubOp::getLinearOperands() { return {{0, 1}}; }

SmallVector<SmallVector<unsigned>> MulOp::getLinearOperands() { return {{0}, {1}}; }

SmallVector<SmallVector<unsigned>> DivOp::getLinearOperands() {
  // Integer division rounds.
  if (!isa<FloatType>(getTensorType(getLhs()).getElementType()))
    return {};
  return {{0}};
}

SmallVector<SmallVector<unsigned>> SelectOp::getLinearOperands() { return {{1, 2}}; }

SmallVector<SmallVector<unsigned>> ConvertOp::getLinearOperands() {
  // To integers rounds; from i1, summands would not add up as numbers.
  if (!isa<FloatType>(getTensorType(getResult()).getElementType()) ||
      getTensorType(getInput()).getElementType().isInteger(1))
    return {};
  return {{0}};
}
