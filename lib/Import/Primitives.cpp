//===-- Primitives.cpp - sums, indices and products, computed where they are known --------------------------------===//

#include "Folding.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::importer;
using onnx::TensorProto;

bool NodeBuilder::mayFold(int64_t elements) {
  if (elements > kMaxFoldedElements || elements > state.foldBudget)
    return false;
  state.foldBudget -= elements;
  return true;
}

RankedTensorType NodeBuilder::getTensorType(ArrayRef<int64_t> shape, int32_t type) const {
  return RankedTensorType::get(shape, getElementType(state.diagnostics.getContext(), type));
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
