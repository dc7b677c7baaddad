//===-- KernelGraph.h - a row or column kernel as loops and strided accesses --------------------------------------===//
//
// The body of an exec.kernel_def speaks of tensors; code speaks of one element at a time. The graph is in between: a
// *node* is a value of the body seen from the kernel's domain, that is, with each of its dimensions placed on a
// dimension of the domain. (A value that is broadcast along two different dimensions becomes two nodes.) What depends
// on the position does so linearly: an operand's element lies at Σ index·stride, and so does the value of nn.iota, the
// element number of nn.rng_uniform and the element of a constant. All of them are *accesses*, vectors of one stride a
// loop, and two loops become one where every access allows it.
//
// Invariants: nodes stand after their operands; a node of level l needs the results of l passes of reductions; strides
// have one entry for each loop; loops have more than one iteration, except where a kernel needs a loop at all.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_CODEGEN_EMIT_KERNELGRAPH_H
#define SHARDC_CODEGEN_EMIT_KERNELGRAPH_H

#include "dialects/exec/Exec.h"

namespace shardc::codegen {

/// Elements of a register: what every reduction's lanes and every vector in a kernel are made of.
inline constexpr int64_t kLanes = 16;

struct Loop {
  int64_t size;
  bool isRow;
};

struct KernelNode {
  mlir::Value value;
  llvm::SmallVector<unsigned> operands;
  /// Arguments, iota, rng_uniform and constants that are no splats are accesses; others have no strides.
  bool isAccess = false;
  llvm::SmallVector<int64_t> strides;
  unsigned level = 0;

  mlir::Operation *getOp() const { return value.getDefiningOp(); }
  bool isReduction() const { return llvm::isa_and_nonnull<nn::ReduceOp>(getOp()); }
  mlir::Type getElementType() const { return mlir::cast<mlir::RankedTensorType>(value.getType()).getElementType(); }
};

struct Write {
  unsigned node;
  unsigned operand; // of the kernel: reads come first
  llvm::SmallVector<int64_t> strides;
};

struct KernelGraph {
  exec::KernelDefOp def;
  llvm::SmallVector<Loop> loops; // rows first
  std::vector<KernelNode> nodes;
  llvm::SmallVector<Write> writes;

  unsigned getNumRowLoops() const;
  bool hasReductions() const;
  /// Whether loop `outer` and the next one are one loop for every access.
  bool canMerge(unsigned outer) const;
  /// Makes one loop of `outer` and the next one, of the next one's kind.
  void merge(unsigned outer);
};

/// The graph of a row or column kernel, its loops the dimensions of the domain. Emits an error where the kernel breaks
/// the kernel model of docs/phases.md.
mlir::FailureOr<KernelGraph> buildKernelGraph(exec::KernelDefOp def);

/// Drops loops of one iteration and merges loops as far as accesses allow. Rows stay apart from the other loops. With
/// `keepLanes`, the innermost loop only grows where its size is a multiple of the lanes, so that element i of a run
/// stays in lane i mod 16.
void collapseLoops(KernelGraph &graph, bool keepLanes);

} // namespace shardc::codegen

#endif
