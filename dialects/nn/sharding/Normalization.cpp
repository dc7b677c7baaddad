//===-- Normalization.cpp - factors, cost and local forms of softmax and norms ------------------------------------===//

#include "dialects/nn/Builders.h"
#include "dialects/nn/sharding/FactorList.h"
#include "dialects/nn/sharding/LocalBuilder.h"
#include "dialects/nn/sharding/LocalIndex.h"
#include "dialects/nn/sharding/RowReduce.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::nn;

SmallVector<Factor> SoftmaxOp::getFactors() {
  FactorList list(*this);
  auto type = getTensorType(getResult());
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    list.add(type.getDimSize(dim), dim == static_cast<int64_t>(getAxis()) ? FactorKind::Combined : FactorKind::Parallel)
        .inOperand(0, dim)
        .inResult(dim);
  return list.take();
}

SmallVector<int64_t> SoftmaxOp::getCombinedElements() {
  auto type = getTensorType(getResult());
  return SmallVector<int64_t>(2, type.getNumElements() / std::max<int64_t>(type.getDimSize(getAxis()), 1));
}

int64_t SoftmaxOp::getFlops() { return 5 * getTensorType(getResult()).getNumElements(); }

/// Split along its own axis: the maximum and the sum are combined over the ranks.
SmallVector<Value> SoftmaxOp::partition(OpBuilder &builder, ValueRange operands, TypeRange resultTypes,
                                        ArrayRef<dist::ShardingAttr> shardings) {
  if (!isSplit(shardings[0].getDims()[getAxis()]))
    return partitionByCloning(*this, builder, operands, resultTypes);
  RowReduce rows(builder, getLoc(), shardings[0], getAxis());
  LocalBuilder build(builder, getLoc(), shardings[0]);
  Value x = operands[0];
  Value top = rows.combine(ReduceKind::Max, x);
  Value power = build.exp(build.sub(x, rows.spread(top, x)));
  return {build.div(power, rows.spread(rows.combine(ReduceKind::Sum, power), x))};
}

SmallVector<Factor> NormOp::getFactors() {
  FactorList list(*this);
  auto type = getTensorType(getInput());
  int64_t axis = getAxis();
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    list.add(type.getDimSize(dim), dim < axis ? FactorKind::Parallel : FactorKind::Blocked)
        .inOperand(0, dim)
        .inResult(dim);
    if (dim < axis)
      list.inResult(dim, 1, 1).inResult(dim, 1, 2);
    for (unsigned operand = 1; dim >= axis && operand < getNumOperands(); ++operand)
      list.inOperand(operand, dim - axis);
  }
  return list.take();
}

int64_t NormOp::getFlops() { return 8 * getTensorType(getInput()).getNumElements(); }
