//===-- Strided.cpp - strided views walked in vectors -------------------------------------------------------------===//

#include "Strided.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

constexpr int64_t kBlockColumns = 64;

Value buildLike(OpBuilder &builder, Location loc, Value like, int64_t value) {
  Value scalar = buildI64(builder, loc, value);
  return isa<VectorType>(like.getType()) ? broadcastLanes(builder, loc, scalar) : scalar;
}

MemRefType getOperandType(exec::KernelDefOp def, unsigned operand) {
  return cast<MemRefType>(cast<TypeAttr>(def.getOperandTypes()[operand]).getValue());
}

void buildWalkFrom(OpBuilder &builder, Location loc, const StridedSpace &space, unsigned loop, ArrayRef<Value> bases,
                   function_ref<void(ArrayRef<Address>, Value)> visit) {
  auto advance = [&](ArrayRef<Value> from, Value index) {
    SmallVector<Value> to;
    for (auto [base, strides] : llvm::zip(from, space.strides))
      to.push_back(addI64(builder, loc, base, scaleI64(builder, loc, index, strides[loop])));
    return to;
  };
  auto visitVector = [&](ArrayRef<Value> from, Value mask) {
    SmallVector<Address> addresses;
    for (auto [base, strides] : llvm::zip(from, space.strides))
      addresses.push_back({base, space.sizes.empty() ? 0 : strides[loop], {}});
    visit(addresses, mask);
  };
  if (space.sizes.empty())
    return visitVector(bases, buildTailMask(builder, loc, 1));
  bool isInnermost = loop + 1 == space.sizes.size();
  int64_t size = space.sizes[loop], step = isInnermost ? kLanes : 1, end = size / step * step;
  if (end > 0) {
    OpBuilder::InsertionGuard guard(builder);
    Value from = buildI64(builder, loc, 0), to = buildI64(builder, loc, end), by = buildI64(builder, loc, step);
    auto forOp = scf::ForOp::create(builder, loc, from, to, by);
    builder.setInsertionPointToStart(forOp.getBody());
    SmallVector<Value> inside = advance(bases, forOp.getInductionVar());
    if (isInnermost)
      visitVector(inside, {});
    else
      buildWalkFrom(builder, loc, space, loop + 1, inside, visit);
  }
  if (end < size) {
    SmallVector<Value> tail = advance(bases, buildI64(builder, loc, end));
    visitVector(tail, buildTailMask(builder, loc, size - end));
  }
}

} // namespace

int64_t StridedSpace::getNumElements() const {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

void StridedSpace::collapse() {
  auto drop = [&](int loop) {
    sizes.erase(sizes.begin() + loop);
    for (auto &access : strides)
      access.erase(access.begin() + loop);
  };
  for (int loop = static_cast<int>(sizes.size()) - 1; loop >= 0; --loop)
    if (sizes[loop] == 1)
      drop(loop);
  for (int outer = static_cast<int>(sizes.size()) - 2; outer >= 0; --outer) {
    if (!llvm::all_of(strides, [&](auto &access) { return access[outer] == access[outer + 1] * sizes[outer + 1]; }))
      continue;
    sizes[outer + 1] *= sizes[outer];
    drop(outer);
  }
}

SmallVector<Value> shardc::codegen::delinearise(OpBuilder &builder, Location loc, Value number,
                                                ArrayRef<int64_t> sizes) {
  SmallVector<Value> indices(sizes.size());
  for (int dim = static_cast<int>(sizes.size()) - 1; dim > 0; --dim) {
    Value size = buildLike(builder, loc, number, sizes[dim]);
    indices[dim] = arith::RemSIOp::create(builder, loc, number, size);
    number = arith::DivSIOp::create(builder, loc, number, size);
  }
  if (!sizes.empty())
    indices[0] = number;
  return indices;
}

Value shardc::codegen::buildOffset(OpBuilder &builder, Location loc, ArrayRef<Value> indices,
                                   ArrayRef<int64_t> strides) {
  Value offset;
  for (auto [index, stride] : llvm::zip(indices, strides)) {
    if (stride == 0)
      continue;
    Value factor = buildLike(builder, loc, index, stride);
    Value term = stride == 1 ? index : arith::MulIOp::create(builder, loc, index, factor).getResult();
    offset = addI64(builder, loc, offset, term);
  }
  return offset;
}

SmallVector<Address> shardc::codegen::buildAddresses(OpBuilder &builder, Location loc, Value start,
                                                     const StridedSpace &space, bool isAligned) {
  SmallVector<Address> addresses;
  unsigned rank = space.sizes.size();
  // Within one run of the innermost loop, lanes lie one stride apart.
  bool isRun = rank <= 1 || (isAligned && space.sizes.back() % kLanes == 0);
  Value number = isRun ? start : buildPosition(builder, loc, {start, 1, {}}, /*isVector=*/true);
  SmallVector<Value> indices = delinearise(builder, loc, number, space.sizes);
  for (ArrayRef<int64_t> strides : space.strides) {
    Value offset = buildOffset(builder, loc, indices, strides);
    if (isRun)
      addresses.push_back({offset, rank ? strides.back() : 0, {}});
    else
      addresses.push_back({{}, 0, offset});
  }
  return addresses;
}

void shardc::codegen::buildWalk(OpBuilder &builder, Location loc, const StridedSpace &space, ArrayRef<Value> bases,
                                function_ref<void(ArrayRef<Address>, Value)> visit) {
  buildWalkFrom(builder, loc, space, 0, bases, visit);
}

LogicalResult shardc::codegen::buildColumnBlocks(Kernel &kernel, int64_t numColumns,
                                                 function_ref<LogicalResult(ArrayRef<ColumnVector>)> build) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  int64_t numFull = numColumns / kBlockColumns, rest = numColumns % kBlockColumns;
  OpBuilder::InsertionGuard guard(builder);
  Value one = buildI64(builder, loc, 1);
  auto loop = scf::ForOp::create(builder, loc, kernel.begin, kernel.end, one);
  builder.setInsertionPointToStart(loop.getBody());
  Value item = loop.getInductionVar();
  auto buildBlock = [&](int64_t count) {
    Value first = scaleI64(builder, loc, item, kBlockColumns);
    SmallVector<ColumnVector> vectors;
    for (int64_t column = 0; column < count; column += kLanes) {
      Value mask = count - column < kLanes ? buildTailMask(builder, loc, count - column) : Value();
      vectors.push_back({column ? addI64(builder, loc, first, buildI64(builder, loc, column)) : first, mask});
    }
    return build(vectors);
  };
  if (rest == 0)
    return buildBlock(kBlockColumns);
  if (numFull == 0)
    return buildBlock(rest);
  Value isFull = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, item, buildI64(builder, loc, numFull));
  auto branch = scf::IfOp::create(builder, loc, isFull, /*withElseRegion=*/true);
  builder.setInsertionPointToStart(branch.thenBlock());
  if (failed(buildBlock(kBlockColumns)))
    return failure();
  builder.setInsertionPointToStart(branch.elseBlock());
  return buildBlock(rest);
}

SmallVector<int64_t> shardc::codegen::getOperandStrides(exec::KernelDefOp def, unsigned operand) {
  SmallVector<int64_t> strides;
  int64_t offset;
  (void)getOperandType(def, operand).getStridesAndOffset(strides, offset);
  return strides;
}

LogicalResult shardc::codegen::checkItems(exec::KernelDefOp def, int64_t expected) {
  if (static_cast<int64_t>(def.getItems()) == expected)
    return success();
  return def.emitOpError("has ") << def.getItems() << " items, expected " << expected;
}

Operation *shardc::codegen::getSingleOp(exec::KernelDefOp def, StringRef name) {
  Block &block = def.getBody().front();
  auto yield = cast<exec::YieldOp>(block.back());
  Operation *op = &block.front();
  bool isSingle = block.getOperations().size() == 2 && op->getName().getStringRef() == name &&
                  yield.getNumOperands() == 1 && yield.getOperand(0).getDefiningOp() == op &&
                  llvm::all_of(op->getOperands(), llvm::IsaPred<BlockArgument>);
  if (isSingle)
    return op;
  def.emitOpError("must consist of one ") << name << " whose result it yields";
  return nullptr;
}
