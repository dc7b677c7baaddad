//===-- Indexing.cpp - factors and local forms of gather and scatter_add ------------------------------------------===//
//
// A table that is split over its rows: each rank looks up its own rows, others read zeros (gather) or are dropped
// (scatter_add), because local indices of foreign rows are out of range.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "dialects/nn/Builders.h"
#include "dialects/nn/sharding/FactorList.h"
#include "dialects/nn/sharding/LocalIndex.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::nn;

SmallVector<Factor> GatherOp::getFactors() {
  FactorList list(*this);
  auto operand = getTensorType(getOperand()), indices = getTensorType(getIndices());
  int64_t axis = getAxis(), resultDim = 0;
  for (int64_t dim = 0; dim < operand.getRank(); ++dim) {
    if (dim != axis) {
      list.add(operand.getDimSize(dim), FactorKind::Parallel).inOperand(0, dim).inResult(resultDim++);
      continue;
    }
    list.add(operand.getDimSize(dim), FactorKind::Reduction).inOperand(0, dim);
    for (int64_t index = 0; index < indices.getRank(); ++index)
      list.add(indices.getDimSize(index), FactorKind::Parallel).inOperand(1, index).inResult(resultDim++);
  }
  return list.take();
}

SmallVector<SmallVector<unsigned>> GatherOp::getLinearOperands() { return {{0}}; }

int64_t GatherOp::getFlops() { return 0; }

int64_t GatherOp::getBytes() {
  // Only the rows that are looked up are read.
  auto result = getTensorType(getResult());
  return 2 * result.getNumElements() * ((result.getElementTypeBitWidth() + 7) / 8);
}

SmallVector<Value> GatherOp::partition(OpBuilder &builder, ValueRange operands, TypeRange /*resultTypes*/,
                                       ArrayRef<dist::ShardingAttr> shardings) {
  dist::DimAttr table = shardings[0].getDims()[getAxis()];
  Value indices = operands[1];
  if (isSplit(table))
    indices = buildLocalIndices(builder, getLoc(), dist::MeshAttr::of(*this), indices, table, shardings[1]);
  return {GatherOp::create(builder, getLoc(), operands[0], indices, getAxis())};
}

SmallVector<Factor> ScatterAddOp::getFactors() {
  FactorList list(*this);
  auto result = getTensorType(getResult()), indices = getTensorType(getIndices());
  int64_t axis = getAxis(), updateDim = 0;
  for (int64_t dim = 0; dim < result.getRank(); ++dim) {
    if (dim != axis) {
      list.add(result.getDimSize(dim), FactorKind::Parallel).inOperand(1, updateDim++).inResult(dim);
      continue;
    }
    list.add(result.getDimSize(dim), FactorKind::Parallel).inResult(dim);
    for (int64_t index = 0; index < indices.getRank(); ++index)
      list.add(indices.getDimSize(index), FactorKind::Reduction).inOperand(0, index).inOperand(1, updateDim++);
  }
  return list.take();
}

SmallVector<SmallVector<unsigned>> ScatterAddOp::getLinearOperands() { return {{1}}; }

SmallVector<Value> ScatterAddOp::partition(OpBuilder &builder, ValueRange operands, TypeRange resultTypes,
                                           ArrayRef<dist::ShardingAttr> shardings) {
  dist::DimAttr table = shardings[2].getDims()[getAxis()];
  Value indices = operands[0];
  if (isSplit(table))
    indices = buildLocalIndices(builder, getLoc(), dist::MeshAttr::of(*this), indices, table, shardings[0]);
  return {ScatterAddOp::create(builder, getLoc(), resultTypes[0], indices, operands[1], getAxis())};
}
