//===-- LayoutProblem.h - which layouts a function may have along tp, and what they cost --------------------------===//
//
// `tp` is an order to split the parameters; all else follows where that is cheapest. Within these bounds the problem
// has every layout:
// - Atoms of the batch and of the sequence are not split over tp: a class is eligible if a parameter has it, no
//   input's leading dimensions do, and no op cuts along it.
// - A product with a parameter of rank ≥ 2, and the product that makes its gradient, split an atom of the parameter,
//   in which the parameter is stored.
// - What is split along a vocabulary (Vocabulary.h) stays so: its tables split their rows, and logits are not gathered.
// - Other ops carry a split on but do not begin one: where operands have a part that stems from such a parameter, the
// op
//   is split along it only if one of them comes split that way. (Vectors, masks and iotas follow.)
// - What is split without stemming from such a parameter (a mask made by the rank for itself) is not gathered.
// - A partial activation is all-reduced. A reduce-scatter instead, with what follows on shards until the next
//   all-gather, is sequence parallelism, which is another order. Gradients may be reduce-scattered.
//
// A *strategy* of an op says where its operands must be and where its results are. A value is where its op leaves it
// (its source); consumers that want it elsewhere share one resharded copy for each place.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_LIB_SHARDING_LAYOUTPROBLEM_H
#define SHARDC_LIB_SHARDING_LAYOUTPROBLEM_H

#include "dialects/dist/CostModel.h"
#include "lib/Sharding/CostNetwork.h"
#include "lib/Sharding/Placement.h"

namespace shardc::sharding {

/// One way to run an op.
struct Strategy {
  OpPlacement placement;
  /// The operand that must be produced split as the strategy takes it; -1: none.
  int leader = -1;
  int64_t cost = 0;
};

/// A use of a value: by an operand of an op, or as a returned gradient of a parameter.
struct Use {
  int node;
  unsigned operand;
};

class LayoutProblem {
public:
  struct Node {
    mlir::Operation *op = nullptr; // null for arguments
    mlir::Value argument;
    std::vector<Strategy> strategies;
  };
  struct Edge {
    mlir::Value value;
    int source; // node
    unsigned result;
    llvm::SmallVector<Use> uses;       // ops' operands, in order
    llvm::SmallVector<int> gradientOf; // the nodes of the parameters whose gradient it is returned as
    bool isResult = false;             // returned otherwise: must be complete
    int64_t bytes = 0;                 // on a rank, whole along tp
    bool isZero = false;
    llvm::SmallVector<nn::FactorPart> kept; // parts along which a split is neither gathered nor moved
    llvm::SmallVector<Placement> sources;   // the places that the source's strategies leave it in
  };

  /// `batch` is the layout along dp (its sizes are what a rank computes on). Reports parameters that do not divide.
  static mlir::FailureOr<LayoutProblem> build(mlir::func::FuncOp function, const SubDimensions &subDimensions,
                                              const std::vector<bool> &batchClasses, int64_t batchRanks,
                                              int64_t tensorRanks, int64_t microBatches,
                                              const dist::CostModel &costModel);

  llvm::ArrayRef<Node> getNodes() const { return nodes; }

  /// The exact optimum: a strategy for each node.
  mlir::FailureOr<CostNetwork::Solution> solve() const;
  /// The cost of an assignment of strategies to nodes, with the cheapest reshardings, computed without the network.
  int64_t evaluate(llvm::ArrayRef<int> choices) const;
  /// The layout that an assignment says.
  AxisLayout getLayout(mlir::func::FuncOp function, llvm::ArrayRef<int> choices) const;

private:
  friend class ProblemBuilder;

  /// Femtoseconds to bring a value from one place to another in one collective (slices are free); kInfeasible where
  /// there is none.
  int64_t getReshardCost(const Edge &edge, const Placement &from, const Placement &to) const;
  /// The price of copies of a value beside its source: one that is replicated, from which splits are sliced, or splits.
  int64_t getCopiesCost(const Edge &edge, const Placement &source, llvm::ArrayRef<Placement> copies) const;
  /// What returning a gradient costs beside, with these copies of it there.
  int64_t getGradientCost(const Edge &edge, const Placement &parameter, const Placement &source,
                          llvm::ArrayRef<Placement> copies) const;
  /// Whether a strategy's operand is among the copies of a value (its source being one).
  bool isServed(const Edge &edge, const Use &use, int strategy, const Placement &source,
                llvm::ArrayRef<Placement> copies) const;
  /// The copies that the uses want under an assignment of strategies.
  llvm::SmallVector<Placement> getWanted(const Edge &edge, llvm::ArrayRef<int> choices) const;
  /// Where a gradient of a parameter is returned.
  Placement getReturned(const Edge &edge, int parameter, llvm::ArrayRef<int> choices) const;
  /// What a value is for several consumers: where its source leaves it, and copies elsewhere.
  struct Supply {
    Placement source;
    llvm::SmallVector<Placement> copies;
  };
  void encode(const Edge &edge, CostNetwork &network) const;
  void encodeUse(const Edge &edge, const Use &use, CostNetwork &network) const;
  void encodeSupplies(const Edge &edge, CostNetwork &network) const;
  std::vector<Supply> listSupplies(const Edge &edge) const;
  /// Where the source leaves the edge's value under a strategy of its own.
  const Placement &getSource(const Edge &edge, int strategy) const;

  std::vector<Node> nodes;
  std::vector<Edge> edges;
  int64_t ranks = 1;
  int64_t microBatches = 1;
  const dist::CostModel *costModel = nullptr;
};

} // namespace shardc::sharding

#endif
