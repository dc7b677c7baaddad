//===-- Decompose.cpp - norms, softmax and the like in terms of ops that fuse -------------------------------------===//

#include "shardc/Codegen/Passes.h"

#include "Rewriting.h"
#include "dialects/nn/Builders.h"

#include "llvm/ADT/TypeSwitch.h"

#include <limits>

namespace shardc::codegen {
#define GEN_PASS_DEF_DECOMPOSEPASS
#include "shardc/Codegen/Passes.h.inc"
} // namespace shardc::codegen

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

using nn::getIotaDims;
using nn::getTensorType;
using nn::TensorBuilder;

ArrayRef<int64_t> getShape(Value value) { return getTensorType(value).getShape(); }

/// The dimensions of a tensor of rank `rank` except those in `dims`.
SmallVector<int64_t> getOtherDims(int64_t rank, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> others;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(dims, dim))
      others.push_back(dim);
  return others;
}

/// Whether the dims (ascending) are the first or the last of `rank`.
bool areOuterOrInner(ArrayRef<int64_t> dims, int64_t rank) {
  auto run = [&](int64_t start) {
    for (auto [index, dim] : llvm::enumerate(dims))
      if (dim != start + static_cast<int64_t>(index))
        return false;
    return true;
  };
  return run(0) || run(rank - static_cast<int64_t>(dims.size()));
}

/// Reduces over any dimensions: those in the middle are transposed to the end.
Value reduceAnywhere(TensorBuilder &b, nn::ReduceKind kind, Value x, ArrayRef<int64_t> dims) {
  int64_t rank = getTensorType(x).getRank();
  if (areOuterOrInner(dims, rank))
    return b.reduce(kind, x, dims);
  SmallVector<int64_t> permutation = getOtherDims(rank, dims);
  int64_t kept = permutation.size();
  llvm::append_range(permutation, dims);
  SmallVector<int64_t> last;
  for (int64_t dim = kept; dim < rank; ++dim)
    last.push_back(dim);
  return b.reduce(kind, b.transpose(x, permutation), last);
}

/// Reduces over `dims` and repeats the result along them.
Value reduceAndRepeat(TensorBuilder &b, nn::ReduceKind kind, Value x, ArrayRef<int64_t> dims) {
  Value reduced = reduceAnywhere(b, kind, x, dims);
  return b.broadcast(reduced, getShape(x), getOtherDims(getTensorType(x).getRank(), dims));
}

SmallVector<Value> decomposeSoftmax(TensorBuilder &b, nn::SoftmaxOp op) {
  SmallVector<int64_t> axis{static_cast<int64_t>(op.getAxis())};
  Value exp = b.exp(b.sub(op.getInput(), reduceAndRepeat(b, nn::ReduceKind::Max, op.getInput(), axis)));
  return {b.div(exp, reduceAndRepeat(b, nn::ReduceKind::Sum, exp, axis))};
}

SmallVector<Value> decomposeNorm(TensorBuilder &b, nn::NormOp op) {
  Value x = op.getInput();
  ArrayRef<int64_t> shape = getShape(x);
  int64_t rank = shape.size(), axis = op.getAxis();
  SmallVector<int64_t> outer = getIotaDims(axis), inner;
  double count = 1;
  for (int64_t dim = axis; dim < rank; ++dim) {
    inner.push_back(dim);
    count *= shape[dim];
  }
  bool isLayer = op.getKind() == nn::NormKind::Layer;
  Value mean = isLayer ? b.mul(b.sum(x, inner), 1.0 / count) : b.splat(op.getMean().getType(), 0.0);
  Value centred = isLayer ? b.sub(x, b.broadcast(mean, shape, outer)) : x;
  Value variance = b.mul(b.sum(b.mul(centred, centred), inner), 1.0 / count);
  Value rstd = b.rsqrt(b.add(variance, op.getEpsilon().convertToDouble()));
  Value result = b.mul(centred, b.broadcast(rstd, shape, outer));
  if (op.getScale())
    result = b.mul(result, b.broadcast(op.getScale(), shape, inner));
  if (op.getBias())
    result = b.add(result, b.broadcast(op.getBias(), shape, inner));
  return {result, mean, rstd};
}

SmallVector<Value> decomposeCrossEntropy(TensorBuilder &b, nn::CrossEntropyOp op) {
  Value logits = op.getLogits(), labels = op.getLabels();
  ArrayRef<int64_t> shape = getShape(logits);
  int64_t rank = shape.size();
  SmallVector<int64_t> rows = getIotaDims(rank - 1), classes{rank - 1};
  Value index = b.iota(shape, getTensorType(labels).getElementType(), rank - 1);
  Value padded = logits;
  if (op.getClasses()) {
    auto classCount = static_cast<double>(static_cast<int64_t>(*op.getClasses()));
    Value isClass = b.compare(nn::CompareDirection::LT, index, classCount);
    padded = b.select(isClass, logits, b.splatLike(logits, -std::numeric_limits<double>::infinity()));
  }
  Value max = b.reduce(nn::ReduceKind::Max, padded, classes);
  Value sum = b.sum(b.exp(b.sub(padded, b.broadcast(max, shape, rows))), classes);
  Value lse = b.add(b.log(sum), max);
  Value isLabel = b.compare(nn::CompareDirection::EQ, index, b.broadcast(labels, shape, rows));
  Value picked = b.sum(b.select(isLabel, logits, b.splatLike(logits, 0.0)), classes);
  Value isIgnored =
      b.compare(nn::CompareDirection::EQ, labels, static_cast<double>(static_cast<int64_t>(op.getIgnoreIndex())));
  Value zero = b.splatLike(lse, 0.0), loss = b.sub(lse, picked);
  return {b.select(isIgnored, zero, loss), lse};
}

/// The number that every element of `value` has, looking through broadcasts.
std::optional<double> getSplatNumber(Value value) {
  while (auto broadcast = value.getDefiningOp<nn::BroadcastInDimOp>())
    value = broadcast.getInput();
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : DenseFPElementsAttr();
  if (!elements || !elements.isSplat())
    return std::nullopt;
  return elements.getSplatValue<APFloat>().convertToDouble();
}

SmallVector<Value> decomposePow(TensorBuilder &b, nn::PowOp op) {
  std::optional<double> exponent = getSplatNumber(op.getRhs());
  Value x = op.getLhs();
  if (!exponent)
    return {};
  if (*exponent == 1.0)
    return {x};
  if (*exponent == 2.0)
    return {b.mul(x, x)};
  if (*exponent == 3.0)
    return {b.mul(b.mul(x, x), x)};
  if (*exponent == 0.5)
    return {b.sqrt(x)};
  if (*exponent == -0.5)
    return {b.rsqrt(x)};
  if (*exponent == -1.0)
    return {b.div(b.splatLike(x, 1.0), x)};
  return {};
}

SmallVector<Value> decomposeReduce(TensorBuilder &b, nn::ReduceOp op) {
  if (op.getDims().empty())
    return {op.getInput()};
  if (areOuterOrInner(op.getDims(), getTensorType(op.getInput()).getRank()))
    return {};
  return {reduceAnywhere(b, op.getKind(), op.getInput(), op.getDims())};
}

/// A scatter along another axis than the first becomes one along the first, between transposes.
SmallVector<Value> decomposeScatterAdd(TensorBuilder &b, nn::ScatterAddOp op) {
  int64_t axis = op.getAxis(), indexRank = getTensorType(op.getIndices()).getRank();
  if (axis == 0)
    return {};
  auto type = cast<RankedTensorType>(op.getType());
  SmallVector<int64_t> updatesPermutation, permutation{axis}, shape;
  for (int64_t dim = axis; dim < axis + indexRank; ++dim)
    updatesPermutation.push_back(dim);
  llvm::append_range(updatesPermutation, getOtherDims(getTensorType(op.getUpdates()).getRank(), updatesPermutation));
  llvm::append_range(permutation, getOtherDims(type.getRank(), permutation));
  for (int64_t dim : permutation)
    shape.push_back(type.getDimSize(dim));
  Value updates = b.transpose(op.getUpdates(), updatesPermutation);
  Value sum = nn::ScatterAddOp::create(b.builder, b.loc, RankedTensorType::get(shape, type.getElementType()),
                                       op.getIndices(), updates, 0);
  return {b.transpose(sum, nn::invertPermutation(permutation))};
}

/// A reshape that only adds dimensions of size 1 is a broadcast, which fuses with elementwise users; for others it
/// stays a view.
SmallVector<Value> decomposeReshape(TensorBuilder &b, nn::ReshapeOp op) {
  if (llvm::none_of(op->getUsers(), [](Operation *user) { return isa<nn::FusibleOpInterface>(user); }))
    return {};
  ArrayRef<int64_t> from = getShape(op.getInput()), to = cast<RankedTensorType>(op.getType()).getShape();
  if (from.size() >= to.size())
    return {};
  SmallVector<int64_t> dims;
  for (auto [dim, size] : llvm::enumerate(to)) {
    if (dims.size() < from.size() && from[dims.size()] == size)
      dims.push_back(dim);
    else if (size != 1)
      return {};
  }
  if (dims.size() != from.size())
    return {};
  return {nn::BroadcastInDimOp::create(b.builder, b.loc, op.getType(), op.getInput(), dims)};
}

/// A broadcast of a broadcast is one.
SmallVector<Value> decomposeBroadcast(TensorBuilder &b, nn::BroadcastInDimOp op) {
  auto inner = op.getInput().getDefiningOp<nn::BroadcastInDimOp>();
  if (op.getInput().getType() == op.getType())
    return {op.getInput()};
  if (!inner)
    return {};
  SmallVector<int64_t> dims;
  for (int64_t dim : inner.getDims())
    dims.push_back(op.getDims()[dim]);
  return {nn::BroadcastInDimOp::create(b.builder, b.loc, op.getType(), inner.getInput(), dims)};
}

//===-- Sums of paddings ------------------------------------------------------------------------------------------===//

/// One summand: `value` lies at [start, start + size) of the dimension that the paddings have in common.
struct Piece {
  Value value;
  int64_t start;
};

/// Collects the paddings with zeros along one dimension whose sum is `value`. Returns false where there is anything
/// else.
bool collectPieces(Value value, int64_t &dimension, SmallVectorImpl<Piece> &pieces) {
  if (auto add = value.getDefiningOp<nn::AddOp>(); add && (pieces.empty() || add->hasOneUse()))
    return collectPieces(add.getLhs(), dimension, pieces) && collectPieces(add.getRhs(), dimension, pieces);
  auto pad = value.getDefiningOp<nn::PadOp>();
  auto number = pad ? dyn_cast<FloatAttr>(pad.getValue()) : FloatAttr();
  if (!number || !number.getValue().isZero() || llvm::any_of(pad.getInterior(), [](int64_t n) { return n != 0; }))
    return false;
  for (int64_t dim = 0; dim < getTensorType(value).getRank(); ++dim) {
    if (pad.getLow()[dim] == 0 && pad.getHigh()[dim] == 0)
      continue;
    if (dimension >= 0 && dim != dimension)
      return false;
    dimension = dim;
  }
  if (dimension < 0)
    return false;
  pieces.push_back({pad.getInput(), pad.getLow()[dimension]});
  return true;
}

/// A sum of paddings that tile the result is a concat: what the gradients of slices come to.
SmallVector<Value> decomposeAdd(TensorBuilder &b, nn::AddOp op) {
  if (!isa<FloatType>(cast<RankedTensorType>(op.getType()).getElementType()))
    return {};
  int64_t dimension = -1, end = 0;
  SmallVector<Piece> pieces;
  if (!collectPieces(op.getLhs(), dimension, pieces) || !collectPieces(op.getRhs(), dimension, pieces))
    return {};
  llvm::stable_sort(pieces, [](const Piece &a, const Piece &c) { return a.start < c.start; });
  SmallVector<Value> values;
  for (const Piece &piece : pieces) {
    if (piece.start != end)
      return {};
    end += getShape(piece.value)[dimension];
    values.push_back(piece.value);
  }
  if (end != cast<RankedTensorType>(op.getType()).getDimSize(dimension))
    return {};
  return {nn::ConcatOp::create(b.builder, b.loc, op.getType(), values, dimension)};
}

//===-- The pass --------------------------------------------------------------------------------------------------===//

/// The values that replace the results of `op`; empty where the op stays.
SmallVector<Value> decompose(TensorBuilder &b, Operation *op) {
  return TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case([&](nn::SoftmaxOp op) { return decomposeSoftmax(b, op); })
      .Case([&](nn::NormOp op) { return decomposeNorm(b, op); })
      .Case([&](nn::CrossEntropyOp op) { return decomposeCrossEntropy(b, op); })
      .Case([&](nn::PowOp op) { return decomposePow(b, op); })
      .Case([&](nn::ReduceOp op) { return decomposeReduce(b, op); })
      .Case([&](nn::ScatterAddOp op) { return decomposeScatterAdd(b, op); })
      .Case([&](nn::ReshapeOp op) { return decomposeReshape(b, op); })
      .Case([&](nn::BroadcastInDimOp op) { return decomposeBroadcast(b, op); })
      .Case([&](nn::AddOp op) { return decomposeAdd(b, op); })
      .Default([](Operation *) { return SmallVector<Value>(); });
}

/// Hands origin, direction and shardings of `from` to the ops in (`before`, `from`) and to the replacements.
void handOn(Operation *before, Operation *from, ArrayRef<Value> replacements) {
  for (Operation *op = before ? before->getNextNode() : &from->getBlock()->front(); op != from; op = op->getNextNode())
    nn::copyOrigin(from, op);
  for (auto [result, replacement] : llvm::zip(from->getResults(), replacements))
    if (dist::ShardingAttr sharding = dist::getSharding(result);
        sharding && replacement.getDefiningOp() && !dist::getSharding(replacement))
      dist::setSharding(replacement, sharding);
}

struct DecomposePass : codegen::impl::DecomposePassBase<DecomposePass> {
  using DecomposePassBase::DecomposePassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    for (Operation &op : llvm::make_early_inc_range(function.getBody().front())) {
      Operation *before = op.getPrevNode();
      OpBuilder builder(&op);
      TensorBuilder b(builder, op.getLoc());
      SmallVector<Value> replacements = decompose(b, &op);
      if (replacements.empty())
        continue;
      handOn(before, &op, replacements);
      op.replaceAllUsesWith(replacements);
      op.erase();
    }
    eraseUnusedOps(function.getBody().front());
  }
};

} // namespace
