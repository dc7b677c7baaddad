//===-- Shape.cpp - evaluates ops that move elements --------------------------------------------------------------===//

#include "dialects/nn/evaluate/Families.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shardc::nn {
namespace {

int64_t getOffset(ArrayRef<int64_t> index, ArrayRef<int64_t> strides) {
  int64_t offset = 0;
  for (auto [position, stride] : llvm::zip(index, strides))
    offset += position * stride;
  return offset;
}

void evaluateIota(IotaOp op, Tensor &result) {
  forEachIndex(result.getShape(), [&](ArrayRef<int64_t> index, int64_t number) {
    int64_t position = index[op.getDimension()];
    if (result.isFloat())
      result.floats[number] = position;
    else
      result.integers[number] = position;
  });
}

void evaluateBroadcast(BroadcastInDimOp op, const Tensor &input, Tensor &result) {
  SmallVector<int64_t> strides(result.getShape().size(), 0), inputStrides = getStrides(input.getShape());
  for (auto [from, to] : llvm::enumerate(op.getDims()))
    strides[to] = input.getShape()[from] == 1 ? 0 : inputStrides[from];
  forEachIndex(result.getShape(), [&](ArrayRef<int64_t> index, int64_t number) {
    copyElement(input, getOffset(index, strides), result, number);
  });
}

void evaluateTranspose(TransposeOp op, const Tensor &input, Tensor &result) {
  SmallVector<int64_t> strides, inputStrides = getStrides(input.getShape());
  for (int64_t from : op.getPermutation())
    strides.push_back(inputStrides[from]);
  forEachIndex(result.getShape(), [&](ArrayRef<int64_t> index, int64_t number) {
    copyElement(input, getOffset(index, strides), result, number);
  });
}

void evaluateSlice(SliceOp op, const Tensor &input, Tensor &result) {
  SmallVector<int64_t> strides = getStrides(input.getShape());
  forEachIndex(result.getShape(), [&](ArrayRef<int64_t> index, int64_t number) {
    int64_t offset = 0;
    for (auto [dim, position] : llvm::enumerate(index))
      offset += (op.getStarts()[dim] + position * op.getStrides()[dim]) * strides[dim];
    copyElement(input, offset, result, number);
  });
}

void evaluatePad(PadOp op, const Tensor &input, Tensor &result) {
  result = Tensor::get(DenseElementsAttr::get(result.type, cast<Attribute>(op.getValue())));
  SmallVector<int64_t> strides = getStrides(result.getShape());
  forEachIndex(input.getShape(), [&](ArrayRef<int64_t> index, int64_t number) {
    int64_t offset = 0;
    for (auto [dim, position] : llvm::enumerate(index))
      offset += (op.getLow()[dim] + position * (op.getInterior()[dim] + 1)) * strides[dim];
    copyElement(input, number, result, offset);
  });
}

void evaluateConcat(ConcatOp op, ArrayRef<const Tensor *> inputs, Tensor &result) {
  SmallVector<int64_t> strides = getStrides(result.getShape());
  int64_t base = 0, dim = op.getDimension();
  for (const Tensor *input : inputs) {
    forEachIndex(input->getShape(), [&](ArrayRef<int64_t> index, int64_t number) {
      copyElement(*input, number, result, base + getOffset(index, strides));
    });
    base += input->getShape()[dim] * strides[dim];
  }
}

/// The place of gather's result element in its operand: the index tensor stands at `axis`. -1: out of range.
int64_t getGatheredOffset(ArrayRef<int64_t> index, int64_t axis, const Tensor &indices, ArrayRef<int64_t> shape,
                          ArrayRef<int64_t> strides) {
  size_t rank = indices.getShape().size();
  int64_t position = indices.integers[getOffset(index.slice(axis, rank), getStrides(indices.getShape()))];
  if (position < 0 || position >= shape[axis])
    return -1;
  return getOffset(index.take_front(axis), strides) + position * strides[axis] +
         getOffset(index.drop_front(axis + rank), strides.drop_front(axis + 1));
}

void evaluateGather(GatherOp op, const Tensor &input, const Tensor &indices, Tensor &result) {
  SmallVector<int64_t> strides = getStrides(input.getShape());
  forEachIndex(result.getShape(), [&](ArrayRef<int64_t> index, int64_t number) {
    int64_t offset = getGatheredOffset(index, op.getAxis(), indices, input.getShape(), strides);
    if (offset >= 0)
      copyElement(input, offset, result, number);
  });
}

void evaluateScatterAdd(ScatterAddOp op, const Tensor &indices, const Tensor &updates, Tensor &result) {
  SmallVector<int64_t> strides = getStrides(result.getShape());
  forEachIndex(updates.getShape(), [&](ArrayRef<int64_t> index, int64_t number) {
    int64_t offset = getGatheredOffset(index, op.getAxis(), indices, result.getShape(), strides);
    if (offset < 0)
      return;
    if (result.isFloat())
      result.floats[offset] += updates.floats[number];
    else
      result.integers[offset] += updates.integers[number];
  });
}

} // namespace

bool evaluateShape(const Evaluation &evaluation) {
  ArrayRef<const Tensor *> operands = evaluation.operands;
  if (evaluation.results.empty())
    return false;
  Tensor &result = evaluation.results[0];
  return llvm::TypeSwitch<Operation *, bool>(evaluation.op)
      .Case([&](ConstantOp op) { return result = Tensor::get(op.getValue()), true; })
      .Case([&](IotaOp op) { return evaluateIota(op, result), true; })
      .Case([&](BroadcastInDimOp op) { return evaluateBroadcast(op, *operands[0], result), true; })
      .Case([&](ReshapeOp /*op*/) {
        result.floats = operands[0]->floats;
        result.integers = operands[0]->integers;
        return true;
      })
      .Case([&](TransposeOp op) { return evaluateTranspose(op, *operands[0], result), true; })
      .Case([&](SliceOp op) { return evaluateSlice(op, *operands[0], result), true; })
      .Case([&](PadOp op) { return evaluatePad(op, *operands[0], result), true; })
      .Case([&](ConcatOp op) { return evaluateConcat(op, operands, result), true; })
      .Case([&](GatherOp op) { return evaluateGather(op, *operands[0], *operands[1], result), true; })
      .Case([&](ScatterAddOp op) { return evaluateScatterAdd(op, *operands[0], *operands[1], result), true; })
      .Default(false);
}

} // namespace shardc::nn
