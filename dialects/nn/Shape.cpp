//===-- Shape.cpp - types of ops that move elements ---------------------------------------------------------------===//

#include "dialects/nn/NN.h"

using namespace mlir;
using namespace shardc::nn;

namespace {

RankedTensorType getTensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Reports a number of entries that is not the rank.
LogicalResult verifyRank(Operation *op, StringRef what, size_t entries, int64_t rank) {
  if (static_cast<int64_t>(entries) == rank)
    return success();
  return op->emitOpError() << what << " has " << entries << " entries, expected " << rank;
}

bool isPermutation(ArrayRef<int64_t> dims, int64_t rank) {
  SmallVector<bool> seen(rank, false);
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= rank || seen[dim])
      return false;
    seen[dim] = true;
  }
  return static_cast<int64_t>(dims.size()) == rank;
}

} // namespace

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult IotaOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  int64_t dim = getDimension();
  if (dim < 0 || dim >= type.getRank())
    return emitOpError("dimension ") << dim << " is not in [0, " << type.getRank() << ")";
  return success();
}

LogicalResult BroadcastInDimOp::verify() {
  auto from = getTensorType(getInput()), to = cast<RankedTensorType>(getType());
  if (from.getElementType() != to.getElementType())
    return emitOpError("changes the element type from ") << from.getElementType() << " to " << to.getElementType();
  if (failed(verifyRank(*this, "dims", getDims().size(), from.getRank())))
    return failure();
  int64_t last = -1;
  for (auto [index, dim] : llvm::enumerate(getDims())) {
    if (dim <= last || dim >= to.getRank())
      return emitOpError("dims must ascend within [0, ") << to.getRank() << "), got " << dim;
    last = dim;
    int64_t size = from.getDimSize(index);
    if (size != 1 && size != to.getDimSize(dim))
      return emitOpError("dimension ") << index << " of size " << size << " does not broadcast to "
                                       << to.getDimSize(dim);
  }
  return success();
}

LogicalResult ReshapeOp::verify() {
  auto from = getTensorType(getInput()), to = cast<RankedTensorType>(getType());
  if (from.getElementType() != to.getElementType() || from.getNumElements() != to.getNumElements())
    return emitOpError("cannot turn ") << from << " into " << to;
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (auto inner = getInput().getDefiningOp<ReshapeOp>()) {
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  if (auto constant = dyn_cast_if_present<DenseElementsAttr>(adaptor.getInput()))
    return constant.reshape(cast<RankedTensorType>(getType()));
  return {};
}

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto from = getTensorType(adaptor.getInput());
  if (!isPermutation(adaptor.getPermutation(), from.getRank()))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t dim : adaptor.getPermutation())
    shape.push_back(from.getDimSize(dim));
  types.push_back(RankedTensorType::get(shape, from.getElementType()));
  return success();
}

LogicalResult TransposeOp::verify() {
  if (!isPermutation(getPermutation(), getTensorType(getInput()).getRank()))
    return emitOpError("perm is not a permutation of the dimensions of ") << getInput().getType();
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  bool identity = true;
  for (auto [index, dim] : llvm::enumerate(getPermutation()))
    identity &= static_cast<int64_t>(index) == dim;
  if (identity)
    return getInput();
  if (auto inner = getInput().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> composed;
    for (int64_t dim : getPermutation())
      composed.push_back(inner.getPermutation()[dim]);
    getInputMutable().assign(inner.getInput());
    setPermutation(composed);
    return getResult();
  }
  return {};
}

LogicalResult SliceOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  auto from = getTensorType(adaptor.getInput());
  if (adaptor.getStarts().size() != static_cast<size_t>(from.getRank()) ||
      adaptor.getLimits().size() != adaptor.getStarts().size() ||
      adaptor.getStrides().size() != adaptor.getStarts().size())
    return failure();
  SmallVector<int64_t> shape;
  for (auto [start, limit, stride] : llvm::zip(adaptor.getStarts(), adaptor.getLimits(), adaptor.getStrides())) {
    if (stride <= 0 || start < 0 || limit < start)
      return failure();
    shape.push_back((limit - start + stride - 1) / stride);
  }
  types.push_back(RankedTensorType::get(shape, from.getElementType()));
  return success();
}

LogicalResult SliceOp::verify() {
  auto from = getTensorType(getInput());
  for (auto [index, bounds] : llvm::enumerate(llvm::zip(getStarts(), getLimits(), getStrides()))) {
    auto [start, limit, stride] = bounds;
    if (limit > from.getDimSize(index))
      return emitOpError("limit ") << limit << " of dimension " << index << " exceeds its size "
                                   << from.getDimSize(index);
  }
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor) { return getInput().getType() == getType() ? getInput() : OpFoldResult(); }

LogicalResult PadOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  auto from = getTensorType(adaptor.getInput());
  size_t rank = from.getRank();
  if (adaptor.getLow().size() != rank || adaptor.getHigh().size() != rank || adaptor.getInterior().size() != rank)
    return failure();
  SmallVector<int64_t> shape;
  for (auto [size, low, high, interior] :
       llvm::zip(from.getShape(), adaptor.getLow(), adaptor.getHigh(), adaptor.getInterior()))
    shape.push_back(low + size + std::max<int64_t>(size - 1, 0) * interior + high);
  types.push_back(RankedTensorType::get(shape, from.getElementType()));
  return success();
}

LogicalResult PadOp::verify() {
  for (ArrayRef<int64_t> amounts : {getLow(), getHigh(), getInterior()})
    if (llvm::any_of(amounts, [](int64_t amount) { return amount < 0; }))
      return emitOpError("amounts must not be negative");
  if (getValue().getType() != getTensorType(getInput()).getElementType())
    return emitOpError("value has type ")
           << getValue().getType() << ", expected " << getTensorType(getInput()).getElementType();
  return success();
}

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  if (adaptor.getInputs().empty())
    return failure();
  auto first = getTensorType(adaptor.getInputs().front());
  int64_t dim = adaptor.getDimension();
  if (dim < 0 || dim >= first.getRank())
    return failure();
  SmallVector<int64_t> shape(first.getShape());
  shape[dim] = 0;
  for (Value input : adaptor.getInputs()) {
    auto type = getTensorType(input);
    if (type.getRank() != first.getRank())
      return failure();
    shape[dim] += type.getDimSize(dim);
  }
  types.push_back(RankedTensorType::get(shape, first.getElementType()));
  return success();
}

LogicalResult ConcatOp::verify() {
  auto result = cast<RankedTensorType>(getType());
  for (Value input : getInputs()) {
    auto type = getTensorType(input);
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (dim != static_cast<int64_t>(getDimension()) && type.getDimSize(dim) != result.getDimSize(dim))
        return emitOpError("inputs differ in dimension ")
               << dim << ": " << type.getDimSize(dim) << " and " << result.getDimSize(dim);
  }
  return success();
}
