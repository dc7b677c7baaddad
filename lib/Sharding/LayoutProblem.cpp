//===-- LayoutProblem.cpp - which layouts a function may have along tp, and what they cost ------------------------===//

#include "lib/Sharding/LayoutProblem.h"

#include "lib/Sharding/Parameters.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::sharding;

//===-- Costs of edges --------------------------------------------------------------------------------------------===//

int64_t LayoutProblem::getReshardCost(const Edge &edge, const Placement &from, const Placement &to) const {
  using Kind = dist::CollectiveKind;
  if (from == to || (from.kind == Placement::Replicated && to.kind == Placement::Split))
    return 0;
  if (to.isPartial())
    return edge.isZero && from.kind == Placement::Replicated ? 0 : kInfeasible;
  if (from.kind == Placement::Split &&
      llvm::any_of(edge.kept, [&](const nn::FactorPart &part) { return from == Placement::split(part); }))
    return kInfeasible;
  if (from.isPartial())
    return costModel->getCollectiveTime(to.kind == Placement::Split ? Kind::ReduceScatter : Kind::AllReduce, ranks,
                                        edge.bytes);
  return costModel->getCollectiveTime(to.kind == Placement::Split ? Kind::AllToAll : Kind::AllGather, ranks,
                                      edge.bytes);
}

int64_t LayoutProblem::getCopiesCost(const Edge &edge, const Placement &source, ArrayRef<Placement> copies) const {
  bool hasReplicated = source.kind == Placement::Replicated;
  for (const Placement &copy : copies) {
    hasReplicated |= copy.kind == Placement::Replicated;
    hasReplicated |= source.isPartial() && copy.kind == Placement::Split;
    if (copy.isPartial() && !(copy == source) && !(edge.isZero && source.kind == Placement::Replicated))
      return kInfeasible;
  }
  if (hasReplicated)
    return getReshardCost(edge, source, {});
  int64_t cost = 0;
  for (const Placement &copy : copies)
    cost = addCosts(cost, getReshardCost(edge, source, copy));
  return cost;
}

namespace {

/// Whether some copy is replicated, which the source itself may be.
bool isReplicatedAmong(const Placement &source, ArrayRef<Placement> copies) {
  return source.kind == Placement::Replicated ||
         llvm::any_of(copies, [](const Placement &copy) { return copy.kind == Placement::Replicated; });
}

} // namespace

int64_t LayoutProblem::getGradientCost(const Edge &edge, const Placement &parameter, const Placement &source,
                                       ArrayRef<Placement> copies) const {
  if (source == parameter || isReplicatedAmong(source, copies) || llvm::is_contained(copies, parameter))
    return 0;
  // A partial sum of a replicated parameter is reduced once a step.
  if (parameter.kind == Placement::Replicated && source.kind == Placement::PartialSum)
    return getReshardCost(edge, source, parameter) / microBatches;
  return getReshardCost(edge, source, parameter);
}

bool LayoutProblem::isServed(const Edge &edge, const Use &use, int strategy, const Placement &source,
                             ArrayRef<Placement> copies) const {
  const Strategy &chosen = nodes[use.node].strategies[strategy];
  const Placement &required = chosen.placement.operands[use.operand];
  if (required == source)
    return true;
  if (chosen.leader == static_cast<int>(use.operand))
    return false;
  if (llvm::is_contained(copies, required))
    return true;
  if (required.kind == Placement::PartialSum)
    return edge.isZero && source.kind == Placement::Replicated;
  return required.kind == Placement::Split && isReplicatedAmong(source, copies);
}

//===-- Solving ---------------------------------------------------------------------------------------------------===//

/// Adds the tables of one edge. Values with several consumers get a variable of their own: which copies there are.
void LayoutProblem::encode(const Edge &edge, CostNetwork &network) const {
  size_t consumers = edge.uses.size() + edge.isResult + edge.gradientOf.size();
  if (consumers == 0)
    return;
  if (consumers == 1 && edge.uses.size() == 1)
    return encodeUse(edge, edge.uses[0], network);
  if (consumers > 1 || edge.isResult)
    return encodeSupplies(edge, network);
  int parameter = edge.gradientOf[0];
  network.addCosts(edge.source, parameter, [&](int from, int to) {
    return getGradientCost(edge, nodes[parameter].strategies[to].placement.results[0], getSource(edge, from), {});
  });
}

const Placement &LayoutProblem::getSource(const Edge &edge, int strategy) const {
  return nodes[edge.source].strategies[strategy].placement.results[edge.result];
}

/// The table between the source and its only user.
void LayoutProblem::encodeUse(const Edge &edge, const Use &use, CostNetwork &network) const {
  network.addCosts(edge.source, use.node, [&](int from, int to) {
    const Strategy &strategy = nodes[use.node].strategies[to];
    const Placement &source = getSource(edge, from), &required = strategy.placement.operands[use.operand];
    if (strategy.leader == static_cast<int>(use.operand) && !(source == required))
      return kInfeasible;
    return getCopiesCost(edge, source, {required});
  });
}

/// All that a value may be for its consumers: where its source leaves it, with any set of the copies that they ask for.
std::vector<LayoutProblem::Supply> LayoutProblem::listSupplies(const Edge &edge) const {
  SmallVector<Placement> splits;
  for (const Use &use : edge.uses)
    for (const Strategy &strategy : nodes[use.node].strategies)
      if (const Placement &wanted = strategy.placement.operands[use.operand];
          wanted.kind == Placement::Split && !llvm::is_contained(splits, wanted))
        splits.push_back(wanted);
  std::vector<Supply> supplies;
  for (const Placement &source : edge.sources) {
    supplies.push_back({source, {}});
    if (source.kind != Placement::Replicated)
      supplies.push_back({source, {Placement()}});
    if (source.kind != Placement::Split)
      continue;
    for (unsigned set = 1; set < 1u << splits.size(); ++set) {
      SmallVector<Placement> copies;
      for (auto [index, split] : llvm::enumerate(splits))
        if (set >> index & 1)
          copies.push_back(split);
      if (!llvm::is_contained(copies, source))
        supplies.push_back({source, copies});
    }
  }
  return supplies;
}

/// The variable of a value with several consumers, and its tables with the source and with each of them.
void LayoutProblem::encodeSupplies(const Edge &edge, CostNetwork &network) const {
  std::vector<Supply> supplies = listSupplies(edge);
  int variable = network.addVariable(supplies.size());
  for (auto [index, supply] : llvm::enumerate(supplies)) {
    network.addCost(variable, index, getCopiesCost(edge, supply.source, supply.copies));
    if (edge.isResult && !isReplicatedAmong(supply.source, supply.copies))
      network.addCost(variable, index, kInfeasible);
  }
  network.addCosts(edge.source, variable, [&](int from, int value) {
    return getSource(edge, from) == supplies[value].source ? 0 : kInfeasible;
  });
  for (const Use &use : edge.uses)
    network.addCosts(use.node, variable, [&](int strategy, int value) {
      return isServed(edge, use, strategy, supplies[value].source, supplies[value].copies) ? 0 : kInfeasible;
    });
  for (int parameter : edge.gradientOf)
    network.addCosts(parameter, variable, [&](int strategy, int value) {
      return getGradientCost(edge, nodes[parameter].strategies[strategy].placement.results[0], supplies[value].source,
                             supplies[value].copies);
    });
}

FailureOr<CostNetwork::Solution> LayoutProblem::solve() const {
  CostNetwork network;
  for (const Node &node : nodes) {
    int variable = network.addVariable(node.strategies.size());
    for (auto [index, strategy] : llvm::enumerate(node.strategies))
      network.addCost(variable, index, strategy.cost);
  }
  for (const Edge &edge : edges)
    encode(edge, network);
  FailureOr<CostNetwork::Solution> solution = network.solve();
  if (succeeded(solution))
    solution->values.resize(nodes.size());
  return solution;
}

//===-- Evaluating ------------------------------------------------------------------------------------------------===//

SmallVector<Placement> LayoutProblem::getWanted(const Edge &edge, ArrayRef<int> choices) const {
  SmallVector<Placement> wanted;
  for (const Use &use : edge.uses) {
    const Placement &required = nodes[use.node].strategies[choices[use.node]].placement.operands[use.operand];
    if (!llvm::is_contained(wanted, required))
      wanted.push_back(required);
  }
  if (edge.isResult && !llvm::is_contained(wanted, Placement()))
    wanted.push_back({});
  return wanted;
}

int64_t LayoutProblem::evaluate(ArrayRef<int> choices) const {
  int64_t cost = 0;
  for (auto [node, choice] : llvm::zip_equal(nodes, choices))
    cost = addCosts(cost, node.strategies[choice].cost);
  for (const Edge &edge : edges) {
    const Placement &source = nodes[edge.source].strategies[choices[edge.source]].placement.results[edge.result];
    for (const Use &use : edge.uses) {
      const Strategy &strategy = nodes[use.node].strategies[choices[use.node]];
      if (strategy.leader == static_cast<int>(use.operand) && !(strategy.placement.operands[use.operand] == source))
        return kInfeasible;
    }
    SmallVector<Placement> wanted = getWanted(edge, choices);
    bool sliced =
        source.isPartial() && llvm::any_of(wanted, [](const Placement &copy) { return copy.kind == Placement::Split; });
    if (sliced)
      wanted.push_back({});
    cost = addCosts(cost, getCopiesCost(edge, source, wanted));
    for (int parameter : edge.gradientOf)
      cost = addCosts(cost, getGradientCost(edge, nodes[parameter].strategies[choices[parameter]].placement.results[0],
                                            source, wanted));
  }
  return cost;
}

Placement LayoutProblem::getReturned(const Edge &edge, int parameter, ArrayRef<int> choices) const {
  const Placement &source = nodes[edge.source].strategies[choices[edge.source]].placement.results[edge.result];
  const Placement &stored = nodes[parameter].strategies[choices[parameter]].placement.results[0];
  SmallVector<Placement> wanted = getWanted(edge, choices);
  bool isComplete = llvm::any_of(wanted, [](const Placement &copy) { return !copy.isPartial(); });
  if (stored.kind == Placement::Replicated && source.kind == Placement::PartialSum && !isComplete)
    return source;
  return stored;
}

AxisLayout LayoutProblem::getLayout(func::FuncOp function, ArrayRef<int> choices) const {
  AxisLayout layout;
  layout.arguments.resize(function.getNumArguments());
  for (auto [node, choice] : llvm::zip_equal(nodes, choices)) {
    const OpPlacement &placement = node.strategies[choice].placement;
    if (node.op)
      layout.ops[node.op] = placement;
    else
      layout.arguments[cast<BlockArgument>(node.argument).getArgNumber()] = placement.results[0];
  }
  DenseMap<Value, const Edge *> byValue;
  for (const Edge &edge : edges)
    byValue[edge.value] = &edge;
  for (auto [index, value] : llvm::enumerate(function.getBody().front().getTerminator()->getOperands())) {
    int parameter = getParameterOfGradient(function, index);
    layout.returned.push_back(parameter < 0 ? Placement() : getReturned(*byValue.lookup(value), parameter, choices));
  }
  return layout;
}
