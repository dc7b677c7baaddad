//===-- Shape.cpp - cotangents of ops that move elements ----------------------------------------------------------===//

#include "dialects/nn/Builders.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::nn;

/// Sums over the dimensions that the broadcast made or widened.
SmallVector<Value> BroadcastInDimOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents,
                                                     ArrayRef<bool> /*needed*/) {
  TensorBuilder build(builder, getLoc());
  auto from = nn::getTensorType(getInput()), to = nn::getTensorType(getResult());
  SmallVector<bool> kept(to.getRank(), false);
  for (auto [index, dim] : llvm::enumerate(getDims()))
    kept[dim] = from.getDimSize(index) == to.getDimSize(dim);
  SmallVector<int64_t> summed;
  for (int64_t dim = 0; dim < to.getRank(); ++dim)
    if (!kept[dim])
      summed.push_back(dim);
  return {build.reshape(build.sum(cotangents[0], summed), from.getShape())};
}

SmallVector<Value> ReshapeOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents,
                                              ArrayRef<bool> /*needed*/) {
  return {TensorBuilder(builder, getLoc()).reshape(cotangents[0], nn::getTensorType(getInput()).getShape())};
}

SmallVector<Value> TransposeOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents,
                                                ArrayRef<bool> /*needed*/) {
  return {TensorBuilder(builder, getLoc()).transpose(cotangents[0], invertPermutation(getPermutation()))};
}

/// Pads with zeros: in front and behind what was cut off, between elements what the strides skipped.
SmallVector<Value> SliceOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> /*needed*/) {
  auto from = nn::getTensorType(getInput()), to = nn::getTensorType(getResult());
  if (to.getNumElements() == 0)
    return {Value()};
  SmallVector<int64_t> high, interior;
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    int64_t last = getStarts()[dim] + (to.getDimSize(dim) - 1) * getStrides()[dim];
    high.push_back(from.getDimSize(dim) - 1 - last);
    interior.push_back(getStrides()[dim] - 1);
  }
  return {TensorBuilder(builder, getLoc()).pad(cotangents[0], getStarts(), high, interior)};
}

SmallVector<Value> PadOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> /*needed*/) {
  auto from = nn::getTensorType(getInput());
  SmallVector<int64_t> limits, strides;
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    int64_t stride = getInterior()[dim] + 1, size = from.getDimSize(dim);
    limits.push_back(getLow()[dim] + (size == 0 ? 0 : (size - 1) * stride + 1));
    strides.push_back(stride);
  }
  return {TensorBuilder(builder, getLoc()).slice(cotangents[0], getLow(), limits, strides)};
}

SmallVector<Value> ConcatOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> needed) {
  TensorBuilder build(builder, getLoc());
  auto whole = nn::getTensorType(getResult());
  SmallVector<Value> result;
  SmallVector<int64_t> starts(whole.getRank(), 0), limits(whole.getShape()), strides(whole.getRank(), 1);
  int64_t dim = getDimension(), start = 0;
  for (auto [input, isNeeded] : llvm::zip(getInputs(), needed)) {
    starts[dim] = start;
    limits[dim] = start += nn::getTensorType(input).getDimSize(dim);
    result.push_back(isNeeded ? build.slice(cotangents[0], starts, limits, strides) : Value());
  }
  return result;
}
