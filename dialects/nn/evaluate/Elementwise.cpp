//===-- Elementwise.cpp - evaluates elementwise ops ---------------------------------------------------------------===//

#include "dialects/nn/evaluate/Families.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace shardc::nn {
namespace {

using FloatUnary = double (*)(double);
using FloatBinary = double (*)(double, double);
using IntegerBinary = int64_t (*)(int64_t, int64_t);

/// Wraps an integer to the width of its type.
int64_t wrap(int64_t value, Type type) {
  if (type.isInteger(1))
    return value & 1;
  return type.isInteger(32) ? static_cast<int32_t>(value) : value;
}

double maxOrNaN(double a, double b) { return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b); }
double minOrNaN(double a, double b) { return std::isnan(a) || std::isnan(b) ? std::nan("") : std::min(a, b); }

FloatUnary getFloatUnary(Operation *op) {
  return llvm::TypeSwitch<Operation *, FloatUnary>(op)
      .Case<NegOp>([](auto) { return [](double x) { return -x; }; })
      .Case<ExpOp>([](auto) { return [](double x) { return std::exp(x); }; })
      .Case<LogOp>([](auto) { return [](double x) { return std::log(x); }; })
      .Case<SqrtOp>([](auto) { return [](double x) { return std::sqrt(x); }; })
      .Case<RsqrtOp>([](auto) { return [](double x) { return 1 / std::sqrt(x); }; })
      .Case<TanhOp>([](auto) { return [](double x) { return std::tanh(x); }; })
      .Case<ErfOp>([](auto) { return [](double x) { return std::erf(x); }; })
      .Case<LogisticOp>([](auto) { return [](double x) { return 1 / (1 + std::exp(-x)); }; })
      .Case<SinOp>([](auto) { return [](double x) { return std::sin(x); }; })
      .Case<CosOp>([](auto) { return [](double x) { return std::cos(x); }; })
      .Default([](Operation *) { return nullptr; });
}

FloatBinary getFloatBinary(Operation *op) {
  return llvm::TypeSwitch<Operation *, FloatBinary>(op)
      .Case<AddOp>([](auto) { return [](double a, double b) { return a + b; }; })
      .Case<SubOp>([](auto) { return [](double a, double b) { return a - b; }; })
      .Case<MulOp>([](auto) { return [](double a, double b) { return a * b; }; })
      .Case<DivOp>([](auto) { return [](double a, double b) { return a / b; }; })
      .Case<MaxOp>([](auto) { return maxOrNaN; })
      .Case<MinOp>([](auto) { return minOrNaN; })
      .Case<PowOp>([](auto) { return [](double a, double b) { return std::pow(a, b); }; })
      .Default([](Operation *) { return nullptr; });
}

/// Division by zero gives 0, as does what would overflow: tests must not end in a trap.
int64_t divide(int64_t a, int64_t b) { return b == 0 || b == -1 ? (b == 0 ? 0 : -a) : a / b; }

int64_t power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (int64_t i = 0; i < exponent; ++i)
    result *= base;
  return exponent < 0 ? 0 : result;
}

IntegerBinary getIntegerBinary(Operation *op) {
  return llvm::TypeSwitch<Operation *, IntegerBinary>(op)
      .Case<AddOp>([](auto) { return [](int64_t a, int64_t b) { return a + b; }; })
      .Case<SubOp>([](auto) { return [](int64_t a, int64_t b) { return a - b; }; })
      .Case<MulOp>([](auto) { return [](int64_t a, int64_t b) { return a * b; }; })
      .Case<DivOp>([](auto) { return divide; })
      .Case<MaxOp>([](auto) { return [](int64_t a, int64_t b) { return std::max(a, b); }; })
      .Case<MinOp>([](auto) { return [](int64_t a, int64_t b) { return std::min(a, b); }; })
      .Case<PowOp>([](auto) { return power; })
      .Case<AndOp>([](auto) { return [](int64_t a, int64_t b) { return a & b; }; })
      .Case<OrOp>([](auto) { return [](int64_t a, int64_t b) { return a | b; }; })
      .Case<XorOp>([](auto) { return [](int64_t a, int64_t b) { return a ^ b; }; })
      .Default([](Operation *) { return nullptr; });
}

template <typename T> bool holds(CompareDirection direction, T a, T b) {
  switch (direction) {
  case CompareDirection::EQ:
    return a == b;
  case CompareDirection::NE:
    return a != b;
  case CompareDirection::LT:
    return a < b;
  case CompareDirection::LE:
    return a <= b;
  case CompareDirection::GT:
    return a > b;
  case CompareDirection::GE:
    return a >= b;
  }
  llvm_unreachable("all directions are above");
}

void evaluateCompare(CompareOp op, const Tensor &lhs, const Tensor &rhs, Tensor &result) {
  for (auto [index, element] : llvm::enumerate(result.integers))
    element = lhs.isFloat() ? holds(op.getDirection(), lhs.floats[index], rhs.floats[index])
                            : holds(op.getDirection(), lhs.integers[index], rhs.integers[index]);
}

/// Rounds towards zero and saturates at the ends of i32 or i64; NaN is 0.
int64_t convertToInteger(double value, Type type) {
  if (type.isInteger(1))
    return value != 0;
  if (std::isnan(value))
    return 0;
  int64_t low = type.isInteger(32) ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int64_t>::min();
  int64_t high = type.isInteger(32) ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int64_t>::max();
  if (value <= static_cast<double>(low))
    return low;
  return value >= static_cast<double>(high) ? high : static_cast<int64_t>(value);
}

void evaluateConvert(const Tensor &from, Tensor &to) {
  Type type = to.type.getElementType();
  bool saturates = type.isInteger(32);
  for (int64_t i = 0, e = to.getNumElements(); i < e; ++i) {
    if (to.isFloat())
      to.floats[i] = from.isFloat() ? from.floats[i] : static_cast<double>(from.integers[i]);
    else if (from.isFloat())
      to.integers[i] = convertToInteger(from.floats[i], type);
    else if (saturates)
      to.integers[i] = std::clamp<int64_t>(from.integers[i], INT32_MIN, INT32_MAX);
    else
      to.integers[i] = type.isInteger(1) ? from.integers[i] != 0 : from.integers[i];
  }
}

void evaluateBinary(Operation *op, const Tensor &lhs, const Tensor &rhs, Tensor &result) {
  if (FloatBinary function = result.isFloat() ? getFloatBinary(op) : nullptr)
    for (auto [index, element] : llvm::enumerate(result.floats))
      element = function(lhs.floats[index], rhs.floats[index]);
  if (IntegerBinary function = result.isFloat() ? nullptr : getIntegerBinary(op))
    for (auto [index, element] : llvm::enumerate(result.integers))
      element = wrap(function(lhs.integers[index], rhs.integers[index]), result.type.getElementType());
}

void evaluateUnary(Operation *op, const Tensor &input, Tensor &result) {
  FloatUnary function = getFloatUnary(op);
  for (auto [element, from] : llvm::zip(result.floats, input.floats))
    element = function(from);
  // Of the unary ops only the negation makes sense for integers.
  for (auto [element, from] : llvm::zip(result.integers, input.integers))
    element = wrap(-from, result.type.getElementType());
}

} // namespace

bool evaluateElementwise(const Evaluation &evaluation) {
  Operation *op = evaluation.op;
  ArrayRef<const Tensor *> operands = evaluation.operands;
  if (evaluation.results.empty())
    return false;
  Tensor &result = evaluation.results[0];
  if (getFloatUnary(op)) {
    evaluateUnary(op, *operands[0], result);
  } else if (getFloatBinary(op) || getIntegerBinary(op)) {
    evaluateBinary(op, *operands[0], *operands[1], result);
  } else if (auto compare = dyn_cast<CompareOp>(op)) {
    evaluateCompare(compare, *operands[0], *operands[1], result);
  } else if (isa<ConvertOp>(op)) {
    evaluateConvert(*operands[0], result);
  } else if (isa<SelectOp>(op)) {
    for (auto [index, predicate] : llvm::enumerate(operands[0]->integers))
      copyElement(predicate ? *operands[1] : *operands[2], index, result, index);
  } else {
    return false;
  }
  return true;
}

} // namespace shardc::nn
