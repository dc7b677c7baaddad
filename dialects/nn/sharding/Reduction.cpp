//===-- Reduction.cpp - factors of reductions ---------------------------------------------------------------------===//

#include "dialects/nn/Builders.h"
#include "dialects/nn/sharding/FactorList.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::nn;

SmallVector<Factor> ReduceOp::getFactors() {
  FactorList list(*this);
  auto type = getTensorType(getInput());
  // There is no way to combine minima and products of several ranks.
  bool combines = getKind() == ReduceKind::Sum || getKind() == ReduceKind::Max;
  auto reduction = getKind() == ReduceKind::Max ? dist::ReductionKind::Max : dist::ReductionKind::Sum;
  int64_t resultDim = 0;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (llvm::is_contained(getDims(), dim))
      list.add(type.getDimSize(dim), combines ? FactorKind::Reduction : FactorKind::Blocked, reduction);
    else
      list.add(type.getDimSize(dim), FactorKind::Parallel).inResult(resultDim++);
    list.inOperand(0, dim);
  }
  return list.take();
}

SmallVector<SmallVector<unsigned>> ReduceOp::getLinearOperands() {
  if (getKind() != ReduceKind::Sum)
    return {};
  return {{0}};
}

SmallVector<Factor> BlockSumSquaresOp::getFactors() {
  // The blocks run over all dimensions in row-major order.
  FactorList list(*this);
  auto type = getTensorType(getInput());
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    list.add(type.getDimSize(dim), FactorKind::Blocked).inOperand(0, dim);
  return list.take();
}
