//===-- IndexKernels.cpp - gather, scatter_add, local_slice on a GPU ----------------------------------------------===//
//
// gather and local_slice copy one chunk a thread. In scatter_add a thread owns a column of the result in every row
// whose number is p mod P, for one p: it clears them, then walks all indices in order and adds what falls into its
// rows. So each element is summed by one thread in the order of the indices, as on the CPU.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "../Strided.h"
#include "Chunk.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

/// Parts that the rows of a scatter_add's result are divided into.
constexpr int64_t kScatterParts = 64;

Type getElementType(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

ArrayRef<int64_t> getShape(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

int64_t getProduct(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}

unsigned getOperand(Value value) { return cast<BlockArgument>(value).getArgNumber(); }

/// The index at `position`, as i64, and whether it lies in [0, size).
std::pair<Value, Value> loadIndex(GpuKernel &kernel, Value indices, ArrayRef<Value> position, int64_t size) {
  OpBuilder &builder = kernel.builder;
  unsigned operand = getOperand(indices);
  Value offset = buildOffset(builder, kernel.loc, position, getOperandStrides(kernel.def, operand));
  Value index = loadScalar(builder, kernel.loc, getElementType(indices), kernel.pointers[operand], offset);
  if (!index.getType().isInteger(64))
    index = arith::ExtSIOp::create(builder, kernel.loc, builder.getI64Type(), index);
  // A negative index is a large one without its sign.
  return {index, buildLess(kernel, index, size)};
}

/// Runs `build` for the chunk of this thread, of a walk over `sizes` with a run of `run` elements in the last one.
LogicalResult buildChunks(GpuKernel &kernel, ArrayRef<int64_t> shape, int64_t run,
                          function_ref<LogicalResult(Chunk &)> build) {
  Chunk chunk;
  chunk.lanes = shape.empty() ? 1 : chooseLanes(kernel.def, run);
  int64_t numChunks = getProduct(shape) / chunk.lanes;
  kernel.grid = llvm::divideCeil(numChunks, kernel.block);
  Value number = buildGlobalThread(kernel, kernel.grid * kernel.block);
  Value isInside = numChunks % kernel.block ? buildLess(kernel, number, numChunks) : Value();
  return buildIf(kernel, isInside, [&] {
    SmallVector<int64_t> sizes(shape);
    SmallVector<Value> indices;
    if (!sizes.empty()) {
      sizes.back() /= chunk.lanes;
      indices = splitNumber(kernel, number, sizes);
      indices.back() = scaleI64(kernel.builder, kernel.loc, indices.back(), chunk.lanes);
    }
    chunk.indices = {indices};
    return build(chunk);
  });
}

/// A copy of lanes from one operand to another, the source `base` elements further on.
SmallVector<Value> loadFrom(GpuKernel &kernel, const Chunk &chunk, unsigned operand, Type element,
                            ArrayRef<int64_t> strides, Value base, int64_t baseStride) {
  // The base is a loop of its own, so that pieces are known to be aligned.
  Chunk from = chunk;
  SmallVector<int64_t> fromStrides{baseStride};
  from.indices[0].insert(from.indices[0].begin(), base);
  llvm::append_range(fromStrides, strides);
  return loadLanes(kernel, from, operand, element, fromStrides);
}

} // namespace

LogicalResult shardc::codegen::buildGpuGatherKernel(GpuKernel &kernel) {
  auto gather = llvm::cast_or_null<nn::GatherOp>(getSingleOp(kernel.def, nn::GatherOp::getOperationName()));
  if (!gather)
    return failure();
  int64_t axis = gather.getAxis(), numIndexDims = getShape(gather.getIndices()).size();
  ArrayRef<int64_t> shape = getShape(gather.getResult());
  if (failed(checkItems(kernel.def, getProduct(shape.take_front(axis + numIndexDims)))))
    return failure();
  unsigned operand = getOperand(gather.getOperand()), result = kernel.pointers.size() - 1;
  SmallVector<int64_t> operandStrides = getOperandStrides(kernel.def, operand);
  Type element = getElementType(gather.getOperand());
  bool hasSlice = static_cast<int64_t>(shape.size()) > axis + numIndexDims;
  return buildChunks(kernel, shape, hasSlice ? shape.back() : 1, [&](Chunk &chunk) {
    ArrayRef<Value> position = chunk.indices[0];
    auto [index, inRange] =
        loadIndex(kernel, gather.getIndices(), position.slice(axis, numIndexDims), getShape(gather.getOperand())[axis]);
    // Nothing is read for an index out of range: its slice is zeros.
    OpBuilder &builder = kernel.builder;
    SmallVector<Type> types(chunk.lanes, getRegisterType(element));
    auto branch = scf::IfOp::create(builder, kernel.loc, types, inRange, /*addThenBlock=*/true, /*addElseBlock=*/true);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(branch.thenBlock());
      Chunk from{chunk.lanes, true, {SmallVector<Value>(position.take_front(axis))}, {}, {}, {}};
      from.indices[0].push_back(index);
      llvm::append_range(from.indices[0], position.drop_front(axis + numIndexDims));
      SmallVector<Value> values = loadLanes(kernel, from, operand, element, operandStrides);
      values.resize(chunk.lanes, values[0]);
      scf::YieldOp::create(builder, kernel.loc, values);
      builder.setInsertionPointToStart(branch.elseBlock());
      Value zero = arith::ConstantOp::create(builder, kernel.loc, builder.getZeroAttr(types[0]));
      scf::YieldOp::create(builder, kernel.loc, SmallVector<Value>(chunk.lanes, zero));
    }
    storeLanes(kernel, chunk, result, element, getOperandStrides(kernel.def, result),
               SmallVector<Value>(branch.getResults()));
    return success();
  });
}

LogicalResult shardc::codegen::buildGpuScatterAddKernel(GpuKernel &kernel) {
  auto scatter = llvm::cast_or_null<nn::ScatterAddOp>(getSingleOp(kernel.def, nn::ScatterAddOp::getOperationName()));
  if (!scatter)
    return failure();
  if (scatter.getAxis() != 0)
    return scatter.emitOpError("has axis ") << scatter.getAxis() << ", expected 0 in a kernel";
  Type element = getElementType(scatter.getResult());
  if (nn::isLowPrecision(element))
    return scatter.emitOpError("cannot sum up in element type ") << element << ", expected f32 [kernel-type]";
  ArrayRef<int64_t> shape = getShape(scatter.getResult()), indexShape = getShape(scatter.getIndices());
  int64_t numRows = shape.front(), numColumns = getProduct(shape.drop_front());
  if (failed(checkItems(kernel.def, llvm::divideCeil(numColumns, 64))))
    return failure();
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  int64_t parts = std::min(kScatterParts, numRows), numThreads = parts * llvm::alignTo(numColumns, kWarp);
  kernel.grid = llvm::divideCeil(numThreads, kernel.block);
  unsigned updates = getOperand(scatter.getUpdates()), result = kernel.pointers.size() - 1;
  SmallVector<int64_t> updateStrides = getOperandStrides(kernel.def, updates),
                       resultStrides = getOperandStrides(kernel.def, result);

  // Warps hold neighbouring columns of one part.
  Value number = buildGlobalThread(kernel, kernel.grid * kernel.block);
  Value part = buildDiv(kernel, number, llvm::alignTo(numColumns, kWarp));
  Value column = buildRem(kernel, number, llvm::alignTo(numColumns, kWarp));
  Value owns = buildAnd(kernel, buildLess(kernel, column, numColumns), buildLess(kernel, part, parts));
  return buildIf(kernel, owns, [&] {
    SmallVector<Value> columns = splitNumber(kernel, column, shape.drop_front());
    Value columnOffset = buildOffset(builder, loc, columns, ArrayRef(resultStrides).drop_front());
    Value row = extend(kernel, part);
    auto openLoop = [&](Value from, int64_t to, int64_t step) {
      auto loop = scf::ForOp::create(builder, loc, from, buildI64(builder, loc, to), buildI64(builder, loc, step));
      builder.setInsertionPointToStart(loop.getBody());
      return loop.getInductionVar();
    };
    {
      OpBuilder::InsertionGuard guard(builder);
      Value to = scaleI64(builder, loc, openLoop(row, numRows, parts), resultStrides[0]);
      Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
      storeScalar(builder, loc, element, zero, kernel.pointers[result], addI64(builder, loc, to, columnOffset));
    }
    OpBuilder::InsertionGuard guard(builder);
    Value walked = openLoop(buildI64(builder, loc, 0), getProduct(indexShape), 1);
    SmallVector<Value> position = splitNumber(kernel, walked, indexShape);
    auto [index, inRange] = loadIndex(kernel, scatter.getIndices(), position, numRows);
    Value isMine = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, buildRem(kernel, index, parts), row);
    return buildIf(kernel, buildAnd(kernel, inRange, isMine), [&] {
      SmallVector<Value> from(position);
      llvm::append_range(from, columns);
      Value update =
          loadScalar(builder, loc, element, kernel.pointers[updates], buildOffset(builder, loc, from, updateStrides));
      Value to = addI64(builder, loc, scaleI64(builder, loc, index, resultStrides[0]), columnOffset);
      Value sum = loadScalar(builder, loc, element, kernel.pointers[result], to);
      bool isFloat = isa<FloatType>(element);
      sum = isFloat ? arith::AddFOp::create(builder, loc, sum, update).getResult()
                    : arith::AddIOp::create(builder, loc, sum, update).getResult();
      storeScalar(builder, loc, element, sum, kernel.pointers[result], to);
      return success();
    });
  });
}

LogicalResult shardc::codegen::buildGpuLocalSliceKernel(GpuKernel &kernel) {
  auto slice = llvm::cast_or_null<dist::LocalSliceOp>(getSingleOp(kernel.def, dist::LocalSliceOp::getOperationName()));
  if (!slice || failed(checkItems(kernel.def, 1)))
    return failure();
  Value coordinate = loadCoordinate(kernel, slice, slice.getAxis());
  if (!coordinate)
    return failure();
  unsigned input = getOperand(slice.getInput()), result = kernel.pointers.size() - 1;
  SmallVector<int64_t> inputStrides = getOperandStrides(kernel.def, input);
  StridedSpace space;
  space.sizes = SmallVector<int64_t>(getShape(slice.getResult()));
  space.strides = {SmallVector<int64_t>(ArrayRef(inputStrides).drop_front()), getOperandStrides(kernel.def, result)};
  space.collapse();
  Type element = getElementType(slice.getInput());
  return buildChunks(kernel, space.sizes, space.sizes.empty() ? 1 : space.sizes.back(), [&](Chunk &chunk) {
    SmallVector<Value> values = loadFrom(kernel, chunk, input, element, space.strides[0], coordinate, inputStrides[0]);
    storeLanes(kernel, chunk, result, element, space.strides[1], values);
    return success();
  });
}
