//===-- Reduction.cpp - cotangents of reductions ------------------------------------------------------------------===//

#include "dialects/nn/Builders.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::nn;

namespace {

/// What repeats a reduced value along the dimensions that the reduction removed.
struct Spread {
  TensorBuilder build;
  ArrayRef<int64_t> shape;
  SmallVector<int64_t> kept;

  Value operator()(Value reduced) { return build.broadcast(reduced, shape, kept); }
};

/// The cotangent goes to the elements that equal the result, in equal parts.
Value buildExtremumCotangent(TensorBuilder build, Spread spread, ReduceOp op, Value g) {
  Value x = op.getInput();
  Value isWinner = build.compare(CompareDirection::EQ, x, spread(op.getResult()));
  Value count = build.sum(build.convert(isWinner, getTensorType(x).getElementType()), op.getDims());
  return build.select(isWinner, spread(build.div(g, count)), build.splatLike(x, 0));
}

/// g · Π of the other elements, without dividing by zeros: with one zero only it has a cotangent, with more nothing.
Value buildProductCotangent(TensorBuilder build, Spread spread, ReduceOp op, Value g) {
  Value x = op.getInput();
  Value zero = build.splatLike(x, 0), one = build.splatLike(x, 1);
  Value isZero = build.compare(CompareDirection::EQ, x, zero);
  Value nonZero = build.select(isZero, one, x);
  Value zeros = build.sum(build.select(isZero, one, zero), op.getDims());
  Value product = build.mul(g, build.reduce(ReduceKind::Prod, nonZero, op.getDims()));
  Value none = build.splatLike(product, 0);
  Value withoutZeros = build.select(build.compare(CompareDirection::EQ, zeros, 0.0), product, none);
  Value withOneZero = build.select(build.compare(CompareDirection::EQ, zeros, 1.0), product, none);
  return build.select(isZero, spread(withOneZero), build.div(spread(withoutZeros), nonZero));
}

} // namespace

SmallVector<Value> ReduceOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents,
                                             ArrayRef<bool> /*needed*/) {
  TensorBuilder build(builder, getLoc());
  auto from = nn::getTensorType(getInput());
  Spread spread{build, from.getShape(), {}};
  for (int64_t dim = 0; dim < from.getRank(); ++dim)
    if (!llvm::is_contained(getDims(), dim))
      spread.kept.push_back(dim);
  switch (getKind()) {
  case ReduceKind::Sum:
    return {spread(cotangents[0])};
  case ReduceKind::Max:
  case ReduceKind::Min:
    return {buildExtremumCotangent(build, spread, *this, cotangents[0])};
  case ReduceKind::Prod:
    return {buildProductCotangent(build, spread, *this, cotangents[0])};
  }
  llvm_unreachable("all kinds are above");
}
