//===-- Loss.cpp - cotangents of losses ---------------------------------------------------------------------------===//

#include "dialects/nn/Builders.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::nn;

bool CrossEntropyOp::isDifferentiableResult(unsigned result) { return result == 0; }

/// (e^(x − lse) − onehot) · g, 0 in the rows to ignore; classes of the padding have probability 0.
SmallVector<Value> CrossEntropyOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents,
                                                   ArrayRef<bool> needed) {
  if (!needed[0])
    return {Value(), Value()};
  TensorBuilder build(builder, getLoc());
  Value x = getLogits(), labels = getLabels();
  ArrayRef<int64_t> shape = nn::getTensorType(x).getShape();
  SmallVector<int64_t> rows = getIotaDims(shape.size() - 1);
  auto spread = [&](Value value) { return build.broadcast(value, shape, rows); };

  Value g = cotangents[0];
  Value isCounted = build.compare(CompareDirection::NE, labels, static_cast<int64_t>(getIgnoreIndex()));
  Value rowCotangent = build.select(isCounted, g, build.splatLike(g, 0));

  Value index = build.iota(shape, nn::getTensorType(labels).getElementType(), shape.size() - 1);
  Value zero = build.splatLike(x, 0), one = build.splatLike(x, 1);
  Value probability = build.exp(build.sub(x, spread(getLse())));
  if (getClasses() && static_cast<int64_t>(*getClasses()) < shape.back())
    probability = build.select(build.compare(CompareDirection::LT, index, *getClasses()), probability, zero);
  Value oneHot = build.select(build.compare(CompareDirection::EQ, index, spread(labels)), one, zero);
  return {build.mul(build.sub(probability, oneHot), spread(rowCotangent)), Value()};
}
