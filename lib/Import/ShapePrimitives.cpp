//===-- ShapePrimitives.cpp - ops that move elements, computed where they are known -------------------------------===//

#include "Folding.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::importer;

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
