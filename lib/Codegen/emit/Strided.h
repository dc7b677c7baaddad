//===-- Strided.h - strided views walked in vectors ---------------------------------------------------------------===//
#ifndef SHARDC_CODEGEN_EMIT_STRIDED_H
#define SHARDC_CODEGEN_EMIT_STRIDED_H

#include "Kernel.h"

namespace shardc::codegen {

/// Loops and, for each access to them, one stride a loop.
struct StridedSpace {
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<llvm::SmallVector<int64_t>> strides; // [access][loop]

  /// Drops loops of one iteration and merges loops as far as all accesses allow.
  void collapse();
  int64_t getNumElements() const;
};

/// Splits a row-major number into the indices of `sizes`; scalars or vectors of i64.
llvm::SmallVector<mlir::Value> delinearise(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value number,
                                           llvm::ArrayRef<int64_t> sizes);

/// The offset Σ index · stride, a scalar or vector like the indices; null for 0.
mlir::Value buildOffset(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<mlir::Value> indices,
                        llvm::ArrayRef<int64_t> strides);

/// The addresses of the 16 elements from row-major number `start` on, one for each access of `space`. `isAligned`
/// promises that `start` is a multiple of 16.
llvm::SmallVector<Address> buildAddresses(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value start,
                                          const StridedSpace &space, bool isAligned);

/// Walks all of a (collapsed) space, one vector at a time: `visit` gets the address of every access, from `bases`
/// (null: 0) on, and the mask.
void buildWalk(mlir::OpBuilder &builder, mlir::Location loc, const StridedSpace &space,
               llvm::ArrayRef<mlir::Value> bases, llvm::function_ref<void(llvm::ArrayRef<Address>, mlir::Value)> visit);

/// A vector of columns that an item owns.
struct ColumnVector {
  mlir::Value start; // number of the first column, a multiple of 16
  mlir::Value mask;  // null: all
};

/// Calls `build` inside a loop over the kernel's items, each a block of 64 of `numColumns` columns: once for full
/// blocks and once for a last, shorter one, where there are such.
mlir::LogicalResult buildColumnBlocks(Kernel &kernel, int64_t numColumns,
                                      llvm::function_ref<mlir::LogicalResult(llvm::ArrayRef<ColumnVector>)> build);

/// The strides of an operand (reads, then writes).
llvm::SmallVector<int64_t> getOperandStrides(exec::KernelDefOp def, unsigned operand);

/// The single op of a kernel whose one result is yielded and whose operands are arguments, checked along with the
/// number of items and the operand types; null, with an error, otherwise.
mlir::Operation *getSingleOp(exec::KernelDefOp def, llvm::StringRef name);
mlir::LogicalResult checkItems(exec::KernelDefOp def, int64_t expected);

} // namespace shardc::codegen

#endif
