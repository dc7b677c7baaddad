//===-- Compute.cpp - types of ops that compute: contraction, reduction, indexing, norms, loss, random ------------===//

#include "dialects/nn/NN.h"

using namespace mlir;
using namespace shardc::nn;

namespace {

RankedTensorType getTensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

SmallVector<int64_t> getFreeDims(int64_t rank, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
  SmallVector<int64_t> free;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contract, dim))
      free.push_back(dim);
  return free;
}

/// Checks that `dims` are distinct and within the rank.
bool areDistinctDims(ArrayRef<int64_t> dims, int64_t rank) {
  SmallVector<bool> seen(rank, false);
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= rank || seen[dim])
      return false;
    seen[dim] = true;
  }
  return true;
}

LogicalResult verifyAxis(Operation *op, int64_t axis, int64_t rank) {
  if (axis >= 0 && axis < rank)
    return success();
  return op->emitOpError("axis ") << axis << " is not in [0, " << rank << ")";
}

} // namespace

//===-- Elementwise -----------------------------------------------------------------------------------------------===//

LogicalResult CompareOp::inferReturnTypes(MLIRContext *context, std::optional<Location>, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  types.push_back(RankedTensorType::get(getTensorType(adaptor.getLhs()).getShape(), IntegerType::get(context, 1)));
  return success();
}

//===-- Contraction -----------------------------------------------------------------------------------------------===//

SmallVector<int64_t> DotGeneralOp::getLhsFree() {
  return getFreeDims(getTensorType(getLhs()).getRank(), getLhsBatch(), getLhsContract());
}

SmallVector<int64_t> DotGeneralOp::getRhsFree() {
  return getFreeDims(getTensorType(getRhs()).getRank(), getRhsBatch(), getRhsContract());
}

LogicalResult DotGeneralOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  auto lhs = getTensorType(adaptor.getLhs()), rhs = getTensorType(adaptor.getRhs());
  SmallVector<int64_t> lhsDims(adaptor.getLhsBatch()), rhsDims(adaptor.getRhsBatch());
  llvm::append_range(lhsDims, adaptor.getLhsContract());
  llvm::append_range(rhsDims, adaptor.getRhsContract());
  if (!areDistinctDims(lhsDims, lhs.getRank()) || !areDistinctDims(rhsDims, rhs.getRank()))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t dim : adaptor.getLhsBatch())
    shape.push_back(lhs.getDimSize(dim));
  for (int64_t dim : getFreeDims(lhs.getRank(), adaptor.getLhsBatch(), adaptor.getLhsContract()))
    shape.push_back(lhs.getDimSize(dim));
  for (int64_t dim : getFreeDims(rhs.getRank(), adaptor.getRhsBatch(), adaptor.getRhsContract()))
    shape.push_back(rhs.getDimSize(dim));
  types.push_back(RankedTensorType::get(shape, lhs.getElementType()));
  return success();
}

/// The shape is inferred; sums of products of 16-bit floats may stay f32.
bool DotGeneralOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  if (inferred == actual)
    return true;
  auto expected = cast<RankedTensorType>(inferred[0]);
  auto type = actual.size() == 1 ? dyn_cast<RankedTensorType>(actual[0]) : RankedTensorType();
  return type && isLowPrecision(expected.getElementType()) &&
         type == expected.clone(Float32Type::get(expected.getContext()));
}

LogicalResult DotGeneralOp::verify() {
  auto lhs = getTensorType(getLhs()), rhs = getTensorType(getRhs());
  if (lhs.getElementType() != rhs.getElementType())
    return emitOpError("operands differ in element type: ") << lhs.getElementType() << " and " << rhs.getElementType();
  if (getLhsBatch().size() != getRhsBatch().size() || getLhsContract().size() != getRhsContract().size())
    return emitOpError("operands differ in the number of batch or contracted dimensions");
  auto check = [&](StringRef what, ArrayRef<int64_t> lhsDims, ArrayRef<int64_t> rhsDims) -> LogicalResult {
    for (auto [l, r] : llvm::zip(lhsDims, rhsDims))
      if (lhs.getDimSize(l) != rhs.getDimSize(r))
        return emitOpError() << what << " dimensions differ: " << lhs.getDimSize(l) << " and " << rhs.getDimSize(r);
    return success();
  };
  if (failed(check("batch", getLhsBatch(), getRhsBatch())))
    return failure();
  return check("contracted", getLhsContract(), getRhsContract());
}

//===-- Reduction -------------------------------------------------------------------------------------------------===//

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  auto from = getTensorType(adaptor.getInput());
  if (!areDistinctDims(adaptor.getDims(), from.getRank()))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t dim : getFreeDims(from.getRank(), adaptor.getDims(), {}))
    shape.push_back(from.getDimSize(dim));
  types.push_back(RankedTensorType::get(shape, from.getElementType()));
  return success();
}

LogicalResult ReduceOp::verify() {
  if (!areDistinctDims(getDims(), getTensorType(getInput()).getRank()) || !llvm::is_sorted(getDims()))
    return emitOpError("dims must ascend within the rank of ") << getInput().getType();
  return success();
}

LogicalResult BlockSumSquaresOp::inferReturnTypes(MLIRContext *context, std::optional<Location>, Adaptor adaptor,
                                                  SmallVectorImpl<Type> &types) {
  int64_t block = adaptor.getBlock(), elements = getTensorType(adaptor.getInput()).getNumElements();
  if (block <= 0)
    return failure();
  types.push_back(RankedTensorType::get((elements + block - 1) / block, Float64Type::get(context)));
  return success();
}

//===-- Indexing --------------------------------------------------------------------------------------------------===//

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  auto operand = getTensorType(adaptor.getOperand()), indices = getTensorType(adaptor.getIndices());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= operand.getRank())
    return failure();
  SmallVector<int64_t> shape(operand.getShape().take_front(axis));
  llvm::append_range(shape, indices.getShape());
  llvm::append_range(shape, operand.getShape().drop_front(axis + 1));
  types.push_back(RankedTensorType::get(shape, operand.getElementType()));
  return success();
}

LogicalResult GatherOp::verify() { return verifyAxis(*this, getAxis(), getTensorType(getOperand()).getRank()); }

LogicalResult ScatterAddOp::verify() {
  auto result = cast<RankedTensorType>(getType());
  if (failed(verifyAxis(*this, getAxis(), result.getRank())))
    return failure();
  SmallVector<int64_t> expected(result.getShape().take_front(getAxis()));
  llvm::append_range(expected, getTensorType(getIndices()).getShape());
  llvm::append_range(expected, result.getShape().drop_front(getAxis() + 1));
  auto updates = getTensorType(getUpdates());
  if (updates.getShape() != ArrayRef<int64_t>(expected) || updates.getElementType() != result.getElementType())
    return emitOpError("updates have type ")
           << updates << ", expected " << RankedTensorType::get(expected, result.getElementType());
  return success();
}

//===-- Normalization and loss ------------------------------------------------------------------------------------===//

LogicalResult SoftmaxOp::verify() { return verifyAxis(*this, getAxis(), getTensorType(getInput()).getRank()); }

LogicalResult NormOp::verify() {
  auto input = getTensorType(getInput()), mean = getTensorType(getMean());
  if (failed(verifyAxis(*this, getAxis(), input.getRank())))
    return failure();
  if (mean.getShape() != input.getShape().take_front(getAxis()))
    return emitOpError("statistics have type ")
           << mean << ", expected the first " << getAxis() << " dimensions of " << input;
  for (Value parameter : {getScale(), getBias()})
    if (parameter && getTensorType(parameter).getShape() != input.getShape().drop_front(getAxis()))
      return emitOpError("scale or bias has type ")
             << parameter.getType() << ", expected the dimensions of " << input << " from " << getAxis() << " on";
  return success();
}

LogicalResult CrossEntropyOp::verify() {
  auto logits = getTensorType(getLogits());
  if (logits.getRank() == 0)
    return emitOpError("logits need a class dimension");
  ArrayRef<int64_t> rows = logits.getShape().drop_back();
  if (getTensorType(getLabels()).getShape() != rows || getTensorType(getLoss()).getShape() != rows)
    return emitOpError("labels and loss need the shape of the rows of ") << logits;
  return success();
}

//===-- Random ----------------------------------------------------------------------------------------------------===//

LogicalResult RngUniformOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (static_cast<int64_t>(getStrides().size()) != type.getRank())
    return emitOpError("has ") << getStrides().size() << " strides for rank " << type.getRank();
  return success();
}

LogicalResult ControlOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  bool isFloat = getField() == ControlField::LearningRate || getField() == ControlField::LossScale;
  Type expected = isFloat ? Type(Float32Type::get(getContext())) : Type(IntegerType::get(getContext(), 64));
  if (type.getRank() != 0 || type.getElementType() != expected)
    return emitOpError("has type ") << type << ", expected a scalar of " << expected;
  return success();
}
