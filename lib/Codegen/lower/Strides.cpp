//===-- Strides.cpp - views as strided memrefs --------------------------------------------------------------------===//

#include "Strides.h"

#include "dialects/nn/Builders.h"

using namespace mlir;
using namespace shardc;

namespace {

struct Layout {
  int64_t offset;
  SmallVector<int64_t> strides;
};

Layout getLayout(MemRefType view) {
  auto [strides, offset] = view.getStridesAndOffset();
  return {offset, strides};
}

SmallVector<int64_t> getDenseStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * shape[dim + 1];
  return strides;
}

} // namespace

MemRefType shardc::codegen::getViewType(ArrayRef<int64_t> shape, Type elementType, int64_t offset,
                                        ArrayRef<int64_t> strides) {
  SmallVector<int64_t> canonical(strides);
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 1; dim >= 0; --dim)
    if (shape[dim] == 1)
      canonical[dim] = dim + 1 < static_cast<int64_t>(shape.size()) ? canonical[dim + 1] * shape[dim + 1] : 1;
  if (offset == 0 && canonical == getDenseStrides(shape))
    return MemRefType::get(shape, elementType);
  return MemRefType::get(shape, elementType, StridedLayoutAttr::get(elementType.getContext(), offset, canonical));
}

MemRefType shardc::codegen::getDenseType(RankedTensorType type) {
  return MemRefType::get(type.getShape(), type.getElementType());
}

MemRefType shardc::codegen::dropOffset(MemRefType view) {
  return getViewType(view.getShape(), view.getElementType(), 0, getLayout(view).strides);
}

bool shardc::codegen::isDense(MemRefType view) { return dropOffset(view).getLayout().isIdentity(); }

MemRefType shardc::codegen::transposeView(MemRefType view, ArrayRef<int64_t> permutation) {
  Layout layout = getLayout(view);
  SmallVector<int64_t> shape, strides;
  for (int64_t dim : permutation) {
    shape.push_back(view.getDimSize(dim));
    strides.push_back(layout.strides[dim]);
  }
  return getViewType(shape, view.getElementType(), layout.offset, strides);
}

MemRefType shardc::codegen::sliceView(MemRefType view, ArrayRef<int64_t> starts, ArrayRef<int64_t> sizes,
                                      ArrayRef<int64_t> steps) {
  Layout layout = getLayout(view);
  for (auto [dim, start] : llvm::enumerate(starts)) {
    layout.offset += start * layout.strides[dim];
    layout.strides[dim] *= steps[dim];
  }
  return getViewType(sizes, view.getElementType(), layout.offset, layout.strides);
}

/// Walks old and new dimensions from the outermost on, in runs of equal product; within a run the old dimensions must
/// be collapsible into one, which the new dimensions then split.
MemRefType shardc::codegen::reshapeView(MemRefType view, ArrayRef<int64_t> shape) {
  if (view.getNumElements() == 0)
    return MemRefType::get(shape, view.getElementType());
  Layout layout = getLayout(view);
  SmallVector<int64_t> fromShape, fromStrides;
  for (auto [size, stride] : llvm::zip(view.getShape(), layout.strides)) {
    if (size == 1)
      continue;
    fromShape.push_back(size);
    fromStrides.push_back(stride);
  }
  SmallVector<int64_t> strides(shape.size(), 1);
  size_t from = 0, to = 0;
  while (from < fromShape.size()) {
    size_t fromEnd = from + 1, toEnd = to;
    int64_t fromProduct = fromShape[from], toProduct = 1;
    while (toProduct != fromProduct) {
      if (toProduct < fromProduct)
        toProduct *= shape[toEnd++];
      else
        fromProduct *= fromShape[fromEnd++];
    }
    for (size_t dim = from; dim + 1 < fromEnd; ++dim)
      if (fromStrides[dim] != fromStrides[dim + 1] * fromShape[dim + 1])
        return {};
    int64_t stride = fromStrides[fromEnd - 1];
    for (size_t dim = toEnd; dim-- > to;) {
      strides[dim] = stride;
      stride *= shape[dim];
    }
    from = fromEnd;
    to = toEnd;
  }
  return getViewType(shape, view.getElementType(), layout.offset, strides);
}

MemRefType shardc::codegen::applyView(Operation *op, MemRefType source) {
  if (auto transpose = dyn_cast<nn::TransposeOp>(op))
    return transposeView(source, transpose.getPermutation());
  if (auto slice = dyn_cast<nn::SliceOp>(op))
    return sliceView(source, slice.getStarts(), cast<RankedTensorType>(slice.getType()).getShape(), slice.getStrides());
  return reshapeView(source, cast<RankedTensorType>(cast<nn::ReshapeOp>(op).getType()).getShape());
}

MemRefType shardc::codegen::invertView(Operation *op, MemRefType result) {
  if (auto transpose = dyn_cast<nn::TransposeOp>(op))
    return transposeView(result, nn::invertPermutation(transpose.getPermutation()));
  if (auto reshape = dyn_cast<nn::ReshapeOp>(op))
    return reshapeView(result, nn::getTensorType(reshape.getInput()).getShape());
  return {};
}
