//===-- Shape.cpp - factors and local forms of ops that move or make elements -------------------------------------===//
//
// Where a slice cuts a dimension into equal blocks (a fused QKV of 3 · 64 at multiples of 64), the inside of a block is
// a factor and the blocks are not: each rank cuts its own share. Pads and concatenations are the same thing backwards.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "dialects/nn/Builders.h"
#include "dialects/nn/sharding/FactorList.h"
#include "dialects/nn/sharding/LocalIndex.h"
#include "dialects/nn/sharding/Reshard.h"

#include <numeric>

using namespace mlir;
using namespace shardc;
using namespace shardc::nn;

//===-- Constants and indices -------------------------------------------------------------------------------------===//

SmallVector<Value> ConstantOp::partition(OpBuilder &builder, ValueRange, TypeRange resultTypes,
                                         ArrayRef<dist::ShardingAttr> shardings) {
  auto elements = dyn_cast<DenseElementsAttr>(getValue());
  auto local = cast<RankedTensorType>(resultTypes[0]);
  if (elements && elements.isSplat()) {
    auto value = DenseElementsAttr::get(local, elements.getSplatValue<Attribute>());
    return {ConstantOp::create(builder, getLoc(), local, value)};
  }
  Value whole = ConstantOp::create(builder, getLoc(), getType(), getValue());
  auto replicated = dist::ShardingAttr::getReplicated(getContext(), getTensorType(getResult()).getShape());
  dist::setSharding(whole, replicated);
  return {reshard(builder, getLoc(), whole, shardings[0])};
}

SmallVector<Value> IotaOp::partition(OpBuilder &builder, ValueRange, TypeRange resultTypes,
                                     ArrayRef<dist::ShardingAttr> shardings) {
  dist::DimAttr dim = shardings[0].getDims()[getDimension()];
  Value index = buildGlobalIndex(builder, getLoc(), dist::MeshAttr::of(*this), shardings[0], getDimension());
  Type elementType = cast<RankedTensorType>(resultTypes[0]).getElementType();
  if (!isSplit(dim) || index.getType() == resultTypes[0])
    return {isSplit(dim) ? index : Value(IotaOp::create(builder, getLoc(), resultTypes[0], getDimension()))};
  return {TensorBuilder(builder, getLoc()).convert(index, elementType)};
}

//===-- Broadcast, reshape, transpose -----------------------------------------------------------------------------===//

SmallVector<Factor> BroadcastInDimOp::getFactors() {
  FactorList list(*this);
  auto from = getTensorType(getInput()), to = getTensorType(getResult());
  for (int64_t dim = 0; dim < to.getRank(); ++dim) {
    list.add(to.getDimSize(dim), FactorKind::Parallel).inResult(dim);
    for (auto [operandDim, resultDim] : llvm::enumerate(getDims()))
      if (resultDim == dim && from.getDimSize(operandDim) == to.getDimSize(dim))
        list.inOperand(0, operandDim);
  }
  return list.take();
}

SmallVector<SmallVector<unsigned>> BroadcastInDimOp::getLinearOperands() { return {{0}}; }

namespace {

/// Dimensions [first, last) whose product equals that of a run of the other shape's dimensions.
struct Run {
  int64_t first, last;
};

/// Emits the factors of one pair of runs with equal products: a part for each step between neighbouring boundaries of
/// either side; Cut where a boundary of one side falls into an element block of the other.
void addRunFactors(FactorList &list, ArrayRef<int64_t> from, Run fromRun, ArrayRef<int64_t> to, Run toRun) {
  int64_t fromDim = fromRun.last - 1, toDim = toRun.last - 1;
  int64_t fromInner = 1, toInner = 1;
  while (fromDim >= fromRun.first && toDim >= toRun.first) {
    int64_t fromRest = from[fromDim] / fromInner, toRest = to[toDim] / toInner;
    int64_t size = std::gcd(fromRest, toRest);
    // One of the two must be used up, or else the boundaries do not nest.
    if (size != std::min(fromRest, toRest)) {
      for (int64_t dim = fromRun.first; dim <= fromDim; ++dim)
        list.add(dim == fromDim ? fromRest : from[dim], FactorKind::Cut)
            .inOperand(0, dim, dim == fromDim ? fromInner : 1);
      for (int64_t dim = toRun.first; dim <= toDim; ++dim)
        list.add(dim == toDim ? toRest : to[dim], FactorKind::Cut).inResult(dim, dim == toDim ? toInner : 1);
      return;
    }
    list.add(size, FactorKind::Parallel).inOperand(0, fromDim, fromInner).inResult(toDim, toInner);
    fromInner *= size;
    toInner *= size;
    if (fromInner == from[fromDim])
      --fromDim, fromInner = 1;
    if (toInner == to[toDim])
      --toDim, toInner = 1;
  }
}

} // namespace

SmallVector<Factor> ReshapeOp::getFactors() {
  FactorList list(*this);
  ArrayRef<int64_t> from = getTensorType(getInput()).getShape(), to = getTensorType(getResult()).getShape();
  int64_t f = 0, t = 0, fromRank = from.size(), toRank = to.size();
  while (f < fromRank || t < toRank) {
    Run fromRun{f, f}, toRun{t, t};
    int64_t fromProduct = 1, toProduct = 1;
    // Grow the smaller side until the products meet.
    do {
      if (fromRun.last < fromRank && (fromProduct <= toProduct || toRun.last == toRank))
        fromProduct *= from[fromRun.last++];
      else
        toProduct *= to[toRun.last++];
    } while (fromProduct != toProduct && (fromRun.last < fromRank || toRun.last < toRank));
    addRunFactors(list, from, fromRun, to, toRun);
    f = fromRun.last;
    t = toRun.last;
  }
  return list.take();
}

SmallVector<SmallVector<unsigned>> ReshapeOp::getLinearOperands() { return {{0}}; }

SmallVector<Factor> TransposeOp::getFactors() {
  FactorList list(*this);
  for (auto [to, from] : llvm::enumerate(getPermutation()))
    list.add(getTensorType(getInput()).getDimSize(from), FactorKind::Parallel).inOperand(0, from).inResult(to);
  return list.take();
}

SmallVector<SmallVector<unsigned>> TransposeOp::getLinearOperands() { return {{0}}; }

//===-- Slice, pad, concat ----------------------------------------------------------------------------------------===//

namespace {

/// The local share of a global amount: positions at block boundaries scale with the local size of the dimension.
int64_t scale(int64_t position, int64_t local, int64_t global) { return global ? position * local / global : 0; }

SmallVector<int64_t> scaleAll(ArrayRef<int64_t> positions, Type local, Type global) {
  SmallVector<int64_t> scaled;
  for (auto [dim, position] : llvm::enumerate(positions))
    scaled.push_back(
        scale(position, cast<RankedTensorType>(local).getDimSize(dim), cast<RankedTensorType>(global).getDimSize(dim)));
  return scaled;
}

} // namespace

SmallVector<Factor> SliceOp::getFactors() {
  FactorList list(*this);
  auto from = getTensorType(getInput()), to = getTensorType(getResult());
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    int64_t size = from.getDimSize(dim);
    int64_t block = std::gcd(std::gcd(getStarts()[dim], getLimits()[dim]), size);
    if (getStrides()[dim] != 1)
      block = 1;
    if (block > 0)
      list.add(block, FactorKind::Parallel).inOperand(0, dim).inResult(dim);
    block = std::max<int64_t>(block, 1);
    list.add(size / block, FactorKind::Cut).inOperand(0, dim, block);
    list.add(to.getDimSize(dim) / block, FactorKind::Cut).inResult(dim, block);
  }
  return list.take();
}

SmallVector<SmallVector<unsigned>> SliceOp::getLinearOperands() { return {{0}}; }

SmallVector<Value> SliceOp::partition(OpBuilder &builder, ValueRange operands, TypeRange,
                                      ArrayRef<dist::ShardingAttr>) {
  Type local = operands[0].getType(), global = getInput().getType();
  return {SliceOp::create(builder, getLoc(), operands[0], scaleAll(getStarts(), local, global),
                          scaleAll(getLimits(), local, global), getStrides())};
}

SmallVector<Factor> PadOp::getFactors() {
  FactorList list(*this);
  auto from = getTensorType(getInput()), to = getTensorType(getResult());
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    int64_t size = from.getDimSize(dim);
    int64_t block = std::gcd(std::gcd(getLow()[dim], getHigh()[dim]), size);
    if (getInterior()[dim] != 0)
      block = 1;
    if (block > 0)
      list.add(block, FactorKind::Parallel).inOperand(0, dim).inResult(dim);
    block = std::max<int64_t>(block, 1);
    list.add(size / block, FactorKind::Cut).inOperand(0, dim, block);
    list.add(to.getDimSize(dim) / block, FactorKind::Cut).inResult(dim, block);
  }
  return list.take();
}

SmallVector<SmallVector<unsigned>> PadOp::getLinearOperands() {
  // Every rank adds the value: only zeros add up.
  bool isZero = false;
  if (auto value = dyn_cast<FloatAttr>(getValue()))
    isZero = value.getValue().isZero();
  else if (auto value = dyn_cast<IntegerAttr>(getValue()))
    isZero = value.getValue().isZero();
  if (!isZero)
    return {};
  return {{0}};
}

SmallVector<Value> PadOp::partition(OpBuilder &builder, ValueRange operands, TypeRange resultTypes,
                                    ArrayRef<dist::ShardingAttr>) {
  Type local = resultTypes[0], global = getType();
  return {PadOp::create(builder, getLoc(), operands[0], scaleAll(getLow(), local, global),
                        scaleAll(getHigh(), local, global), getInterior(), getValue())};
}

SmallVector<Factor> ConcatOp::getFactors() {
  FactorList list(*this);
  auto to = getTensorType(getResult());
  int64_t cut = getDimension();
  for (int64_t dim = 0; dim < to.getRank(); ++dim) {
    int64_t block = to.getDimSize(dim);
    if (dim == cut)
      for (Value input : getInputs())
        block = std::gcd(block, getTensorType(input).getDimSize(dim));
    list.add(block, FactorKind::Parallel).inResult(dim);
    for (unsigned operand = 0; operand < getNumOperands(); ++operand)
      list.inOperand(operand, dim);
    if (dim != cut || block == 0)
      continue;
    list.add(to.getDimSize(dim) / block, FactorKind::Cut).inResult(dim, block);
    for (auto [operand, input] : llvm::enumerate(getInputs()))
      list.add(getTensorType(input).getDimSize(dim) / block, FactorKind::Cut).inOperand(operand, dim, block);
  }
  return list.take();
}

SmallVector<SmallVector<unsigned>> ConcatOp::getLinearOperands() {
  SmallVector<unsigned> all;
  for (unsigned operand = 0; operand < getNumOperands(); ++operand)
    all.push_back(operand);
  return {all};
}
