//===-- Reshard.cpp - moves a local value from one sharding to another --------------------------------------------===//

#include "dialects/nn/sharding/Reshard.h"

#include "dialects/nn/sharding/LocalBuilder.h"

#include <set>

using namespace mlir;
using namespace shardc;
using namespace shardc::nn;

namespace {

/// A sub-dimension while it is being moved.
struct Sub {
  int64_t size;
  SmallVector<StringAttr> axes;
};

using Subs = SmallVector<Sub>;

SmallVector<Sub> getSubs(dist::DimAttr dim) {
  Subs subs;
  for (dist::SubDimAttr sub : dim.getSubDims())
    subs.push_back({sub.getSize(), SmallVector<StringAttr>(sub.getAxes())});
  return subs;
}

/// The dimension of these sub-dimensions, unsplit neighbours merged and those of size 1 dropped.
dist::DimAttr makeDim(MLIRContext *context, ArrayRef<Sub> subs) {
  SmallVector<Sub> merged;
  for (const Sub &sub : subs) {
    if (sub.size == 1 && sub.axes.empty())
      continue;
    if (!merged.empty() && merged.back().axes.empty() && sub.axes.empty())
      merged.back().size *= sub.size;
    else
      merged.push_back(sub);
  }
  if (merged.empty())
    merged.push_back(
        {llvm::is_contained(llvm::map_range(subs, [](const Sub &sub) { return sub.size; }), 0) ? 0 : 1, {}});
  SmallVector<dist::SubDimAttr> attrs;
  for (const Sub &sub : merged)
    attrs.push_back(dist::SubDimAttr::get(context, sub.size, sub.axes));
  return dist::DimAttr::get(context, attrs);
}

/// The inner sizes at which sub-dimensions of `dim` begin.
std::set<int64_t> getCuts(dist::DimAttr dim) {
  std::set<int64_t> cuts;
  int64_t inner = 1;
  for (dist::SubDimAttr sub : llvm::reverse(dim.getSubDims())) {
    inner *= sub.getSize();
    cuts.insert(inner);
  }
  return cuts;
}

/// The sub-dimensions of `dim`, cut wherever `cuts` says. Axes stay on the outermost part.
Subs refine(dist::DimAttr dim, const std::set<int64_t> &cuts) {
  Subs reversed;
  int64_t inner = 1;
  Subs subs = getSubs(dim);
  for (const Sub &sub : llvm::reverse(subs)) {
    int64_t end = inner * sub.size;
    for (int64_t cut : cuts) {
      if (cut <= inner || cut >= end)
        continue;
      assert(cut % inner == 0 && end % cut == 0 && "sub-dimensions must nest");
      reversed.push_back({cut / inner, {}});
      inner = cut;
    }
    reversed.push_back({end / inner, sub.axes});
    inner = end;
  }
  return Subs(llvm::reverse(reversed));
}

/// Resharding over one axis. The tensor is the flat list of its sub-dimensions; around a collective it is viewed as
/// [before, ranks, after], where `before` and `after` are runs of sub-dimensions.
class AxisReshard {
public:
  AxisReshard(OpBuilder &builder, Location loc, dist::MeshAttr mesh, StringAttr axis,
              ArrayRef<dist::PartialAttr> partial)
      : builder(builder), loc(loc), mesh(mesh), axis(axis), ranks(mesh.getSize(axis)), partial(partial) {}

  /// Every rank takes its block of sub-dimension `position`; where `reduce`, of the sum over the ranks.
  Value split(Value x, Subs &subs, size_t position, std::optional<dist::ReductionKind> reduce) {
    Subs before = take(subs, 0, position), rest = takeInner(subs, position), whole = rest;
    whole.front() = subs[position];
    whole.front().axes.push_back(axis);
    if (reduce)
      partial.push_back(dist::PartialAttr::get(builder.getContext(), axis, *reduce));
    x = toFront(x, before, rest);
    if (reduce)
      partial.pop_back();
    SmallVector<Subs> dims{before, whole};
    subs[position].axes.push_back(axis);
    auto type = RankedTensorType::get(getTensorType(x).getShape().drop_front(), getTensorType(x).getElementType());
    if (reduce)
      return place(dist::ReduceScatterOp::create(builder, loc, type, x, axis, *reduce), dropEmpty(dims));
    return place(dist::LocalSliceOp::create(builder, loc, type, x, axis), dropEmpty(dims));
  }

  /// Puts the blocks of sub-dimension `position` of all ranks together.
  Value gather(Value x, Subs &subs, size_t position) {
    Subs before = take(subs, 0, position), rest = takeInner(subs, position), whole = take(subs, position, subs.size());
    x = view(x, dropEmpty({before, whole}));
    SmallVector<int64_t> stacked{ranks};
    llvm::append_range(stacked, getTensorType(x).getShape());
    auto type = RankedTensorType::get(stacked, getTensorType(x).getElementType());
    Value all = place(dist::AllGatherOp::create(builder, loc, type, x, axis), dropEmpty({leading(), before, rest}));
    llvm::erase(subs[position].axes, axis);
    return fromFront(all, before, rest);
  }

  /// From split at `from` to split at `to`: rank i sends its block j of `to` to rank j.
  Value exchange(Value x, Subs &subs, size_t from, size_t to) {
    Subs before = take(subs, 0, to), rest = takeInner(subs, to);
    x = toFront(x, before, rest);
    Value blocks = dist::AllToAllOp::create(builder, loc, x, axis);
    // Now the leading dimension counts the blocks of `from`.
    Subs moved = subs;
    moved[to].axes.push_back(axis);
    llvm::erase(moved[from].axes, axis);
    Subs local = moved;
    local[from].size /= ranks;
    Subs front = from < to ? take(local, 0, to) : before, back = take(local, to, local.size());
    place(blocks, dropEmpty({leading(), front, back}));
    subs = moved;
    return fromFront(blocks, take(local, 0, from), take(local, from, local.size()));
  }

  /// The value in the shape of `dims`, if it does not have it.
  Value view(Value x, ArrayRef<Subs> dims) {
    SmallVector<int64_t> shape;
    for (const Subs &dim : dims)
      shape.push_back(getLocalSize(dim));
    if (getTensorType(x).getShape() == ArrayRef<int64_t>(shape))
      return x;
    Value viewed = TensorBuilder(builder, loc).reshape(x, shape);
    return place(viewed, dims);
  }

private:
  Subs leading() const { return {{ranks, {}}}; }

  static Subs take(const Subs &subs, size_t first, size_t last) {
    return Subs(llvm::make_range(subs.begin() + first, subs.begin() + last));
  }

  /// From sub-dimension `position` on, of which one block.
  Subs takeInner(const Subs &subs, size_t position) const {
    Subs rest = take(subs, position, subs.size());
    rest.front().size /= ranks;
    llvm::erase(rest.front().axes, axis);
    return rest;
  }

  int64_t getLocalSize(const Subs &subs) const {
    int64_t size = 1;
    for (const Sub &sub : subs) {
      size *= sub.size;
      for (StringAttr name : sub.axes)
        size /= mesh.getSize(name);
    }
    return size;
  }

  /// Without a first dimension that would be 1.
  SmallVector<Subs> dropEmpty(ArrayRef<Subs> dims) const {
    SmallVector<Subs> kept;
    for (auto [index, dim] : llvm::enumerate(dims))
      if (index + 1 == dims.size() || getLocalSize(dim) != 1 || (index == 0 && dims.size() == 3))
        kept.push_back(dim);
    return kept;
  }

  /// [before, ranks · rest] -> [ranks, before, rest]
  Value toFront(Value x, const Subs &before, const Subs &rest) {
    if (getLocalSize(before) == 1)
      return view(x, {leading(), rest});
    x = view(x, {before, leading(), rest});
    return place(TensorBuilder(builder, loc).transpose(x, {1, 0, 2}), {leading(), before, rest});
  }

  /// [ranks, before · rest] -> [before, ranks, rest]
  Value fromFront(Value x, const Subs &before, const Subs &rest) {
    if (getLocalSize(before) == 1)
      return x;
    x = view(x, {leading(), before, rest});
    return place(TensorBuilder(builder, loc).transpose(x, {1, 0, 2}), {before, leading(), rest});
  }

  Value place(Value value, ArrayRef<Subs> dims) {
    SmallVector<dist::DimAttr> attrs;
    for (const Subs &dim : dims)
      attrs.push_back(makeDim(builder.getContext(), dim));
    dist::setSharding(value, dist::ShardingAttr::get(builder.getContext(), attrs, partial));
    return value;
  }

  OpBuilder &builder;
  Location loc;
  dist::MeshAttr mesh;
  StringAttr axis;
  int64_t ranks;
  SmallVector<dist::PartialAttr> partial;
};

/// The sub-dimension that `axis` splits, or -1.
int64_t findAxis(const Subs &subs, StringAttr axis) {
  for (auto [index, sub] : llvm::enumerate(subs))
    if (llvm::is_contained(sub.axes, axis))
      return index;
  return -1;
}

} // namespace

dist::ShardingAttr shardc::nn::canonicalize(dist::ShardingAttr sharding) {
  SmallVector<dist::DimAttr> dims;
  for (dist::DimAttr dim : sharding.getDims())
    dims.push_back(makeDim(sharding.getContext(), getSubs(dim)));
  return dist::ShardingAttr::get(sharding.getContext(), dims, sharding.getPartial());
}

Value shardc::nn::reshard(OpBuilder &builder, Location loc, Value value, dist::ShardingAttr to) {
  dist::ShardingAttr from = dist::getSharding(value);
  dist::MeshAttr mesh = dist::MeshAttr::of(value.getParentRegion()->getParentOp());
  Subs subs, target;
  SmallVector<size_t> ends;
  for (auto [fromDim, toDim] : llvm::zip_equal(from.getDims(), to.getDims())) {
    std::set<int64_t> cuts = getCuts(fromDim);
    cuts.merge(getCuts(toDim));
    llvm::append_range(subs, refine(fromDim, cuts));
    llvm::append_range(target, refine(toDim, cuts));
    ends.push_back(subs.size());
  }
  SmallVector<dist::PartialAttr> partial(from.getPartial());
  bool changed = false;
  for (dist::AxisAttr meshAxis : mesh.getAxes()) {
    StringAttr axis = builder.getStringAttr(meshAxis.getName());
    std::optional<dist::ReductionKind> before = from.getPartial(axis), after = to.getPartial(axis);
    int64_t source = findAxis(subs, axis), sink = findAxis(target, axis);
    std::optional<dist::ReductionKind> reduce = after ? std::nullopt : before;
    if (reduce)
      llvm::erase_if(partial, [&](dist::PartialAttr entry) { return entry.getAxis() == axis; });
    AxisReshard step(builder, loc, mesh, axis, partial);
    if (reduce && sink < 0)
      value = dist::AllReduceOp::create(builder, loc, value, builder.getArrayAttr(axis), *reduce, DenseI64ArrayAttr());
    else if (sink >= 0 && source < 0)
      value = step.split(value, subs, sink, reduce);
    else if (sink < 0 && source >= 0)
      value = step.gather(value, subs, source);
    else if (sink != source)
      value = step.exchange(value, subs, source, sink);
    else
      continue;
    SmallVector<Subs> dims;
    size_t first = 0;
    for (size_t end : ends) {
      dims.push_back(Subs(llvm::make_range(subs.begin() + first, subs.begin() + end)));
      first = end;
    }
    value = step.view(value, dims);
    changed = true;
  }
  if (changed)
    dist::setSharding(value, canonicalize(to));
  return value;
}
