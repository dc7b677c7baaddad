//===-- Primitives.cpp - nn ops on operands, computed where the operands are known --------------------------------===//

#include "NodeBuilder.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace shardc;
using namespace shardc::importer;
using onnx::TensorProto;

namespace {

/// No folded tensor is larger than this; what would be becomes ops.
constexpr int64_t kMaxFoldedElements = int64_t(1) << 22;

/// Walks the elements of `shape` in row-major order with an offset for each of several strides.
template <size_t N, typename Body>
void forEachElement(ArrayRef<int64_t> shape, const std::array<Shape, N> &strides, Body body) {
  int64_t count = countElements(shape).value_or(0);
  Shape index(shape.size(), 0);
  std::array<int64_t, N> offsets{};
  for (int64_t i = 0; i < count; ++i) {
    body(i, offsets);
    for (int64_t dim = static_cast<int64_t>(shape.size()) - 1; dim >= 0; --dim) {
      for (size_t n = 0; n < N; ++n)
        offsets[n] += strides[n][dim];
      if (++index[dim] < shape[dim])
        break;
      for (size_t n = 0; n < N; ++n)
        offsets[n] -= strides[n][dim] * shape[dim];
      index[dim] = 0;
    }
  }
}

Shape getStrides(ArrayRef<int64_t> shape) { return getBroadcastStrides(shape, shape); }

double evaluateUnary(UnaryKind kind, double x) {
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

double evaluateFloat(BinaryKind kind, double a, double b) {
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

int64_t powInt(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (; exponent; exponent >>= 1, factor *= factor)
    if (exponent & 1)
      result *= factor;
  return static_cast<int64_t>(result);
}

/// Two's complement throughout; a division by zero cannot be folded and is excluded by the caller.
int64_t evaluateInt(BinaryKind kind, int64_t a, int64_t b) {
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

template <typename T> bool evaluateCompare(nn::CompareDirection direction, T a, T b) {
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

bool hasZero(const Constant &constant) {
  for (int64_t i = 0; i < constant.getNumElements(); ++i)
    if (constant.getInt(i) == 0)
      return true;
  return false;
}

int64_t saturateToInt(double value, int32_t type) {
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

/// Whether two elements are the same bits (a NaN equals itself).
bool areSame(const Constant &constant, int64_t a, int64_t b) {
  if (!constant.isFloat())
    return constant.ints[a] == constant.ints[b];
  return llvm::bit_cast<uint64_t>(constant.floats[a]) == llvm::bit_cast<uint64_t>(constant.floats[b]);
}

bool isSplat(const Constant &constant) {
  for (int64_t i = 1; i < constant.getNumElements(); ++i)
    if (!areSame(constant, i, 0))
      return false;
  return constant.getNumElements() > 0;
}

/// A matrix of two values: element (i, j) has the value of `below` where j − i ≤ diagonal, of `above` elsewhere
/// (indices of elements that have them). Leading dimensions are 1.
struct Band {
  int64_t diagonal, below, above;
};

std::optional<Band> matchBand(const Constant &constant) {
  size_t rank = constant.shape.size();
  if (rank < 2)
    return std::nullopt;
  int64_t rows = constant.shape[rank - 2], columns = constant.shape[rank - 1];
  if (rows < 2 || columns < 2 || constant.getNumElements() != rows * columns)
    return std::nullopt;
  // The last element of the first column that equals its first tells nothing; the first row or column has the change.
  int64_t below = (rows - 1) * columns, above = columns - 1;
  if (areSame(constant, below, above))
    return std::nullopt;
  int64_t diagonal = -rows;
  while (diagonal + 1 < columns) {
    int64_t next = diagonal + 1, i = next < 0 ? -next : 0, j = next < 0 ? 0 : next;
    if (!areSame(constant, i * columns + j, below))
      break;
    diagonal = next;
  }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (!areSame(constant, i * columns + j, j - i <= diagonal ? below : above))
        return std::nullopt;
  return Band{diagonal, below, above};
}

} // namespace

bool NodeBuilder::mayFold(int64_t elements) {
  if (elements > kMaxFoldedElements || elements > state.foldBudget)
    return false;
  state.foldBudget -= elements;
  return true;
}

RankedTensorType NodeBuilder::getTensorType(ArrayRef<int64_t> shape, int32_t type) const {
  return RankedTensorType::get(shape, getElementType(state.diagnostics.getContext(), type));
}

Operand NodeBuilder::makeScalar(int32_t type, double value) {
  Constant constant = Constant::make(type, {});
  if (constant.isFloat())
    constant.setFloat(0, value);
  else
    constant.setInt(0, static_cast<int64_t>(value));
  return constant;
}

Value NodeBuilder::materialize(const Operand &operand) {
  if (!operand.isConstant())
    return operand.getValue();
  const Constant &constant = operand.getConstant();
  auto getElement = [&](int64_t index) {
    Constant scalar = Constant::make(constant.type, {});
    scalar.setFrom(0, constant, index);
    return create<nn::ConstantOp>(scalar.getAttr(state.diagnostics.getContext()));
  };
  auto spread = [&](Value scalar) {
    return constant.shape.empty() ? scalar
                                  : create<nn::BroadcastInDimOp>(getTensorType(constant.shape, constant.type), scalar,
                                                                 ArrayRef<int64_t>());
  };
  if (isSplat(constant))
    return spread(getElement(0));
  std::optional<Band> band = matchBand(constant);
  if (!band)
    return create<nn::ConstantOp>(constant.getAttr(state.diagnostics.getContext()));
  auto indexType = getTensorType(constant.shape, TensorProto::INT64);
  int64_t rank = static_cast<int64_t>(constant.shape.size());
  Value row = create<nn::IotaOp>(indexType, rank - 2), column = create<nn::IotaOp>(indexType, rank - 1);
  if (band->diagonal != 0)
    row = materialize(binary(BinaryKind::Add, row, static_cast<double>(band->diagonal)));
  if (constant.type == TensorProto::BOOL)
    return create<nn::CompareOp>(constant.ints[band->below] ? nn::CompareDirection::LE : nn::CompareDirection::GT,
                                 column, row);
  Value isBelow = create<nn::CompareOp>(nn::CompareDirection::LE, column, row);
  Value below = spread(getElement(band->below)), above = spread(getElement(band->above));
  return create<nn::SelectOp>(isBelow, below, above);
}

Operand NodeBuilder::unary(UnaryKind kind, const Operand &input) {
  bool isRounding = kind == UnaryKind::Ceil || kind == UnaryKind::Floor || kind == UnaryKind::Round; // has no op
  if (input.isConstant() && (isRounding || mayFold(input.getNumElements()))) {
    const Constant &from = input.getConstant();
    Constant result = Constant::make(from.type, from.shape);
    for (int64_t i = 0; i < from.getNumElements(); ++i) {
      if (from.isFloat())
        result.setFloat(i, evaluateUnary(kind, from.floats[i]));
      else
        result.setInt(i, kind == UnaryKind::Neg ? evaluateInt(BinaryKind::Sub, 0, from.ints[i])
                                                : static_cast<int64_t>(evaluateUnary(kind, from.getFloat(i))));
    }
    return result;
  }
  Value value = materialize(input);
  switch (kind) {
  case UnaryKind::Neg:
    return create<nn::NegOp>(value);
  case UnaryKind::Exp:
    return create<nn::ExpOp>(value);
  case UnaryKind::Log:
    return create<nn::LogOp>(value);
  case UnaryKind::Sqrt:
    return create<nn::SqrtOp>(value);
  case UnaryKind::Tanh:
    return create<nn::TanhOp>(value);
  case UnaryKind::Erf:
    return create<nn::ErfOp>(value);
  case UnaryKind::Logistic:
    return create<nn::LogisticOp>(value);
  case UnaryKind::Sin:
    return create<nn::SinOp>(value);
  case UnaryKind::Cos:
    return create<nn::CosOp>(value);
  default:
    return {}; // known only at import
  }
}

Operand NodeBuilder::binary(BinaryKind kind, const Operand &lhs, const Operand &rhs) {
  Shape shape = *broadcastShapes(lhs.getShape(), rhs.getShape());
  bool isFloat = lhs.isFloat();
  bool foldable =
      lhs.isConstant() && rhs.isConstant() && !(kind == BinaryKind::Div && !isFloat && hasZero(rhs.getConstant()));
  if (foldable && mayFold(countElements(shape).value_or(kMaxFoldedElements + 1))) {
    const Constant &a = lhs.getConstant(), &b = rhs.getConstant();
    Constant result = Constant::make(a.type, shape);
    forEachElement<2>(shape, {getBroadcastStrides(a.shape, shape), getBroadcastStrides(b.shape, shape)},
                      [&](int64_t i, const std::array<int64_t, 2> &at) {
                        if (isFloat)
                          result.setFloat(i, evaluateFloat(kind, a.floats[at[0]], b.floats[at[1]]));
                        else
                          result.setInt(i, evaluateInt(kind, a.ints[at[0]], b.ints[at[1]]));
                      });
    return result;
  }
  Value a = materialize(broadcast(materialize(lhs), shape)), b = materialize(broadcast(materialize(rhs), shape));
  switch (kind) {
  case BinaryKind::Add:
    return create<nn::AddOp>(a, b);
  case BinaryKind::Sub:
    return create<nn::SubOp>(a, b);
  case BinaryKind::Mul:
    return create<nn::MulOp>(a, b);
  case BinaryKind::Div:
    return create<nn::DivOp>(a, b);
  case BinaryKind::Max:
    return create<nn::MaxOp>(a, b);
  case BinaryKind::Min:
    return create<nn::MinOp>(a, b);
  case BinaryKind::Pow:
    return create<nn::PowOp>(a, b);
  case BinaryKind::And:
    return create<nn::AndOp>(a, b);
  case BinaryKind::Or:
    return create<nn::OrOp>(a, b);
  case BinaryKind::Xor:
    return create<nn::XorOp>(a, b);
  }
  return {};
}

Operand NodeBuilder::compare(nn::CompareDirection direction, const Operand &lhs, const Operand &rhs) {
  Shape shape = *broadcastShapes(lhs.getShape(), rhs.getShape());
  if (lhs.isConstant() && rhs.isConstant() && mayFold(countElements(shape).value_or(kMaxFoldedElements + 1))) {
    const Constant &a = lhs.getConstant(), &b = rhs.getConstant();
    Constant result = Constant::make(TensorProto::BOOL, shape);
    forEachElement<2>(shape, {getBroadcastStrides(a.shape, shape), getBroadcastStrides(b.shape, shape)},
                      [&](int64_t i, const std::array<int64_t, 2> &at) {
                        result.ints[i] = a.isFloat() ? evaluateCompare(direction, a.floats[at[0]], b.floats[at[1]])
                                                     : evaluateCompare(direction, a.ints[at[0]], b.ints[at[1]]);
                      });
    return result;
  }
  Value a = materialize(broadcast(materialize(lhs), shape)), b = materialize(broadcast(materialize(rhs), shape));
  return create<nn::CompareOp>(direction, a, b);
}

Operand NodeBuilder::select(const Operand &predicate, const Operand &onTrue, const Operand &onFalse) {
  Shape shape = *broadcastShapes(predicate.getShape(), *broadcastShapes(onTrue.getShape(), onFalse.getShape()));
  if (predicate.isConstant() && onTrue.isConstant() && onFalse.isConstant() &&
      mayFold(countElements(shape).value_or(kMaxFoldedElements + 1))) {
    const Constant &p = predicate.getConstant(), &a = onTrue.getConstant(), &b = onFalse.getConstant();
    Constant result = Constant::make(a.type, shape);
    forEachElement<3>(
        shape,
        {getBroadcastStrides(p.shape, shape), getBroadcastStrides(a.shape, shape), getBroadcastStrides(b.shape, shape)},
        [&](int64_t i, const std::array<int64_t, 3> &at) {
          p.ints[at[0]] ? result.setFrom(i, a, at[1]) : result.setFrom(i, b, at[2]);
        });
    return result;
  }
  Value p = materialize(broadcast(materialize(predicate), shape));
  Value a = materialize(broadcast(materialize(onTrue), shape)), b = materialize(broadcast(materialize(onFalse), shape));
  return create<nn::SelectOp>(p, a, b);
}

Operand NodeBuilder::convert(const Operand &input, int32_t type) {
  if (input.getType() == type)
    return input;
  bool isForeign = !getElementType(state.diagnostics.getContext(), input.getType());
  if (input.isConstant() && (isForeign || mayFold(input.getNumElements()))) {
    const Constant &from = input.getConstant();
    Constant result = Constant::make(type, from.shape);
    for (int64_t i = 0; i < from.getNumElements(); ++i) {
      if (result.isFloat())
        result.setFloat(i, from.getFloat(i));
      else if (type == TensorProto::BOOL)
        result.ints[i] = from.isFloat() ? from.floats[i] != 0 : from.ints[i] != 0;
      else
        result.setInt(i, from.isFloat() ? saturateToInt(from.floats[i], type) : from.ints[i]);
    }
    return result;
  }
  return create<nn::ConvertOp>(getTensorType(input.getShape(), type), materialize(input));
}

Operand NodeBuilder::broadcast(const Operand &input, ArrayRef<int64_t> shape) {
  if (input.getShape() == shape)
    return input;
  if (input.isConstant() && mayFold(countElements(shape).value_or(kMaxFoldedElements + 1))) {
    const Constant &from = input.getConstant();
    Constant result = Constant::make(from.type, shape);
    forEachElement<1>(shape, {getBroadcastStrides(from.shape, shape)},
                      [&](int64_t i, const std::array<int64_t, 1> &at) { result.setFrom(i, from, at[0]); });
    return result;
  }
  Shape dims;
  for (int64_t i = 0; i < input.getRank(); ++i)
    dims.push_back(static_cast<int64_t>(shape.size()) - input.getRank() + i);
  return create<nn::BroadcastInDimOp>(getTensorType(shape, input.getType()), materialize(input), dims);
}

Operand NodeBuilder::reshape(const Operand &input, ArrayRef<int64_t> shape) {
  if (input.getShape() == shape)
    return input;
  if (!input.isConstant())
    return create<nn::ReshapeOp>(getTensorType(shape, input.getType()), input.getValue());
  Constant result = input.getConstant();
  result.shape.assign(shape.begin(), shape.end());
  return result;
}

Operand NodeBuilder::transpose(const Operand &input, ArrayRef<int64_t> permutation) {
  if (llvm::is_sorted(permutation))
    return input;
  if (!input.isConstant())
    return create<nn::TransposeOp>(input.getValue(), permutation);
  const Constant &from = input.getConstant();
  Shape shape, strides, original = getStrides(from.shape);
  for (int64_t dim : permutation) {
    shape.push_back(from.shape[dim]);
    strides.push_back(original[dim]);
  }
  Constant result = Constant::make(from.type, shape);
  forEachElement<1>(shape, {strides},
                    [&](int64_t i, const std::array<int64_t, 1> &at) { result.setFrom(i, from, at[0]); });
  return result;
}

Operand NodeBuilder::slice(const Operand &input, ArrayRef<int64_t> starts, ArrayRef<int64_t> limits,
                           ArrayRef<int64_t> strides) {
  bool isWhole = true;
  for (auto [start, limit, stride, size] : llvm::zip(starts, limits, strides, input.getShape()))
    isWhole &= start == 0 && limit == size && stride == 1;
  if (isWhole)
    return input;
  if (!input.isConstant())
    return create<nn::SliceOp>(input.getValue(), starts, limits, strides);
  const Constant &from = input.getConstant();
  Shape shape, steps, original = getStrides(from.shape);
  int64_t first = 0;
  for (size_t i = 0; i < from.shape.size(); ++i) {
    shape.push_back((limits[i] - starts[i] + strides[i] - 1) / strides[i]);
    steps.push_back(original[i] * strides[i]);
    first += original[i] * starts[i];
  }
  Constant result = Constant::make(from.type, shape);
  forEachElement<1>(shape, {steps},
                    [&](int64_t i, const std::array<int64_t, 1> &at) { result.setFrom(i, from, first + at[0]); });
  return result;
}

Operand NodeBuilder::concat(ArrayRef<Operand> inputs, int64_t dimension) {
  if (inputs.size() == 1)
    return inputs[0];
  Shape shape(inputs[0].getShape());
  shape[dimension] = 0;
  bool isConstant = true;
  for (const Operand &input : inputs) {
    shape[dimension] += input.getShape()[dimension];
    isConstant &= input.isConstant();
  }
  if (!isConstant || !mayFold(countElements(shape).value_or(kMaxFoldedElements + 1))) {
    SmallVector<Value> values;
    for (const Operand &input : inputs)
      values.push_back(materialize(input));
    return create<nn::ConcatOp>(values, dimension);
  }
  Constant result = Constant::make(inputs[0].getType(), shape);
  Shape strides = getStrides(shape);
  int64_t begin = 0;
  for (const Operand &input : inputs) {
    forEachElement<1>(input.getShape(), {strides}, [&](int64_t i, const std::array<int64_t, 1> &at) {
      result.setFrom(begin + at[0], input.getConstant(), i);
    });
    begin += input.getShape()[dimension] * strides[dimension];
  }
  return result;
}

Operand NodeBuilder::pad(const Operand &input, ArrayRef<int64_t> low, ArrayRef<int64_t> high, double value) {
  Shape interior(low.size(), 0);
  Type element = getElementType(state.diagnostics.getContext(), input.getType());
  TypedAttr attr = input.isFloat() ? TypedAttr(FloatAttr::get(element, value))
                                   : TypedAttr(IntegerAttr::get(element, static_cast<int64_t>(value)));
  return create<nn::PadOp>(materialize(input), low, high, interior, attr);
}

Operand NodeBuilder::gather(const Operand &input, const Operand &indices, int64_t axis) {
  Shape shape(input.getShape().take_front(axis));
  llvm::append_range(shape, indices.getShape());
  llvm::append_range(shape, input.getShape().drop_front(axis + 1));
  if (!input.isConstant() || !indices.isConstant() || !mayFold(countElements(shape).value_or(kMaxFoldedElements + 1))) {
    Value table = materialize(input), rows = materialize(indices);
    return create<nn::GatherOp>(table, rows, axis);
  }
  const Constant &from = input.getConstant();
  Constant result = Constant::make(from.type, shape);
  int64_t inner = countElements(ArrayRef<int64_t>(from.shape).drop_front(axis + 1)).value_or(0);
  int64_t outer = countElements(ArrayRef<int64_t>(from.shape).take_front(axis)).value_or(0);
  int64_t count = indices.getNumElements(), at = 0;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t k = 0; k < count; ++k)
      for (int64_t i = 0; i < inner; ++i)
        result.setFrom(at++, from, (o * from.shape[axis] + indices.getConstant().getInt(k)) * inner + i);
  return result;
}

Operand NodeBuilder::reduce(nn::ReduceKind kind, const Operand &input, ArrayRef<int64_t> dims) {
  if (dims.empty())
    return input;
  if (!input.isConstant() || !mayFold(input.getNumElements()))
    return create<nn::ReduceOp>(kind, materialize(input), dims);
  const Constant &from = input.getConstant();
  Shape kept, strides;
  for (int64_t dim = 0; dim < input.getRank(); ++dim)
    if (!llvm::is_contained(dims, dim))
      kept.push_back(from.shape[dim]);
  Constant result = Constant::make(from.type, kept);
  Shape keptStrides = getStrides(kept);
  for (int64_t dim = 0, next = 0; dim < input.getRank(); ++dim)
    strides.push_back(llvm::is_contained(dims, dim) ? 0 : keptStrides[next++]);
  BinaryKind combine = kind == nn::ReduceKind::Sum   ? BinaryKind::Add
                       : kind == nn::ReduceKind::Max ? BinaryKind::Max
                       : kind == nn::ReduceKind::Min ? BinaryKind::Min
                                                     : BinaryKind::Mul;
  std::vector<bool> started(static_cast<size_t>(result.getNumElements()), false);
  forEachElement<1>(from.shape, {strides}, [&](int64_t i, const std::array<int64_t, 1> &at) {
    int64_t to = at[0];
    if (!started[to])
      result.setFrom(to, from, i);
    else if (from.isFloat())
      result.setFloat(to, evaluateFloat(combine, result.floats[to], from.floats[i]));
    else
      result.setInt(to, evaluateInt(combine, result.ints[to], from.ints[i]));
    started[to] = true;
  });
  return result;
}

Operand NodeBuilder::iota(ArrayRef<int64_t> shape, int64_t dimension, int32_t type) {
  if (mayFold(countElements(shape).value_or(kMaxFoldedElements + 1))) {
    Constant result = Constant::make(type, shape);
    Shape strides(shape.size(), 0);
    strides[dimension] = 1;
    forEachElement<1>(shape, {strides}, [&](int64_t i, const std::array<int64_t, 1> &at) {
      result.isFloat() ? result.setFloat(i, static_cast<double>(at[0])) : result.setInt(i, at[0]);
    });
    return result;
  }
  Value index = create<nn::IotaOp>(getTensorType(shape, TensorProto::INT64), dimension);
  return convert(index, type);
}

Value NodeBuilder::dot(Value lhs, Value rhs, ArrayRef<int64_t> lhsBatch, ArrayRef<int64_t> rhsBatch,
                       ArrayRef<int64_t> lhsContract, ArrayRef<int64_t> rhsContract) {
  return create<nn::DotGeneralOp>(lhs, rhs, lhsBatch, rhsBatch, lhsContract, rhsContract);
}
