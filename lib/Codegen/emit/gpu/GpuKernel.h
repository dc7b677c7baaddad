//===-- GpuKernel.h - the gpu.func of a kernel while it is being built --------------------------------------------===//
//
// Its arguments are the pointers of the operands (reads, then writes) and of the control block, in global memory. Code
// is that of one thread, on scalars; where lanes follow one another in memory, a thread loads and stores up to 16 bytes
// at once.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_CODEGEN_EMIT_GPU_GPUKERNEL_H
#define SHARDC_CODEGEN_EMIT_GPU_GPUKERNEL_H

#include "../Kernel.h"
#include "Launch.h"

namespace shardc::codegen {

struct KernelGraph;

/// On kernel definitions: what the pointers of operands are multiples of, in bytes (array of i64).
inline constexpr llvm::StringLiteral kAlignmentsAttr = "exec.alignments";
/// On gpu.funcs, beside their known block and grid sizes: bytes of shared memory (i64), and whether threads meet
/// (unit).
inline constexpr llvm::StringLiteral kSharedBytesAttr = "exec.shared_bytes";
inline constexpr llvm::StringLiteral kCooperativeAttr = "exec.cooperative";

/// The body under construction, and the launch that it is made for.
struct GpuKernel : Kernel {
  explicit GpuKernel(Kernel kernel) : Kernel(std::move(kernel)) {}

  llvm::SmallVector<int64_t> alignments; // of operands' pointers, in bytes
  int64_t grid = 1, block = kBlock, sharedBytes = 0;
  bool isCooperative = false; // has barriers or shuffles
};

/// Numbers of this thread and block, i32.
mlir::Value buildThread(GpuKernel &kernel);
mlir::Value buildBlock(GpuKernel &kernel);
/// Block · block size + thread: i32, or i64 where `count` threads do not fit.
mlir::Value buildGlobalThread(GpuKernel &kernel, int64_t count);

/// Constants and arithmetic in the type of `like` (i32 or i64); numbers are not negative.
mlir::Value buildLike(GpuKernel &kernel, mlir::Value like, int64_t value);
mlir::Value buildDiv(GpuKernel &kernel, mlir::Value value, int64_t divisor);
mlir::Value buildRem(GpuKernel &kernel, mlir::Value value, int64_t divisor);
mlir::Value buildLess(GpuKernel &kernel, mlir::Value value, int64_t limit);
/// `value` as i64.
mlir::Value extend(GpuKernel &kernel, mlir::Value value);
/// Both, where null stands for true.
mlir::Value buildAnd(GpuKernel &kernel, mlir::Value a, mlir::Value b);

/// Splits a row-major number into indices (i64) of `sizes`. Divisors are constants, so that no division is left.
llvm::SmallVector<mlir::Value> splitNumber(GpuKernel &kernel, mlir::Value number, llvm::ArrayRef<int64_t> sizes);

/// Runs `build` where `condition` holds; null: always.
mlir::LogicalResult buildIf(GpuKernel &kernel, mlir::Value condition, llvm::function_ref<mlir::LogicalResult()> build);

void buildBarrier(GpuKernel &kernel);

/// Appends `bytes` to the block's shared memory; their offset, a multiple of 8.
int64_t takeShared(GpuKernel &kernel, int64_t bytes);
/// A value of `elementType` at shared memory's `offset` (bytes) + `index` (i32) · 8.
mlir::Value loadShared(GpuKernel &kernel, mlir::Type elementType, int64_t offset, mlir::Value index);
void storeShared(GpuKernel &kernel, mlir::Value value, int64_t offset, mlir::Value index);

using Combine = llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>;

/// Combines values (a power of two): (i, i + n/2), then (i, i + n/4) …
mlir::Value combineTree(llvm::SmallVector<mlir::Value> values, Combine combine);

/// Combines the values of `threads` neighbouring threads (a power of two; the first one's number a multiple of it):
/// (t, t xor 16) … (t, t xor 1) within a warp, then the warps as combineTree does, through shared memory. All threads
/// of the block take part, and each gets the result of its own neighbours.
mlir::Value combineThreads(GpuKernel &kernel, mlir::Value value, int64_t threads, Combine combine);

/// The bodies of the kinds of kernels.
mlir::LogicalResult buildGpuElementwiseKernel(GpuKernel &kernel, KernelGraph &graph);
mlir::LogicalResult buildGpuRowKernel(GpuKernel &kernel);
mlir::LogicalResult buildGpuColumnKernel(GpuKernel &kernel);
mlir::LogicalResult buildGpuGatherKernel(GpuKernel &kernel);
mlir::LogicalResult buildGpuScatterAddKernel(GpuKernel &kernel);
mlir::LogicalResult buildGpuBlockSumSquaresKernel(GpuKernel &kernel);
mlir::LogicalResult buildGpuLocalSliceKernel(GpuKernel &kernel);

} // namespace shardc::codegen

#endif
