//===-- ElementwisePrimitives.cpp - elementwise ops on operands, computed where they are known --------------------===//

#include "Folding.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::importer;
using onnx::TensorProto;

namespace {

bool hasZero(const Constant &constant) {
  for (int64_t i = 0; i < constant.getNumElements(); ++i)
    if (constant.getInt(i) == 0)
      return true;
  return false;
}

} // namespace

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
