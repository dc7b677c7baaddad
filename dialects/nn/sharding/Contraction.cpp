//===-- Contraction.cpp - factors and cost of products ------------------------------------------------------------===//

#include "dialects/nn/Builders.h"
#include "dialects/nn/sharding/FactorList.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::nn;

SmallVector<Factor> DotGeneralOp::getFactors() {
  FactorList list(*this);
  auto lhs = getTensorType(getLhs()), rhs = getTensorType(getRhs());
  int64_t dim = 0;
  for (auto [left, right] : llvm::zip(getLhsBatch(), getRhsBatch()))
    list.add(lhs.getDimSize(left), FactorKind::Parallel).inOperand(0, left).inOperand(1, right).inResult(dim++);
  for (int64_t left : getLhsFree())
    list.add(lhs.getDimSize(left), FactorKind::Parallel).inOperand(0, left).inResult(dim++);
  for (int64_t right : getRhsFree())
    list.add(rhs.getDimSize(right), FactorKind::Parallel).inOperand(1, right).inResult(dim++);
  for (auto [left, right] : llvm::zip(getLhsContract(), getRhsContract()))
    list.add(lhs.getDimSize(left), FactorKind::Reduction).inOperand(0, left).inOperand(1, right);
  return list.take();
}

SmallVector<SmallVector<unsigned>> DotGeneralOp::getLinearOperands() { return {{0}, {1}}; }

int64_t DotGeneralOp::getFlops() {
  int64_t flops = 2 * getTensorType(getResult()).getNumElements();
  for (int64_t dim : getLhsContract())
    flops *= getTensorType(getLhs()).getDimSize(dim);
  return flops;
}
