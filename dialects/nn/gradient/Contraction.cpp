//===-- Contraction.cpp - cotangents of products ------------------------------------------------------------------===//

#include "dialects/nn/Builders.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::nn;

namespace {

/// An operand of a product that is to be differentiated: its dimensions by role.
struct Side {
  Value value;
  ArrayRef<int64_t> batch, contract;
  SmallVector<int64_t> free;
};

/// The dimensions of `wanted` in the order in which they appear in the product of g with the other operand:
/// the batch first, then the free ones and the contracted ones (in the order of the other operand's dimensions),
/// these two swapped where the other operand stands left.
SmallVector<int64_t> getOrder(const Side &wanted, const Side &other, bool otherIsLeft) {
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  for (auto [theirs, ours] : llvm::zip(other.contract, wanted.contract))
    pairs.emplace_back(theirs, ours);
  llvm::sort(pairs);
  SmallVector<int64_t> contracted;
  for (auto [theirs, ours] : pairs)
    contracted.push_back(ours);
  SmallVector<int64_t> order(wanted.batch);
  llvm::append_range(order, otherIsLeft ? contracted : wanted.free);
  llvm::append_range(order, otherIsLeft ? wanted.free : contracted);
  return order;
}

/// The cotangent of `wanted`: the product of g with the other operand over the other's free dimensions, which are the
/// dimensions of g from `firstOtherFree` on. The order of the factors is chosen so that no transpose is needed where
/// that can be.
Value buildCotangent(TensorBuilder build, const Side &wanted, const Side &other, Value g, int64_t firstOtherFree) {
  SmallVector<int64_t> batch = getIotaDims(wanted.batch.size()), contract;
  for (size_t index = 0; index < other.free.size(); ++index)
    contract.push_back(firstOtherFree + index);
  SmallVector<int64_t> order = getOrder(wanted, other, /*otherIsLeft=*/true);
  if (llvm::is_sorted(order))
    return build.dot(other.value, g, other.batch, batch, other.free, contract);
  order = getOrder(wanted, other, /*otherIsLeft=*/false);
  Value product = build.dot(g, other.value, batch, other.batch, contract, other.free);
  return build.transpose(product, invertPermutation(order));
}

} // namespace

SmallVector<Value> DotGeneralOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents,
                                                 ArrayRef<bool> needed) {
  TensorBuilder build(builder, getLoc());
  Side lhs{getLhs(), getLhsBatch(), getLhsContract(), getLhsFree()};
  Side rhs{getRhs(), getRhsBatch(), getRhsContract(), getRhsFree()};
  int64_t firstLhsFree = lhs.batch.size(), firstRhsFree = firstLhsFree + lhs.free.size();
  Value g = cotangents[0];
  return {needed[0] ? buildCotangent(build, lhs, rhs, g, firstRhsFree) : Value(),
          needed[1] ? buildCotangent(build, rhs, lhs, g, firstLhsFree) : Value()};
}
