//===-- Random.cpp - random numbers of one rank's elements --------------------------------------------------------===//

#include "dialects/nn/Builders.h"
#include "dialects/nn/sharding/LocalBuilder.h"
#include "dialects/nn/sharding/LocalIndex.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::nn;

int64_t RngUniformOp::getFlops() { return 50 * getTensorType(getResult()).getNumElements(); }

/// The element's index in the whole step stays what it was: the base moves by the rank's offset. Where a shard is not
/// one run of indices, the numbers are made in the shape of the sub-dimensions.
SmallVector<Value> RngUniformOp::partition(OpBuilder &builder, ValueRange operands, TypeRange resultTypes,
                                           ArrayRef<dist::ShardingAttr> shardings) {
  dist::ShardingAttr sharding = shardings.back();
  dist::MeshAttr mesh = dist::MeshAttr::of(*this);
  LocalBuilder scalar(builder, getLoc(), dist::ShardingAttr::get(getContext(), {}, {}));
  auto local = cast<RankedTensorType>(resultTypes[0]);
  Value base = operands[0];
  SmallVector<int64_t> shape, strides;
  SmallVector<dist::DimAttr> dims;
  for (auto [dim, attr] : llvm::enumerate(sharding.getDims())) {
    int64_t stride = getStrides()[dim];
    if (isSplit(attr))
      base = scalar.add(base, buildShardOffset(builder, getLoc(), mesh, attr, stride));
    if (isContiguous(attr)) {
      shape.push_back(local.getDimSize(dim));
      strides.push_back(stride);
      dims.push_back(attr);
      continue;
    }
    for (auto [digit, sub] : llvm::zip(getDigits(mesh, attr), attr.getSubDims())) {
      shape.push_back(digit.localSize);
      strides.push_back(digit.stride * stride);
      dims.push_back(dist::DimAttr::get(getContext(), sub));
    }
  }
  auto type = RankedTensorType::get(shape, local.getElementType());
  Value numbers = RngUniformOp::create(builder, getLoc(), type, base, getId(), strides);
  dist::setSharding(numbers, dist::ShardingAttr::get(getContext(), dims, {}));
  return {LocalBuilder(builder, getLoc(), sharding).reshape(numbers, local.getShape())};
}
