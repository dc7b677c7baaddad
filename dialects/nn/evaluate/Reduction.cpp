//===-- Reduction.cpp - evaluates products and reductions ---------------------------------------------------------===//

#include "dialects/nn/Builders.h"
#include "dialects/nn/evaluate/Families.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace shardc::nn {
namespace {

template <typename T>
void multiply(DotGeneralOp op, const Tensor &lhs, const Tensor &rhs, const std::vector<T> &a, const std::vector<T> &b,
              std::vector<T> &result) {
  std::vector<int64_t> lhsBatch = getOffsets(lhs.getShape(), op.getLhsBatch());
  std::vector<int64_t> rhsBatch = getOffsets(rhs.getShape(), op.getRhsBatch());
  std::vector<int64_t> lhsFree = getOffsets(lhs.getShape(), op.getLhsFree());
  std::vector<int64_t> rhsFree = getOffsets(rhs.getShape(), op.getRhsFree());
  std::vector<int64_t> lhsContract = getOffsets(lhs.getShape(), op.getLhsContract());
  std::vector<int64_t> rhsContract = getOffsets(rhs.getShape(), op.getRhsContract());
  size_t number = 0;
  for (size_t batch = 0; batch < lhsBatch.size(); ++batch)
    for (int64_t row : lhsFree)
      for (int64_t column : rhsFree) {
        T sum = 0;
        for (size_t k = 0; k < lhsContract.size(); ++k)
          sum += a[lhsBatch[batch] + row + lhsContract[k]] * b[rhsBatch[batch] + column + rhsContract[k]];
        result[number++] = sum;
      }
}

template <typename T> T getNeutral(ReduceKind kind) {
  using Limits = std::numeric_limits<T>;
  switch (kind) {
  case ReduceKind::Sum:
    return 0;
  case ReduceKind::Max:
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  case ReduceKind::Min:
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  case ReduceKind::Prod:
    return 1;
  }
  llvm_unreachable("all kinds are above");
}

template <typename T> T combine(ReduceKind kind, T a, T b) {
  switch (kind) {
  case ReduceKind::Sum:
    return a + b;
  case ReduceKind::Max:
    return b != b || b > a ? b : a; // NaN wins
  case ReduceKind::Min:
    return b != b || b < a ? b : a;
  case ReduceKind::Prod:
    return a * b;
  }
  llvm_unreachable("all kinds are above");
}

template <typename T>
void reduce(ReduceOp op, const Tensor &input, const std::vector<T> &from, std::vector<T> &result) {
  SmallVector<int64_t> kept;
  for (int64_t dim : getIotaDims(input.getShape().size()))
    if (!llvm::is_contained(op.getDims(), dim))
      kept.push_back(dim);
  std::vector<int64_t> inner = getOffsets(input.getShape(), op.getDims());
  for (auto [number, outer] : llvm::enumerate(getOffsets(input.getShape(), kept))) {
    T sum = getNeutral<T>(op.getKind());
    for (int64_t offset : inner)
      sum = combine(op.getKind(), sum, from[outer + offset]);
    result[number] = sum;
  }
}

} // namespace

bool evaluateContraction(const Evaluation &evaluation) {
  auto op = dyn_cast<DotGeneralOp>(evaluation.op);
  if (!op)
    return false;
  const Tensor &lhs = *evaluation.operands[0], &rhs = *evaluation.operands[1];
  Tensor &result = evaluation.results[0];
  if (result.isFloat())
    multiply(op, lhs, rhs, lhs.floats, rhs.floats, result.floats);
  else
    multiply(op, lhs, rhs, lhs.integers, rhs.integers, result.integers);
  return true;
}

bool evaluateReduction(const Evaluation &evaluation) {
  if (auto op = dyn_cast<ReduceOp>(evaluation.op)) {
    const Tensor &input = *evaluation.operands[0];
    Tensor &result = evaluation.results[0];
    if (input.isFloat())
      reduce(op, input, input.floats, result.floats);
    else
      reduce(op, input, input.integers, result.integers);
    return true;
  }
  if (auto op = dyn_cast<BlockSumSquaresOp>(evaluation.op)) {
    for (auto [index, element] : llvm::enumerate(evaluation.operands[0]->floats))
      evaluation.results[0].floats[index / op.getBlock()] += element * element;
    return true;
  }
  return false;
}

} // namespace shardc::nn
