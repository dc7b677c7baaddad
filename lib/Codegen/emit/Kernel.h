//===-- Kernel.h - the function of a kernel while it is being built -----------------------------------------------===//
//
// Every kernel becomes two functions: the entry with the runtime's signature (shardrtKernel), which loads the pointers
// of the operands, and `<name>.body`, which gets them as arguments, so that they can be noalias.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_CODEGEN_EMIT_KERNEL_H
#define SHARDC_CODEGEN_EMIT_KERNEL_H

#include "KernelGraph.h"
#include "Memory.h"

namespace shardc::codegen {

/// The body under construction; the builder stands inside it.
struct Kernel {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  exec::KernelDefOp def;
  llvm::SmallVector<mlir::Value> pointers; // reads, then writes
  mlir::Value control;
  mlir::Value begin, end; // work items, i64; null on a GPU
  /// Globals that hold constants, by op of the body.
  // NOLINTBEGIN(readability-redundant-member-init): makers may leave it out
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> constants =
      llvm::DenseMap<mlir::Operation *, mlir::Operation *>();
  // NOLINTEND(readability-redundant-member-init)
};

/// Builds a node for one position: a scalar, or a vector where `address` and operands are of lanes. `operands` are all
/// scalars or all vectors. Null, with an error, where the op has no body for its element type.
mlir::Value buildNode(Kernel &kernel, const KernelNode &node, mlir::ValueRange operands, const Address &address,
                      bool isVector, mlir::Value mask);

/// `value` in the type of the node: rounded where that is a 16-bit float. What only moves or chooses values is not.
mlir::Value roundResult(Kernel &kernel, const KernelNode &node, mlir::Value value);

/// Uniform numbers for element numbers `position` (i64, scalar or vector): the first word of Philox4x32-10.
mlir::Value buildUniform(Kernel &kernel, mlir::Value position, int64_t id, mlir::Type elementType);

/// A field of the control block.
mlir::Value loadControlField(Kernel &kernel, nn::ControlField field);

/// The coordinate of the rank along an axis of the module's mesh; null, with an error at `op`, where it has none.
mlir::Value loadCoordinate(Kernel &kernel, mlir::Operation *op, llvm::StringRef axis);

/// The neutral element of a reduction in its register type, a scalar or (`isVector`) in all lanes; null, with an error,
/// where there is none.
mlir::Value buildNeutral(Kernel &kernel, nn::ReduceOp reduce, bool isVector);

/// Combines the 16 lanes: (l, l+8), (l, l+4), (l, l+2), (l, l+1).
mlir::Value buildLaneTree(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lanes,
                          llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);

/// The bodies of the kinds of kernels.
mlir::LogicalResult buildRowKernel(Kernel &kernel);
mlir::LogicalResult buildColumnKernel(Kernel &kernel);
mlir::LogicalResult buildGatherKernel(Kernel &kernel);
mlir::LogicalResult buildScatterAddKernel(Kernel &kernel);
mlir::LogicalResult buildBlockSumSquaresKernel(Kernel &kernel);
mlir::LogicalResult buildLocalSliceKernel(Kernel &kernel);

} // namespace shardc::codegen

#endif
