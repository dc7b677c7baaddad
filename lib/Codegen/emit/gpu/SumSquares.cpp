//===-- SumSquares.cpp - Σx² of blocks of consecutive elements on a GPU -------------------------------------------===//
//
// In f64, where the square of an f32 is exact. A block of threads holds a block of elements: thread t adds elements t,
// t + 128 … in ascending order, then the threads combine.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "../Strided.h"
#include "GpuKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

LogicalResult shardc::codegen::buildGpuBlockSumSquaresKernel(GpuKernel &kernel) {
  auto op =
      llvm::cast_or_null<nn::BlockSumSquaresOp>(getSingleOp(kernel.def, nn::BlockSumSquaresOp::getOperationName()));
  int64_t numBlocks = op ? cast<RankedTensorType>(op.getType()).getNumElements() : 0;
  if (!op || failed(checkItems(kernel.def, numBlocks)))
    return failure();
  auto type = cast<RankedTensorType>(op.getInput().getType());
  Type element = type.getElementType(), f64 = kernel.builder.getF64Type();
  if (!isa<FloatType>(element))
    return op.emitOpError("cannot be computed in a kernel for ") << op.getInput().getType() << " [kernel-type]";
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  StridedSpace space{SmallVector<int64_t>(type.getShape()), {getOperandStrides(kernel.def, 0)}};
  space.collapse();
  kernel.grid = numBlocks;
  int64_t block = op.getBlock();

  Value thread = buildThread(kernel), number = extend(kernel, buildBlock(kernel));
  Value first = scaleI64(builder, loc, number, block);
  Value last = arith::AddIOp::create(builder, loc, first, buildI64(builder, loc, block));
  last = arith::MinSIOp::create(builder, loc, last, buildI64(builder, loc, type.getNumElements()));
  Value from = arith::AddIOp::create(builder, loc, first, extend(kernel, thread));
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(f64));
  auto loop = scf::ForOp::create(builder, loc, from, last, buildI64(builder, loc, kernel.block), ValueRange{zero});
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> indices = splitNumber(kernel, loop.getInductionVar(), space.sizes);
    Value offset = buildOffset(builder, loc, indices, space.strides[0]);
    Value value = loadScalar(builder, loc, element, kernel.pointers[0], offset);
    if (!value.getType().isF64())
      value = arith::ExtFOp::create(builder, loc, f64, value);
    Value square = arith::MulFOp::create(builder, loc, value, value);
    scf::YieldOp::create(builder, loc,
                         arith::AddFOp::create(builder, loc, loop.getRegionIterArg(0), square).getResult());
  }
  Value sum = combineThreads(kernel, loop.getResult(0), kernel.block,
                             [&](Value a, Value b) -> Value { return arith::AddFOp::create(builder, loc, a, b); });
  return buildIf(kernel, buildLess(kernel, thread, 1), [&] {
    Value offset = scaleI64(builder, loc, number, getOperandStrides(kernel.def, 1)[0]);
    storeScalar(builder, loc, f64, sum, kernel.pointers[1], offset);
    return success();
  });
}
