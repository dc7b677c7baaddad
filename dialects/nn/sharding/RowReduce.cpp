//===-- RowReduce.cpp - reductions along a split dimension, combined over the ranks -------------------------------===//

#include "dialects/nn/sharding/RowReduce.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::nn;

RowReduce::RowReduce(OpBuilder &builder, Location loc, dist::ShardingAttr sharding, int64_t dim)
    : builder(builder), loc(loc), whole(sharding), dim(dim) {
  SmallVector<dist::DimAttr> dims(sharding.getDims());
  for (dist::SubDimAttr sub : dims[dim].getSubDims())
    for (StringAttr axis : sub.getAxes())
      axes.push_back(axis);
  dims.erase(dims.begin() + dim);
  rows = dist::ShardingAttr::get(sharding.getContext(), dims, sharding.getPartial());
}

Value RowReduce::combine(ReduceKind kind, Value x) {
  auto reduction = kind == ReduceKind::Max ? dist::ReductionKind::Max : dist::ReductionKind::Sum;
  SmallVector<dist::PartialAttr> partial(rows.getPartial());
  for (Attribute axis : axes)
    partial.push_back(dist::PartialAttr::get(builder.getContext(), cast<StringAttr>(axis), reduction));
  LocalBuilder build(builder, loc, rows);
  Value mine = build.in(dist::ShardingAttr::get(builder.getContext(), rows.getDims(), partial)).reduce(kind, x, dim);
  return build.allReduce(mine, builder.getArrayAttr(axes), reduction);
}

Value RowReduce::spread(Value row, Value like) {
  auto type = getTensorType(like);
  SmallVector<int64_t> kept = getIotaDims(type.getRank());
  kept.erase(kept.begin() + dim);
  return LocalBuilder(builder, loc, whole).broadcast(row, type.getShape(), kept);
}
