//===-- SumSquares.cpp - Σx² of blocks of consecutive elements ----------------------------------------------------===//
//
// In f64: element i of a block is squared and added to lane i mod 16, in ascending order; then the tree of row
// reductions combines the lanes. The square of an f32 is exact in f64.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "../Strided.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

class SumSquaresBuilder {
public:
  SumSquaresBuilder(Kernel &kernel, nn::BlockSumSquaresOp op)
      : kernel(kernel), builder(kernel.builder), loc(kernel.loc), block(op.getBlock()) {
    auto type = cast<RankedTensorType>(op.getInput().getType());
    elementType = type.getElementType();
    numElements = type.getNumElements();
    space.sizes = SmallVector<int64_t>(type.getShape());
    space.strides = {getOperandStrides(kernel.def, 0)};
    space.collapse();
  }

  void build();

private:
  Value buildVector(Value sums, Value first, Value mask);
  Value buildSums(Value first, Value last);

  Kernel &kernel;
  OpBuilder &builder;
  Location loc;
  int64_t block, numElements;
  Type elementType;
  StridedSpace space;
};

Value SumSquaresBuilder::buildVector(Value sums, Value first, Value mask) {
  Address address = buildAddresses(builder, loc, first, space, /*isAligned=*/block % kLanes == 0)[0];
  Value value = loadVector(builder, loc, elementType, kernel.pointers[0], address, mask);
  if (!elementType.isF64())
    value = arith::ExtFOp::create(builder, loc, sums.getType(), value);
  // Masked lanes hold zero, which changes no sum of squares.
  return arith::AddFOp::create(builder, loc, sums, arith::MulFOp::create(builder, loc, value, value));
}

/// The lanes of elements [first, last).
Value SumSquaresBuilder::buildSums(Value first, Value last) {
  auto type = VectorType::get({kLanes}, builder.getF64Type());
  Value zeros = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  Value lanes = buildI64(builder, loc, kLanes);
  Value length = arith::SubIOp::create(builder, loc, last, first);
  Value full = arith::MulIOp::create(builder, loc, arith::DivSIOp::create(builder, loc, length, lanes), lanes);
  Value fullEnd = arith::AddIOp::create(builder, loc, first, full);
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::ForOp::create(builder, loc, first, fullEnd, lanes, ValueRange{zeros});
  builder.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(builder, loc, buildVector(loop.getRegionIterArg(0), loop.getInductionVar(), {}));
  builder.setInsertionPointAfter(loop);
  if (block % kLanes == 0 && numElements % kLanes == 0)
    return loop.getResult(0);
  Value rest = arith::SubIOp::create(builder, loc, last, fullEnd);
  Value hasRest = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt, rest, buildI64(builder, loc, 0));
  auto branch = scf::IfOp::create(builder, loc, TypeRange{type}, hasRest, /*addThenBlock=*/true, /*addElseBlock=*/true);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, buildVector(loop.getResult(0), fullEnd, buildTailMask(builder, loc, rest)));
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, loop.getResult(0));
  return branch.getResult(0);
}

void SumSquaresBuilder::build() {
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::ForOp::create(builder, loc, kernel.begin, kernel.end, buildI64(builder, loc, 1));
  builder.setInsertionPointToStart(loop.getBody());
  Value first = scaleI64(builder, loc, loop.getInductionVar(), block);
  Value last = arith::AddIOp::create(builder, loc, first, buildI64(builder, loc, block));
  last = arith::MinSIOp::create(builder, loc, last, buildI64(builder, loc, numElements));
  Value sums = buildSums(first, last);
  builder.setInsertionPointAfter(sums.getDefiningOp());
  Value sum = buildLaneTree(builder, loc, sums, [&](Value low, Value high) -> Value {
    return arith::AddFOp::create(builder, loc, low, high);
  });
  Value offset = scaleI64(builder, loc, loop.getInductionVar(), getOperandStrides(kernel.def, 1)[0]);
  storeScalar(builder, loc, builder.getF64Type(), sum, kernel.pointers[1], offset);
}

} // namespace

LogicalResult shardc::codegen::buildBlockSumSquaresKernel(Kernel &kernel) {
  auto op =
      llvm::cast_or_null<nn::BlockSumSquaresOp>(getSingleOp(kernel.def, nn::BlockSumSquaresOp::getOperationName()));
  if (!op || failed(checkItems(kernel.def, cast<RankedTensorType>(op.getType()).getNumElements())))
    return failure();
  if (!isa<FloatType>(cast<RankedTensorType>(op.getInput().getType()).getElementType()))
    return op.emitOpError("cannot be computed in a kernel for ") << op.getInput().getType() << " [kernel-type]";
  SumSquaresBuilder(kernel, op).build();
  return success();
}
