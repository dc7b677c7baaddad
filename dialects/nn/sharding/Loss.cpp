//===-- Loss.cpp - factors, cost and local form of the cross-entropy ----------------------------------------------===//

#include "dialects/nn/Builders.h"
#include "dialects/nn/sharding/FactorList.h"
#include "dialects/nn/sharding/LocalIndex.h"
#include "dialects/nn/sharding/RowReduce.h"

#include <limits>

using namespace mlir;
using namespace shardc;
using namespace shardc::nn;

SmallVector<Factor> CrossEntropyOp::getFactors() {
  FactorList list(*this);
  auto type = getTensorType(getLogits());
  int64_t last = type.getRank() - 1;
  for (int64_t dim = 0; dim < last; ++dim)
    list.add(type.getDimSize(dim), FactorKind::Parallel)
        .inOperand(0, dim)
        .inOperand(1, dim)
        .inResult(dim, 1, 0)
        .inResult(dim, 1, 1);
  list.add(type.getDimSize(last), FactorKind::Combined).inOperand(0, last);
  return list.take();
}

SmallVector<int64_t> CrossEntropyOp::getCombinedElements() {
  return SmallVector<int64_t>(3, getTensorType(getLoss()).getNumElements());
}

int64_t CrossEntropyOp::getFlops() { return 5 * getTensorType(getLogits()).getNumElements(); }

/// Split classes: the maximum, the sum of powers and the label's logit (every rank but one adds 0) are combined over
/// the ranks; lse = log Σ e^(x − max) + max, loss = lse − x[label].
SmallVector<Value> CrossEntropyOp::partition(OpBuilder &builder, ValueRange operands, TypeRange resultTypes,
                                             ArrayRef<dist::ShardingAttr> shardings) {
  Value x = operands[0], labels = operands[1];
  int64_t last = getTensorType(x).getRank() - 1;
  dist::DimAttr classes = shardings[0].getDims()[last];
  if (!isSplit(classes))
    return partitionByCloning(*this, builder, operands, resultTypes);

  RowReduce rows(builder, getLoc(), shardings[0], last);
  LocalBuilder build(builder, getLoc(), shardings[0]), row = build.in(rows.getRowSharding());
  Value index = buildGlobalIndex(builder, getLoc(), dist::MeshAttr::of(*this), shardings[0], last);
  index = build.convert(index, getTensorType(labels).getElementType());
  Value zero = build.splatLike(x, 0), isLabel = build.compare(CompareDirection::EQ, index, rows.spread(labels, x));
  Value labelLogit = rows.combine(ReduceKind::Sum, build.select(isLabel, x, zero));
  if (getClasses() && static_cast<int64_t>(*getClasses()) < getTensorType(getLogits()).getDimSize(last)) {
    Value isClass = build.compare(CompareDirection::LT, index, build.splatLike(index, *getClasses()));
    x = build.select(isClass, x, build.splatLike(x, -std::numeric_limits<double>::infinity()));
  }
  Value top = rows.combine(ReduceKind::Max, x);
  Value sum = rows.combine(ReduceKind::Sum, build.exp(build.sub(x, rows.spread(top, x))));
  Value lse = row.add(row.log(sum), top);
  Value isCounted =
      row.compare(CompareDirection::NE, labels, row.splatLike(labels, static_cast<int64_t>(getIgnoreIndex())));
  Value loss = row.select(isCounted, row.sub(lse, labelLogit), row.splatLike(lse, 0));
  return {loss, lse};
}
