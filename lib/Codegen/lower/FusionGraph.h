//===-- FusionGraph.h - what may be computed by one kernel --------------------------------------------------------===//
//
// The ops of a function as nodes, each in a group; a group becomes one kernel, library call or other instruction.
// Some ops are no nodes, but are duplicated into every kernel that uses them: *generators*, which depend on nothing but
// constants, positions and the control block, and *broadcasts*. Where an instruction that is no kernel uses one, a node
// of its own materialises it.
//
// A row group has a domain X and a number of rows r; each of its values has the shape X or X[0..r), and a use connects
// the two by identity or by a broadcast along the inner dimensions. A column group holds reductions over the leading r
// dimensions of X. Groups only merge where no path leads from one to the other through a third.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_LIB_CODEGEN_LOWER_FUSIONGRAPH_H
#define SHARDC_LIB_CODEGEN_LOWER_FUSIONGRAPH_H

#include "dialects/exec/Exec.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace shardc::codegen {

enum class NodeKind {
  Row,         // fuses; a row kernel
  Column,      // a reduction over leading dimensions
  Single,      // a kernel of one op: gather, scatter_add, block_sum_squares, local_slice
  Materialize, // a generator or broadcast that is needed in memory
  Other,       // a view, library call, collective, pad, concat
};

/// A value that an op uses through broadcasts: dimension i of the value is dimension dims[i] of the operand.
struct Source {
  mlir::Value value;
  llvm::SmallVector<int64_t> dims;
};

struct Node {
  mlir::Operation *op;
  NodeKind kind;
  int group;
  llvm::SmallVector<Source> sources;
  llvm::SmallVector<int> users;
};

/// The iteration space of a kernel.
struct Domain {
  llvm::SmallVector<int64_t> shape;
  int64_t rows;
};

class FusionGraph {
public:
  explicit FusionGraph(mlir::Block &block);

  /// Grows row groups along uses, then joins those that read the same tensors; then joins column groups.
  void merge();

  llvm::ArrayRef<Node> getNodes() const { return nodes; }
  /// The nodes of each group, ascending; empty for groups that were merged into others.
  llvm::ArrayRef<llvm::SmallVector<int>> getGroups() const { return groups; }
  /// The node of an op, or -1.
  int getNode(mlir::Operation *op) const;
  bool isGenerator(mlir::Operation *op) const { return generators.contains(op); }
  /// The domain that the nodes share; none where they do not fit.
  std::optional<Domain> unify(llvm::ArrayRef<int> members) const;

  /// Follows broadcasts from an operand back to where its elements come from.
  static Source getSource(mlir::Value operand);

private:
  void addNode(mlir::Operation *op, NodeKind kind);
  void addEdges();
  NodeKind classify(mlir::Operation *op) const;
  bool hasPathThroughOthers(int from, int to) const;
  bool tryMerge(int a, int b);
  void mergeAlongUses();
  void mergeReaders();
  void mergeColumns();
  std::optional<Domain> unifyColumns(llvm::ArrayRef<int> members) const;
  llvm::DenseSet<mlir::Value> getElementwiseAncestors(int column) const;

  llvm::SmallVector<Node> nodes;
  llvm::SmallVector<llvm::SmallVector<int>> groups;
  llvm::DenseMap<mlir::Operation *, int> nodeOfOp;
  llvm::DenseSet<mlir::Operation *> generators;
};

} // namespace shardc::codegen

#endif
