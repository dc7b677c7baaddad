//===-- Normalization.cpp - cotangents of softmax and norms -------------------------------------------------------===//

#include "dialects/nn/Builders.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::nn;

/// y (g − Σ g·y)
SmallVector<Value> SoftmaxOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents,
                                              ArrayRef<bool> /*needed*/) {
  TensorBuilder build(builder, getLoc());
  Value y = getResult(), g = cotangents[0];
  auto type = nn::getTensorType(y);
  int64_t axis = getAxis();
  SmallVector<int64_t> kept = getIotaDims(type.getRank());
  kept.erase(kept.begin() + axis);
  Value mean = build.sum(build.mul(g, y), axis);
  return {build.mul(y, build.sub(g, build.broadcast(mean, type.getShape(), kept)))};
}

namespace {

/// The shapes of a norm: values on the rows or on the normalised dimensions, spread over both.
struct NormShape {
  TensorBuilder build;
  ArrayRef<int64_t> shape;
  int64_t axis;

  SmallVector<int64_t> getRowDims() const { return getIotaDims(axis); }
  SmallVector<int64_t> getInnerDims() const {
    SmallVector<int64_t> dims = getIotaDims(shape.size());
    return SmallVector<int64_t>(ArrayRef<int64_t>(dims).drop_front(axis));
  }
  Value spreadRows(Value rows) { return build.broadcast(rows, shape, getRowDims()); }
  Value spreadInner(Value inner) { return build.broadcast(inner, shape, getInnerDims()); }
  /// The mean over the normalised dimensions, spread again.
  Value mean(Value x) {
    double count = llvm::product_of(shape.drop_front(axis));
    return spreadRows(build.mul(build.sum(x, getInnerDims()), 1 / count));
  }
};

} // namespace

bool NormOp::isDifferentiableResult(unsigned result) { return result == 0; }

/// With x̂ = (x − mean) · rstd and ĝ = g · scale: rstd (ĝ − mean ĝ − x̂ · mean(ĝ·x̂)) for x, where rms has no mean ĝ;
/// Σ g·x̂ over the rows for scale and Σ g for bias.
SmallVector<Value> NormOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> needed) {
  TensorBuilder build(builder, getLoc());
  NormShape norm{build, nn::getTensorType(getInput()).getShape(), static_cast<int64_t>(getAxis())};
  bool isLayer = getKind() == NormKind::Layer;
  Value g = cotangents[0], rstd = norm.spreadRows(getRstd());
  Value centred = isLayer ? build.sub(getInput(), norm.spreadRows(getMean())) : Value(getInput());
  Value normal = build.mul(centred, rstd);

  SmallVector<Value> result(getNumOperands());
  if (needed[0]) {
    Value scaled = getScale() ? build.mul(g, norm.spreadInner(getScale())) : g;
    Value rest = build.mul(normal, norm.mean(build.mul(scaled, normal)));
    Value shifted = isLayer ? build.sub(scaled, norm.mean(scaled)) : scaled;
    result[0] = build.mul(rstd, build.sub(shifted, rest));
  }
  unsigned next = 1;
  if (getScale()) {
    if (needed[next])
      result[next] = build.sum(build.mul(g, normal), norm.getRowDims());
    ++next;
  }
  if (getBias() && needed[next])
    result[next] = build.sum(g, norm.getRowDims());
  return result;
}
