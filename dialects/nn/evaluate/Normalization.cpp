//===-- Normalization.cpp - evaluates softmax, norms and cross-entropy --------------------------------------------===//

#include "dialects/nn/Builders.h"
#include "dialects/nn/evaluate/Families.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace shardc::nn {
namespace {

void evaluateSoftmax(SoftmaxOp op, const Tensor &input, Tensor &result) {
  SmallVector<int64_t> outer = getIotaDims(input.getShape().size());
  int64_t axis = op.getAxis();
  outer.erase(outer.begin() + axis);
  std::vector<int64_t> inner = getOffsets(input.getShape(), axis);
  for (int64_t base : getOffsets(input.getShape(), outer)) {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t offset : inner)
      largest = std::max(largest, input.floats[base + offset]);
    for (int64_t offset : inner)
      sum += result.floats[base + offset] = std::exp(input.floats[base + offset] - largest);
    for (int64_t offset : inner)
      result.floats[base + offset] /= sum;
  }
}

void evaluateNorm(NormOp op, const Evaluation &evaluation) {
  const std::vector<double> &x = evaluation.operands[0]->floats;
  const Tensor *scale = op.getScale() ? evaluation.operands[1] : nullptr;
  const Tensor *bias = op.getBias() ? evaluation.operands[scale ? 2 : 1] : nullptr;
  std::vector<double> &y = evaluation.results[0].floats, &mean = evaluation.results[1].floats;
  std::vector<double> &rstd = evaluation.results[2].floats;
  size_t inner = x.size() / std::max<size_t>(mean.size(), 1);
  for (size_t row = 0; row < mean.size(); ++row) {
    const double *from = x.data() + row * inner;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < inner; ++i)
      sum += from[i];
    mean[row] = op.getKind() == NormKind::Layer ? sum / inner : 0;
    for (size_t i = 0; i < inner; ++i)
      squares += (from[i] - mean[row]) * (from[i] - mean[row]);
    rstd[row] = 1 / std::sqrt(squares / inner + op.getEpsilon().convertToDouble());
    for (size_t i = 0; i < inner; ++i)
      y[row * inner + i] =
          (from[i] - mean[row]) * rstd[row] * (scale ? scale->floats[i] : 1) + (bias ? bias->floats[i] : 0);
  }
}

void evaluateCrossEntropy(CrossEntropyOp op, const Evaluation &evaluation) {
  const Tensor &logits = *evaluation.operands[0], &labels = *evaluation.operands[1];
  int64_t padded = logits.getShape().back();
  int64_t classes = op.getClasses() ? static_cast<int64_t>(*op.getClasses()) : padded;
  for (auto [row, label] : llvm::enumerate(labels.integers)) {
    const double *x = logits.floats.data() + row * padded;
    double largest = *std::max_element(x, x + classes), sum = 0;
    for (int64_t i = 0; i < classes; ++i)
      sum += std::exp(x[i] - largest);
    double lse = largest + std::log(sum);
    // A label that is no class matches nothing.
    double own = label >= 0 && label < classes ? x[label] : 0;
    evaluation.results[0].floats[row] = label == static_cast<int64_t>(op.getIgnoreIndex()) ? 0 : lse - own;
    evaluation.results[1].floats[row] = lse;
  }
}

} // namespace

bool evaluateNormalization(const Evaluation &evaluation) {
  return llvm::TypeSwitch<Operation *, bool>(evaluation.op)
      .Case([&](SoftmaxOp op) { return evaluateSoftmax(op, *evaluation.operands[0], evaluation.results[0]), true; })
      .Case([&](NormOp op) { return evaluateNorm(op, evaluation), true; })
      .Case([&](CrossEntropyOp op) { return evaluateCrossEntropy(op, evaluation), true; })
      .Default(false);
}

} // namespace shardc::nn
