//===-- Folding.cpp - one element of each op ----------------------------------------------------------------------===//

#include "Folding.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace shardc;
using namespace shardc::importer;
using onnx::TensorProto;

namespace {

int64_t powInt(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (; exponent; exponent >>= 1, factor *= factor)
    if (exponent & 1)
      result *= factor;
  return static_cast<int64_t>(result);
}

template <typename T> bool compareElements(nn::CompareDirection direction, T a, T b) {
  switch (direction) {
  case nn::CompareDirection::EQ:
    return a == b;
  case nn::CompareDirection::NE:
    return a != b;
  case nn::CompareDirection::LT:
    return a < b;
  case nn::CompareDirection::LE:
    return a <= b;
  case nn::CompareDirection::GT:
    return a > b;
  case nn::CompareDirection::GE:
    return a >= b;
  }
  return false;
}

} // namespace

double shardc::importer::evaluateUnary(UnaryKind kind, double x) {
  switch (kind) {
  case UnaryKind::Neg:
    return -x;
  case UnaryKind::Exp:
    return std::exp(x);
  case UnaryKind::Log:
    return std::log(x);
  case UnaryKind::Sqrt:
    return std::sqrt(x);
  case UnaryKind::Tanh:
    return std::tanh(x);
  case UnaryKind::Erf:
    return std::erf(x);
  case UnaryKind::Logistic:
    return 1 / (1 + std::exp(-x));
  case UnaryKind::Sin:
    return std::sin(x);
  case UnaryKind::Cos:
    return std::cos(x);
  case UnaryKind::Ceil:
    return std::ceil(x);
  case UnaryKind::Floor:
    return std::floor(x);
  case UnaryKind::Round:
    return std::nearbyint(x);
  }
  return x;
}

double shardc::importer::evaluateFloat(BinaryKind kind, double a, double b) {
  switch (kind) {
  case BinaryKind::Add:
    return a + b;
  case BinaryKind::Sub:
    return a - b;
  case BinaryKind::Mul:
    return a * b;
  case BinaryKind::Div:
    return a / b;
  case BinaryKind::Max:
    return std::isnan(a) || a > b ? a : b;
  case BinaryKind::Min:
    return std::isnan(a) || a < b ? a : b;
  case BinaryKind::Pow:
    return std::pow(a, b);
  default:
    return 0;
  }
}

/// Two's complement throughout; a division by zero cannot be folded and is excluded by the caller.
int64_t shardc::importer::evaluateInt(BinaryKind kind, int64_t a, int64_t b) {
  auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (kind) {
  case BinaryKind::Add:
    return static_cast<int64_t>(ua + ub);
  case BinaryKind::Sub:
    return static_cast<int64_t>(ua - ub);
  case BinaryKind::Mul:
    return static_cast<int64_t>(ua * ub);
  case BinaryKind::Div:
    return b == -1 ? static_cast<int64_t>(0 - ua) : a / b;
  case BinaryKind::Max:
    return std::max(a, b);
  case BinaryKind::Min:
    return std::min(a, b);
  case BinaryKind::Pow:
    return powInt(a, b);
  case BinaryKind::And:
    return a & b;
  case BinaryKind::Or:
    return a | b;
  case BinaryKind::Xor:
    return a ^ b;
  }
  return 0;
}

bool shardc::importer::evaluateCompare(nn::CompareDirection direction, double a, double b) {
  return compareElements(direction, a, b);
}

bool shardc::importer::evaluateCompare(nn::CompareDirection direction, int64_t a, int64_t b) {
  return compareElements(direction, a, b);
}

int64_t shardc::importer::saturateToInt(double value, int32_t type) {
  if (std::isnan(value))
    return 0;
  double low = type == TensorProto::INT32 ? -2147483648.0 : -9223372036854775808.0;
  double high = type == TensorProto::INT32 ? 2147483647.0 : 9223372036854775807.0;
  if (value <= low)
    return type == TensorProto::INT32 ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int64_t>::min();
  if (value >= high)
    return type == TensorProto::INT32 ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(value);
}
