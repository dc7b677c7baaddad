//===-- Chunk.h - the elements that a thread computes at once -----------------------------------------------------===//
//
// A chunk is `lanes` elements of a kernel's domain, one after another in row-major order. Where they are a *run* (they
// differ in the last loop only), an access to them has one address and a stride; what does not change along the last
// loop is then computed once for all lanes.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_CODEGEN_EMIT_GPU_CHUNK_H
#define SHARDC_CODEGEN_EMIT_GPU_CHUNK_H

#include "../KernelGraph.h"
#include "GpuKernel.h"

namespace shardc::codegen {

struct Chunk {
  int64_t lanes = 1;
  bool isRun = true;
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> indices; // [first lane, or each lane if no run][loop], i64
  mlir::Value mayStore;                                      // i1; null: yes
  llvm::SmallVector<mlir::Value> mayStoreLane;               // by lane, i1; empty: all may
  mlir::Value isInside;                                      // i1: part of the row; null: yes
};

/// By node: one value for all lanes, or one a lane; empty: not computed.
using LaneValues = llvm::SmallVector<llvm::SmallVector<mlir::Value>>;

/// The offset, in elements, of a lane for an access.
mlir::Value getLaneOffset(GpuKernel &kernel, const Chunk &chunk, llvm::ArrayRef<int64_t> strides, int64_t lane);

/// The elements of an operand that the lanes of a chunk touch: in pieces of up to 16 bytes where its strides and the
/// alignment of its pointer allow.
llvm::SmallVector<mlir::Value> loadLanes(GpuKernel &kernel, const Chunk &chunk, unsigned operand,
                                         mlir::Type elementType, llvm::ArrayRef<int64_t> strides);
void storeLanes(GpuKernel &kernel, const Chunk &chunk, unsigned operand, mlir::Type elementType,
                llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<mlir::Value> values);

/// Computes node `index` for a chunk, whose operands are known, unless it is known already.
mlir::LogicalResult buildNodeLanes(GpuKernel &kernel, const KernelGraph &graph, unsigned index, const Chunk &chunk,
                                   LaneValues &values);

/// Stores a write of the kernel for a chunk. A result that lacks a dimension of the domain is stored where that index
/// is 0.
mlir::LogicalResult buildWriteLanes(GpuKernel &kernel, const KernelGraph &graph, const Write &write, const Chunk &chunk,
                                    const LaneValues &values);

/// The largest power of two, at most `most`, that divides `value`.
int64_t getPowerOfTwo(int64_t value, int64_t most);

/// Bytes of an element in memory.
int64_t getElementBytes(mlir::Type elementType);

/// Lanes of chunks of a kernel that reduces nothing: what makes 16 bytes of its smallest operands, at most 8, and
/// divides `run`, the size of the last loop.
int64_t chooseLanes(exec::KernelDefOp def, int64_t run);

} // namespace shardc::codegen

#endif
