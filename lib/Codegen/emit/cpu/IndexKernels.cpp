//===-- IndexKernels.cpp - gather, scatter_add, local_slice -------------------------------------------------------===//

#include "../Strided.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

Type getElementType(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

ArrayRef<int64_t> getShape(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

/// The pointer and strides behind an operand of the kernel's op.
struct View {
  Value pointer;
  SmallVector<int64_t> strides;
};

View getRead(Kernel &kernel, Value value) {
  unsigned operand = cast<BlockArgument>(value).getArgNumber();
  return {kernel.pointers[operand], getOperandStrides(kernel.def, operand)};
}

View getWrite(Kernel &kernel) {
  unsigned operand = kernel.pointers.size() - 1;
  return {kernel.pointers[operand], getOperandStrides(kernel.def, operand)};
}

int64_t getProduct(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}

/// Loads index number `position` (its indices given) and tells whether it lies in [0, size).
std::pair<Value, Value> loadIndex(Kernel &kernel, Value indices, ArrayRef<Value> position, int64_t size) {
  OpBuilder &builder = kernel.builder;
  View view = getRead(kernel, indices);
  Value offset = buildOffset(builder, kernel.loc, position, view.strides);
  Value index = loadScalar(builder, kernel.loc, getElementType(indices), view.pointer, offset);
  if (!index.getType().isInteger(64))
    index = arith::ExtSIOp::create(builder, kernel.loc, builder.getI64Type(), index);
  // A negative index is a large one without its sign.
  Value inRange =
      arith::CmpIOp::create(builder, kernel.loc, arith::CmpIPredicate::ult, index, buildI64(builder, kernel.loc, size));
  return {index, inRange};
}

Value buildZeroVector(Kernel &kernel, Type elementType) {
  auto type = VectorType::get({kLanes}, getRegisterType(elementType));
  return arith::ConstantOp::create(kernel.builder, kernel.loc, kernel.builder.getZeroAttr(type));
}

Value buildSum(Kernel &kernel, Value a, Value b) {
  if (isa<FloatType>(getElementTypeOrSelf(a.getType())))
    return arith::AddFOp::create(kernel.builder, kernel.loc, a, b);
  return arith::AddIOp::create(kernel.builder, kernel.loc, a, b);
}

/// Slice `item` of the result: from the operand, or zeros.
void buildGatherItem(Kernel &kernel, nn::GatherOp gather, Value item) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  View operand = getRead(kernel, gather.getOperand()), result = getWrite(kernel);
  int64_t axis = gather.getAxis(), numIndexDims = getShape(gather.getIndices()).size();
  ArrayRef<int64_t> resultShape = getShape(gather.getResult());
  SmallVector<Value> position = delinearise(builder, loc, item, resultShape.take_front(axis + numIndexDims));
  auto [index, inRange] =
      loadIndex(kernel, gather.getIndices(), ArrayRef(position).drop_front(axis), getShape(gather.getOperand())[axis]);

  StridedSpace slice;
  slice.sizes.assign(resultShape.begin() + axis + numIndexDims, resultShape.end());
  slice.strides = {SmallVector<int64_t>(ArrayRef(operand.strides).drop_front(axis + 1)),
                   SmallVector<int64_t>(ArrayRef(result.strides).drop_front(axis + numIndexDims))};
  slice.collapse();
  SmallVector<Value> source(ArrayRef<Value>(position).take_front(axis));
  source.push_back(index);
  Value from = buildOffset(builder, loc, source, ArrayRef(operand.strides).take_front(axis + 1));
  Value to = buildOffset(builder, loc, position, ArrayRef(result.strides).take_front(axis + numIndexDims));

  Type element = getElementType(gather.getOperand());
  auto branch = scf::IfOp::create(builder, loc, inRange, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  buildWalk(builder, loc, slice, {from, to}, [&](ArrayRef<Address> addresses, Value mask) {
    Value value = loadVector(builder, loc, element, operand.pointer, addresses[0], mask);
    storeVector(builder, loc, element, value, result.pointer, addresses[1], mask);
  });
  builder.setInsertionPointToStart(branch.elseBlock());
  buildWalk(builder, loc, slice, {from, to}, [&](ArrayRef<Address> addresses, Value mask) {
    storeVector(builder, loc, element, buildZeroVector(kernel, element), result.pointer, addresses[1], mask);
  });
}

/// One block of columns: zeros, then the updates in the order of the indices.
LogicalResult buildScatterBlock(Kernel &kernel, nn::ScatterAddOp scatter, const StridedSpace &slice,
                                ArrayRef<ColumnVector> vectors) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  View updates = getRead(kernel, scatter.getUpdates()), result = getWrite(kernel);
  ArrayRef<int64_t> indexShape = getShape(scatter.getIndices());
  int64_t numRows = getShape(scatter.getResult())[0];
  Type element = getElementType(scatter.getUpdates());
  SmallVector<SmallVector<Address>> addresses; // [vector]: updates, result
  for (const ColumnVector &vector : vectors)
    addresses.push_back(buildAddresses(builder, loc, vector.start, slice, /*isAligned=*/true));
  auto at = [&](size_t vector, unsigned access, Value offset) {
    Address address = addresses[vector][access];
    address.base = addI64(builder, loc, address.base, offset);
    return address;
  };
  auto openLoop = [&](int64_t size) {
    Value zero = buildI64(builder, loc, 0), one = buildI64(builder, loc, 1);
    auto loop = scf::ForOp::create(builder, loc, zero, buildI64(builder, loc, size), one);
    builder.setInsertionPointToStart(loop.getBody());
    return loop.getInductionVar();
  };

  {
    OpBuilder::InsertionGuard guard(builder);
    Value offset = scaleI64(builder, loc, openLoop(numRows), result.strides[0]);
    for (auto [vector, column] : llvm::enumerate(vectors))
      storeVector(builder, loc, element, buildZeroVector(kernel, element), result.pointer, at(vector, 1, offset),
                  column.mask);
  }
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Value> position = delinearise(builder, loc, openLoop(getProduct(indexShape)), indexShape);
  auto [index, inRange] = loadIndex(kernel, scatter.getIndices(), position, numRows);
  Value from = buildOffset(builder, loc, position, ArrayRef(updates.strides).take_front(indexShape.size()));
  auto branch = scf::IfOp::create(builder, loc, inRange, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  Value to = scaleI64(builder, loc, index, result.strides[0]);
  for (auto [vector, column] : llvm::enumerate(vectors)) {
    Value sum = loadVector(builder, loc, element, result.pointer, at(vector, 1, to), column.mask);
    Value update = loadVector(builder, loc, element, updates.pointer, at(vector, 0, from), column.mask);
    storeVector(builder, loc, element, buildSum(kernel, sum, update), result.pointer, at(vector, 1, to), column.mask);
  }
  return success();
}

} // namespace

LogicalResult shardc::codegen::buildGatherKernel(Kernel &kernel) {
  auto gather = llvm::cast_or_null<nn::GatherOp>(getSingleOp(kernel.def, nn::GatherOp::getOperationName()));
  if (!gather)
    return failure();
  int64_t numItemDims = gather.getAxis() + getShape(gather.getIndices()).size();
  if (failed(checkItems(kernel.def, getProduct(getShape(gather.getResult()).take_front(numItemDims)))))
    return failure();
  OpBuilder::InsertionGuard guard(kernel.builder);
  Value one = buildI64(kernel.builder, kernel.loc, 1);
  auto loop = scf::ForOp::create(kernel.builder, kernel.loc, kernel.begin, kernel.end, one);
  kernel.builder.setInsertionPointToStart(loop.getBody());
  buildGatherItem(kernel, gather, loop.getInductionVar());
  return success();
}

LogicalResult shardc::codegen::buildScatterAddKernel(Kernel &kernel) {
  auto scatter = llvm::cast_or_null<nn::ScatterAddOp>(getSingleOp(kernel.def, nn::ScatterAddOp::getOperationName()));
  if (!scatter)
    return failure();
  if (scatter.getAxis() != 0)
    return scatter.emitOpError("has axis ") << scatter.getAxis() << ", expected 0 in a kernel";
  if (nn::isLowPrecision(getElementType(scatter.getResult())))
    return scatter.emitOpError("cannot sum up in element type ")
           << getElementType(scatter.getResult()) << ", expected f32 [kernel-type]";
  View updates = getRead(kernel, scatter.getUpdates()), result = getWrite(kernel);
  size_t numIndexDims = getShape(scatter.getIndices()).size();
  StridedSpace slice;
  slice.sizes = SmallVector<int64_t>(getShape(scatter.getResult()).drop_front());
  slice.strides = {SmallVector<int64_t>(ArrayRef(updates.strides).drop_front(numIndexDims)),
                   SmallVector<int64_t>(ArrayRef(result.strides).drop_front())};
  slice.collapse();
  int64_t numColumns = slice.getNumElements();
  if (failed(checkItems(kernel.def, llvm::divideCeil(numColumns, 64))))
    return failure();
  return buildColumnBlocks(kernel, numColumns, [&](ArrayRef<ColumnVector> vectors) {
    return buildScatterBlock(kernel, scatter, slice, vectors);
  });
}

LogicalResult shardc::codegen::buildLocalSliceKernel(Kernel &kernel) {
  auto slice = llvm::cast_or_null<dist::LocalSliceOp>(getSingleOp(kernel.def, dist::LocalSliceOp::getOperationName()));
  if (!slice || failed(checkItems(kernel.def, 1)))
    return failure();
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  Value coordinate = loadCoordinate(kernel, slice, slice.getAxis());
  if (!coordinate)
    return failure();
  View input = getRead(kernel, slice.getInput()), result = getWrite(kernel);
  StridedSpace space;
  space.sizes = SmallVector<int64_t>(getShape(slice.getResult()));
  space.strides = {SmallVector<int64_t>(ArrayRef(input.strides).drop_front()), result.strides};
  space.collapse();
  // Items [begin, end) may be empty.
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::ForOp::create(builder, loc, kernel.begin, kernel.end, buildI64(builder, loc, 1));
  builder.setInsertionPointToStart(loop.getBody());
  Value from = scaleI64(builder, loc, coordinate, input.strides[0]);
  Type element = getElementType(slice.getInput());
  buildWalk(builder, loc, space, {from, Value()}, [&](ArrayRef<Address> addresses, Value mask) {
    Value value = loadVector(builder, loc, element, input.pointer, addresses[0], mask);
    storeVector(builder, loc, element, value, result.pointer, addresses[1], mask);
  });
  return success();
}
