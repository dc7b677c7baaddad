//===-- Builders.cpp - writes tensor mathematics ------------------------------------------------------------------===//

#include "dialects/nn/Builders.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace shardc::nn {

RankedTensorType getTensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

TypedAttr getScalarAttr(Type elementType, double value) {
  if (isa<FloatType>(elementType))
    return FloatAttr::get(elementType, value);
  return IntegerAttr::get(elementType, static_cast<int64_t>(value));
}

SmallVector<int64_t> getIotaDims(int64_t count) { return llvm::to_vector(llvm::seq<int64_t>(0, count)); }

SmallVector<int64_t> invertPermutation(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> inverse(permutation.size());
  for (auto [to, from] : llvm::enumerate(permutation))
    inverse[from] = to;
  return inverse;
}

Value TensorBuilder::splat(Type type, double number) {
  auto tensor = cast<RankedTensorType>(type);
  auto elements = DenseElementsAttr::get(tensor, getScalarAttr(tensor.getElementType(), number));
  return ConstantOp::create(builder, loc, tensor, elements);
}

Value TensorBuilder::compare(CompareDirection direction, Value a, Value b) {
  return CompareOp::create(builder, loc, direction, a, b);
}

Value TensorBuilder::compare(CompareDirection direction, Value a, double number) {
  return compare(direction, a, splatLike(a, number));
}

Value TensorBuilder::select(Value predicate, Value onTrue, Value onFalse) {
  return SelectOp::create(builder, loc, onTrue.getType(), predicate, onTrue, onFalse);
}

Value TensorBuilder::convert(Value x, Type elementType) {
  auto type = getTensorType(x);
  if (type.getElementType() == elementType)
    return x;
  return ConvertOp::create(builder, loc, type.clone(elementType), x);
}

Value TensorBuilder::broadcast(Value x, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  auto type = getTensorType(x);
  if (type.getShape() == shape)
    return x;
  return BroadcastInDimOp::create(builder, loc, RankedTensorType::get(shape, type.getElementType()), x, dims);
}

Value TensorBuilder::reduce(ReduceKind kind, Value x, ArrayRef<int64_t> dims) {
  return dims.empty() ? x : Value(ReduceOp::create(builder, loc, kind, x, dims));
}

Value TensorBuilder::reshape(Value x, ArrayRef<int64_t> shape) {
  auto type = getTensorType(x);
  if (type.getShape() == shape)
    return x;
  return ReshapeOp::create(builder, loc, RankedTensorType::get(shape, type.getElementType()), x);
}

Value TensorBuilder::transpose(Value x, ArrayRef<int64_t> permutation) {
  if (ArrayRef<int64_t>(getIotaDims(permutation.size())) == permutation)
    return x;
  return TransposeOp::create(builder, loc, x, permutation);
}

Value TensorBuilder::slice(Value x, ArrayRef<int64_t> starts, ArrayRef<int64_t> limits, ArrayRef<int64_t> strides) {
  return SliceOp::create(builder, loc, x, starts, limits, strides);
}

Value TensorBuilder::pad(Value x, ArrayRef<int64_t> low, ArrayRef<int64_t> high, ArrayRef<int64_t> interior) {
  TypedAttr zero = getScalarAttr(getTensorType(x).getElementType(), 0);
  return PadOp::create(builder, loc, x, low, high, interior, zero);
}

Value TensorBuilder::iota(ArrayRef<int64_t> shape, Type elementType, int64_t dimension) {
  return IotaOp::create(builder, loc, RankedTensorType::get(shape, elementType), dimension);
}

Value TensorBuilder::dot(Value lhs, Value rhs, ArrayRef<int64_t> lhsBatch, ArrayRef<int64_t> rhsBatch,
                         ArrayRef<int64_t> lhsContract, ArrayRef<int64_t> rhsContract) {
  return DotGeneralOp::create(builder, loc, lhs, rhs, lhsBatch, rhsBatch, lhsContract, rhsContract);
}

} // namespace shardc::nn
