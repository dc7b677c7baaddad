//===-- Threads.cpp - numbers of threads, and how threads meet ----------------------------------------------------===//

#include "GpuKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

constexpr unsigned kSharedSpace = 3;

Value buildI32(GpuKernel &kernel, int64_t value) {
  return arith::ConstantIntOp::create(kernel.builder, kernel.loc, value, 32);
}

Value toI32(GpuKernel &kernel, Value index) {
  return arith::IndexCastOp::create(kernel.builder, kernel.loc, kernel.builder.getI32Type(), index);
}

/// The block's shared memory; its size is set when the kernel is complete.
Value buildSharedPointer(GpuKernel &kernel) {
  std::string name = (kernel.def.getSymName() + ".shared").str();
  auto pointer = LLVM::LLVMPointerType::get(kernel.builder.getContext(), kSharedSpace);
  return LLVM::AddressOfOp::create(kernel.builder, kernel.loc, pointer, name);
}

Value buildSharedElement(GpuKernel &kernel, int64_t offset, Value index) {
  OpBuilder &builder = kernel.builder;
  Value base = buildSharedPointer(kernel);
  if (offset)
    base = LLVM::GEPOp::create(builder, kernel.loc, base.getType(), builder.getI8Type(), base,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  return LLVM::GEPOp::create(builder, kernel.loc, base.getType(), builder.getI64Type(), base,
                             ArrayRef<LLVM::GEPArg>{index});
}

/// The partner's 32 bits.
Value shuffleWord(GpuKernel &kernel, Value word, int64_t distance) {
  auto shuffle = gpu::ShuffleOp::create(kernel.builder, kernel.loc, word, buildI32(kernel, distance),
                                        buildI32(kernel, kWarp), gpu::ShuffleMode::XOR);
  kernel.isCooperative = true;
  return shuffle.getShuffleResult();
}

/// The value of the thread whose number in the warp is this one's xor `distance`.
Value shuffle(GpuKernel &kernel, Value value, int64_t distance) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  Type type = value.getType(), i32 = builder.getI32Type(), i64 = builder.getI64Type();
  unsigned width = type.getIntOrFloatBitWidth();
  if (width < 32) {
    Value word = arith::ExtUIOp::create(builder, loc, i32, value);
    return arith::TruncIOp::create(builder, loc, type, shuffleWord(kernel, word, distance));
  }
  bool isFloat = isa<FloatType>(type);
  Value bits = isFloat ? arith::BitcastOp::create(builder, loc, builder.getIntegerType(width), value) : value;
  if (width == 32) {
    bits = shuffleWord(kernel, bits, distance);
  } else {
    Value shift = buildI64(builder, loc, 32);
    Value low = shuffleWord(kernel, arith::TruncIOp::create(builder, loc, i32, bits), distance);
    Value upper = arith::ShRUIOp::create(builder, loc, bits, shift);
    Value high = shuffleWord(kernel, arith::TruncIOp::create(builder, loc, i32, upper), distance);
    upper = arith::ShLIOp::create(builder, loc, arith::ExtUIOp::create(builder, loc, i64, high), shift);
    bits = arith::OrIOp::create(builder, loc, arith::ExtUIOp::create(builder, loc, i64, low), upper);
  }
  return isFloat ? arith::BitcastOp::create(builder, loc, type, bits) : bits;
}

} // namespace

Value shardc::codegen::buildThread(GpuKernel &kernel) {
  return toI32(kernel, gpu::ThreadIdOp::create(kernel.builder, kernel.loc, gpu::Dimension::x));
}

Value shardc::codegen::buildBlock(GpuKernel &kernel) {
  return toI32(kernel, gpu::BlockIdOp::create(kernel.builder, kernel.loc, gpu::Dimension::x));
}

Value shardc::codegen::buildGlobalThread(GpuKernel &kernel, int64_t count) {
  Value block = buildBlock(kernel), thread = buildThread(kernel);
  if (count > std::numeric_limits<int32_t>::max() - kernel.block) {
    block = extend(kernel, block);
    thread = extend(kernel, thread);
  }
  Value first = arith::MulIOp::create(kernel.builder, kernel.loc, block, buildLike(kernel, block, kernel.block));
  return arith::AddIOp::create(kernel.builder, kernel.loc, first, thread);
}

Value shardc::codegen::buildLike(GpuKernel &kernel, Value like, int64_t value) {
  return arith::ConstantIntOp::create(kernel.builder, kernel.loc, like.getType(), value);
}

Value shardc::codegen::buildDiv(GpuKernel &kernel, Value value, int64_t divisor) {
  if (divisor == 1)
    return value;
  return arith::DivUIOp::create(kernel.builder, kernel.loc, value, buildLike(kernel, value, divisor));
}

Value shardc::codegen::buildRem(GpuKernel &kernel, Value value, int64_t divisor) {
  return arith::RemUIOp::create(kernel.builder, kernel.loc, value, buildLike(kernel, value, divisor));
}

Value shardc::codegen::buildLess(GpuKernel &kernel, Value value, int64_t limit) {
  return arith::CmpIOp::create(kernel.builder, kernel.loc, arith::CmpIPredicate::ult, value,
                               buildLike(kernel, value, limit));
}

Value shardc::codegen::extend(GpuKernel &kernel, Value value) {
  if (value.getType().isInteger(64))
    return value;
  return arith::ExtUIOp::create(kernel.builder, kernel.loc, kernel.builder.getI64Type(), value);
}

Value shardc::codegen::buildAnd(GpuKernel &kernel, Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return arith::AndIOp::create(kernel.builder, kernel.loc, a, b);
}

SmallVector<Value> shardc::codegen::splitNumber(GpuKernel &kernel, Value number, ArrayRef<int64_t> sizes) {
  SmallVector<Value> indices(sizes.size());
  for (size_t dim = sizes.size(); dim-- > 0;) {
    bool isOutermost = dim == 0;
    indices[dim] = extend(kernel, isOutermost ? number : buildRem(kernel, number, sizes[dim]));
    if (!isOutermost)
      number = buildDiv(kernel, number, sizes[dim]);
  }
  return indices;
}

LogicalResult shardc::codegen::buildIf(GpuKernel &kernel, Value condition, function_ref<LogicalResult()> build) {
  if (!condition)
    return build();
  OpBuilder::InsertionGuard guard(kernel.builder);
  auto branch = scf::IfOp::create(kernel.builder, kernel.loc, condition, /*withElseRegion=*/false);
  kernel.builder.setInsertionPointToStart(branch.thenBlock());
  return build();
}

void shardc::codegen::buildBarrier(GpuKernel &kernel) {
  kernel.isCooperative = true;
  gpu::BarrierOp::create(kernel.builder, kernel.loc);
}

int64_t shardc::codegen::takeShared(GpuKernel &kernel, int64_t bytes) {
  int64_t offset = kernel.sharedBytes;
  kernel.sharedBytes += llvm::alignTo(bytes, 8);
  return offset;
}

Value shardc::codegen::loadShared(GpuKernel &kernel, Type elementType, int64_t offset, Value index) {
  return loadScalar(kernel.builder, kernel.loc, elementType, buildSharedElement(kernel, offset, index), {});
}

void shardc::codegen::storeShared(GpuKernel &kernel, Value value, int64_t offset, Value index) {
  storeScalar(kernel.builder, kernel.loc, value.getType(), value, buildSharedElement(kernel, offset, index), {});
}

Value shardc::codegen::combineTree(SmallVector<Value> values, Combine combine) {
  for (size_t half = values.size() / 2; half >= 1; half /= 2)
    for (size_t index = 0; index < half; ++index)
      values[index] = combine(values[index], values[index + half]);
  return values[0];
}

Value shardc::codegen::combineThreads(GpuKernel &kernel, Value value, int64_t threads, Combine combine) {
  for (int64_t distance = std::min(threads, kWarp) / 2; distance >= 1; distance /= 2)
    value = combine(value, shuffle(kernel, value, distance));
  int64_t warps = threads / kWarp;
  if (warps <= 1)
    return value;

  // Each reduction has a place of its own, so that one barrier is enough.
  int64_t place = takeShared(kernel, kernel.block / kWarp * 8);
  Value thread = buildThread(kernel);
  Value warp = buildDiv(kernel, thread, kWarp);
  Value isFirst = arith::CmpIOp::create(kernel.builder, kernel.loc, arith::CmpIPredicate::eq,
                                        buildRem(kernel, thread, kWarp), buildLike(kernel, thread, 0));
  (void)buildIf(kernel, isFirst, [&] {
    storeShared(kernel, value, place, warp);
    return success();
  });
  buildBarrier(kernel);
  Value first =
      arith::MulIOp::create(kernel.builder, kernel.loc, buildDiv(kernel, warp, warps), buildLike(kernel, warp, warps));
  SmallVector<Value> values;
  for (int64_t number = 0; number < warps; ++number) {
    Value index = arith::AddIOp::create(kernel.builder, kernel.loc, first, buildLike(kernel, first, number));
    values.push_back(loadShared(kernel, value.getType(), place, index));
  }
  return combineTree(std::move(values), combine);
}
