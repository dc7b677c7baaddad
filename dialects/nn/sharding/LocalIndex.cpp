//===-- LocalIndex.cpp - between a rank's own indices and global ones ---------------------------------------------===//

#include "dialects/nn/sharding/LocalIndex.h"

#include "dialects/nn/Builders.h"
#include "dialects/nn/sharding/LocalBuilder.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::nn;

SmallVector<Digit> shardc::nn::getDigits(dist::MeshAttr mesh, dist::DimAttr dim) {
  SmallVector<Digit> digits;
  for (dist::SubDimAttr sub : dim.getSubDims()) {
    int64_t ranks = 1;
    for (StringAttr axis : sub.getAxes())
      ranks *= mesh.getSize(axis);
    digits.push_back({sub.getSize(), sub.getSize() / ranks, 1, 1, SmallVector<StringAttr>(sub.getAxes())});
  }
  for (int64_t i = static_cast<int64_t>(digits.size()) - 2; i >= 0; --i) {
    digits[i].stride = digits[i + 1].stride * digits[i + 1].size;
    digits[i].localStride = digits[i + 1].localStride * digits[i + 1].localSize;
  }
  return digits;
}

bool shardc::nn::isSplit(dist::DimAttr dim) {
  return llvm::any_of(dim.getSubDims(), [](dist::SubDimAttr sub) { return !sub.getAxes().empty(); });
}

bool shardc::nn::isContiguous(dist::DimAttr dim) {
  return llvm::all_of(dim.getSubDims().drop_front(), [](dist::SubDimAttr sub) { return sub.getAxes().empty(); });
}

Value shardc::nn::buildShardOffset(OpBuilder &builder, Location loc, dist::MeshAttr mesh, dist::DimAttr dim,
                                   int64_t scale) {
  LocalBuilder build(builder, loc, dist::ShardingAttr::get(builder.getContext(), {}, {}));
  Value offset;
  for (const Digit &digit : getDigits(mesh, dim)) {
    // Axes of one sub-dimension count outermost first.
    int64_t step = digit.localSize * digit.stride * scale;
    for (StringAttr axis : llvm::reverse(digit.axes)) {
      Value term = build.mul(build.axisIndex(axis), build.splat(RankedTensorType::get({}, builder.getI64Type()), step));
      offset = offset ? build.add(offset, term) : term;
      step *= mesh.getSize(axis);
    }
  }
  if (!offset)
    offset = build.splat(RankedTensorType::get({}, builder.getI64Type()), 0);
  return offset;
}

Value shardc::nn::buildGlobalIndex(OpBuilder &builder, Location loc, dist::MeshAttr mesh, dist::ShardingAttr sharding,
                                   int64_t dim) {
  LocalBuilder build(builder, loc, sharding);
  Type i64 = builder.getI64Type();
  SmallVector<int64_t> shape = sharding.getLocalShape(mesh);
  Value local = build.iota(shape, i64, dim);
  Value index = local;
  SmallVector<Digit> digits = getDigits(mesh, sharding.getDims()[dim]);
  for (size_t i = 0; i + 1 < digits.size(); ++i) {
    int64_t factor = digits[i].stride - digits[i + 1].localSize * digits[i + 1].stride;
    if (factor == 0)
      continue;
    Value digit = build.div(local, build.splatLike(local, digits[i].localStride));
    index = build.add(index, build.mul(digit, build.splatLike(local, factor)));
  }
  if (!isSplit(sharding.getDims()[dim]))
    return index;
  Value offset = buildShardOffset(builder, loc, mesh, sharding.getDims()[dim]);
  return build.add(index, build.broadcastScalar(offset, shape));
}

Value shardc::nn::buildLocalIndices(OpBuilder &builder, Location loc, dist::MeshAttr mesh, Value indices,
                                    dist::DimAttr dim, dist::ShardingAttr sharding) {
  LocalBuilder build(builder, loc, sharding);
  Value wide = build.convert(indices, builder.getI64Type());
  ArrayRef<int64_t> shape = getTensorType(wide).getShape();
  auto number = [&](int64_t value) { return build.splatLike(wide, value); };
  SmallVector<Digit> digits = getDigits(mesh, dim);
  if (isContiguous(dim))
    return build.sub(wide, build.broadcastScalar(buildShardOffset(builder, loc, mesh, dim), shape));

  // Digit by digit: a split digit loses its rank's offset and must then lie within the local size.
  Value rest = wide, local = number(0), valid = build.compare(CompareDirection::GE, wide, number(0));
  for (auto [position, digit] : llvm::enumerate(digits)) {
    Value value = build.div(rest, number(digit.stride));
    rest = build.sub(rest, build.mul(value, number(digit.stride)));
    if (!digit.axes.empty()) {
      auto alone = dist::DimAttr::get(builder.getContext(), dim.getSubDims()[position]);
      value = build.sub(value, build.broadcastScalar(buildShardOffset(builder, loc, mesh, alone), shape));
    }
    valid = build.logicalAnd(valid, build.compare(CompareDirection::GE, value, number(0)));
    valid = build.logicalAnd(valid, build.compare(CompareDirection::LT, value, number(digit.localSize)));
    local = build.add(local, build.mul(value, number(digit.localStride)));
  }
  return build.select(valid, local, number(-1));
}
