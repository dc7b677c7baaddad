//===-- BuildProblem.cpp - the strategies of every op -------------------------------------------------------------===//

#include "lib/Sharding/Diagnostics.h"
#include "lib/Sharding/LayoutProblem.h"
#include "lib/Sharding/Parameters.h"
#include "lib/Sharding/Vocabulary.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::sharding;

namespace shardc::sharding {

class ProblemBuilder {
  /// Violations that are reported one by one.
  static constexpr size_t kMaxReports = 20;

public:
  ProblemBuilder(func::FuncOp function, const SubDimensions &subDimensions, const std::vector<bool> &batchClasses,
                 int64_t batchRanks, LayoutProblem &problem)
      : function(function), subDimensions(subDimensions), batchClasses(batchClasses), batchRanks(batchRanks),
        problem(problem) {}

  LogicalResult run() {
    findEligibleClasses();
    vocabularies = findVocabularies(function, subDimensions);
    findOrders();
    for (BlockArgument argument : function.getArguments())
      addArgument(argument);
    for (Operation &op : body().without_terminator())
      addOp(&op);
    if (reported.size() > kMaxReports)
      emitError(function.getLoc()) << "and " << reported.size() - kMaxReports << " more parameters [shard-1]";
    if (hasFailed)
      return failure();
    addEdges();
    return success();
  }

private:
  Block &body() { return function.getBody().front(); }

  //===-- What may be split ---------------------------------------------------------------------------------------===//

  /// Classes of a parameter that are no batch, no sequence, and are not cut.
  void findEligibleClasses() {
    eligible.assign(subDimensions.getNumClasses(), false);
    for (BlockArgument argument : function.getArguments())
      if (!getParameterName(function, argument.getArgNumber()).empty())
        for (const Atom &atom : subDimensions.getAtoms(argument))
          eligible[atom.atomClass] = true;
    for (BlockArgument argument : function.getArguments()) {
      if (!getParameterName(function, argument.getArgNumber()).empty())
        continue;
      auto type = cast<RankedTensorType>(argument.getType());
      // Of tokens and labels all dimensions are positions; of data all but the features.
      int64_t positions = isa<FloatType>(type.getElementType()) ? type.getRank() - 1 : type.getRank();
      for (const Atom &atom : subDimensions.getAtoms(argument))
        if (atom.part.dim < positions)
          eligible[atom.atomClass] = false;
    }
    for (int atomClass = 0; atomClass < subDimensions.getNumClasses(); ++atomClass)
      if (subDimensions.isCut(atomClass) || batchClasses[atomClass])
        eligible[atomClass] = false;
  }

  bool divides(int atomClass, int64_t size) const { return eligible[atomClass] && size % problem.ranks == 0; }

  //===-- What must be split --------------------------------------------------------------------------------------===//

  /// An op that must split its parameter, and where that is.
  struct Order {
    unsigned operand;
    BlockArgument parameter;
    bool byVocabulary; // the parameter has a vocabulary that divides
  };

  void findOrders() {
    for (Operation &op : body().without_terminator()) {
      if (op.getNumOperands() < 2 || !isa<nn::ShardableOpInterface>(op) || !hasReduction(&op))
        continue;
      for (unsigned operand = 0; operand < op.getNumOperands(); ++operand)
        if (BlockArgument parameter = findMatrixParameter(function, op.getOperand(operand))) {
          addOrder(&op, operand, parameter);
          break;
        }
    }
    Operation *terminator = body().getTerminator();
    for (unsigned result = 0; result < terminator->getNumOperands(); ++result) {
      int parameter = getParameterOfGradient(function, result);
      if (parameter >= 0 && ordered.contains(function.getArgument(parameter)))
        for (Operation *product : findGradientProducts(terminator->getOperand(result)))
          gradientProducts.insert(product);
    }
  }

  void addOrder(Operation *op, unsigned operand, BlockArgument parameter) {
    bool isTable = false, byVocabulary = false, divides = false;
    for (const OpAtom &atom : subDimensions.getOpAtoms(op)) {
      if (!atom.operands[operand])
        continue;
      bool splits = this->divides(atom.atomClass, atom.size) && atom.kind != nn::FactorKind::Blocked;
      divides |= splits;
      byVocabulary |= splits && vocabularies[atom.atomClass];
      if (atom.kind != nn::FactorKind::Reduction)
        continue;
      bool alone = llvm::count_if(atom.operands, [](const nn::FactorPart &part) { return bool(part); }) == 1;
      isTable |= alone;
    }
    // A table that constants look up (positions) is nobody's vocabulary: what is cheapest.
    if (isTable && !llvm::any_of(op->getOperands(), [&](Value other) {
          return other != op->getOperand(operand) && dependsOnArguments(other);
        }))
      return;
    if (!divides)
      return reportIndivisible(op, parameter);
    orders[op] = {operand, parameter, byVocabulary};
    ordered.insert(parameter);
  }

  void reportIndivisible(Operation *op, BlockArgument parameter) {
    hasFailed = true;
    if (!reported.insert(parameter).second)
      return;
    if (reported.size() > kMaxReports)
      return;
    StringRef name = getParameterName(function, parameter.getArgNumber());
    InFlightDiagnostic error = emitError(op->getLoc());
    error << describeNode(op) << ": parameter '" << name << "' of " << parameter.getType()
          << " does not divide over tp=" << problem.ranks << " [shard-1]";
    for (const Atom &atom : subDimensions.getAtoms(parameter)) {
      if (!eligible[atom.atomClass])
        continue;
      std::string divisors;
      llvm::raw_string_ostream stream(divisors);
      for (int64_t ranks = 1; ranks <= std::min<int64_t>(atom.size, 64); ++ranks)
        if (atom.size % ranks == 0)
          stream << (ranks == 1 ? "" : ", ") << ranks;
      error.attachNote(parameter.getLoc())
          << "dimension " << atom.part.dim << " has the sub-dimension " << atom.size << ", which tp = " << divisors
          << (atom.size > 64 ? ", … divide" : " divide");
    }
  }

  //===-- Nodes ---------------------------------------------------------------------------------------------------===//

  void addArgument(BlockArgument argument) {
    LayoutProblem::Node node;
    node.argument = argument;
    nodeOf[argument] = problem.nodes.size();
    bool isParameter = !getParameterName(function, argument.getArgNumber()).empty();
    if (!ordered.contains(argument))
      node.strategies.push_back({{{}, {Placement()}}});
    for (const Atom &atom : subDimensions.getAtoms(argument))
      if (isParameter && divides(atom.atomClass, atom.size)) {
        node.strategies.push_back({{{}, {Placement::split(atom.part)}}});
        if (ordered.contains(argument))
          rooted.insert(key(argument, atom.part));
      }
    problem.nodes.push_back(std::move(node));
  }

  void addOp(Operation *op) {
    LayoutProblem::Node node;
    node.op = op;
    for (Value result : op->getResults())
      nodeOf[result] = problem.nodes.size();
    const Order *order = orders.contains(op) ? &orders[op] : nullptr;
    bool isGradientProduct = gradientProducts.contains(op);
    if (!order && !isGradientProduct)
      node.strategies.push_back(replicate(op));
    for (const OpAtom &atom : subDimensions.getOpAtoms(op))
      if (divides(atom.atomClass, atom.size) && atom.kind != nn::FactorKind::Blocked &&
          atom.kind != nn::FactorKind::Cut)
        addSplits(op, atom, order, isGradientProduct, node);
    if (!order && !isGradientProduct)
      addLinear(op, node);
    for (const Strategy &strategy : node.strategies)
      for (auto [result, placement] : llvm::zip_equal(op->getResults(), strategy.placement.results))
        if (placement.kind == Placement::PartialSum)
          maybePartial.insert(result);
    if (node.strategies.empty())
      reportUnsplit(op);
    problem.nodes.push_back(std::move(node));
  }

  void reportUnsplit(Operation *op) {
    if (hasFailed)
      return;
    hasFailed = true;
    emitError(op->getLoc()) << describeNode(op) << ": '" << op->getName()
                            << "' makes the gradient of a split parameter, but none of its dimensions divides over tp="
                            << problem.ranks << " [shard-4]";
  }

  static OpPlacement everywhere(Operation *op) {
    return {SmallVector<Placement>(op->getNumOperands()), SmallVector<Placement>(op->getNumResults())};
  }

  Strategy replicate(Operation *op) { return {everywhere(op), -1, getWork(op, everywhere(op), nullptr)}; }

  void addSplits(Operation *op, const OpAtom &atom, const Order *order, bool isGradientProduct,
                 LayoutProblem::Node &node) {
    Strategy strategy{everywhere(op)};
    SmallVector<unsigned> leaders;
    bool inResult = false;
    for (auto [index, part] : llvm::enumerate(atom.operands))
      if (part) {
        strategy.placement.operands[index] = Placement::split(part);
        if (rooted.contains(key(op->getOperand(index), part)))
          leaders.push_back(index);
      }
    for (auto [index, part] : llvm::enumerate(atom.results)) {
      inResult |= bool(part);
      if (part)
        strategy.placement.results[index] = Placement::split(part);
      else if (atom.kind == nn::FactorKind::Reduction)
        strategy.placement.results[index] = Placement::partial(atom.reduction);
      if (part && !leaders.empty())
        rooted.insert(key(op->getResult(index), part));
    }
    strategy.cost = getWork(op, strategy.placement, &atom);
    if (atom.kind == nn::FactorKind::Combined)
      strategy.cost += getCombineTime(op);
    if (order) {
      bool splitsParameter = bool(atom.operands[order->operand]);
      if (!splitsParameter || (order->byVocabulary && !vocabularies[atom.atomClass]))
        return;
      leaders = {order->operand};
    } else if (isGradientProduct) {
      if (!inResult)
        return;
      leaders.clear();
    }
    if (leaders.empty())
      node.strategies.push_back(strategy);
    for (unsigned leader : leaders) {
      strategy.leader = leader;
      node.strategies.push_back(strategy);
    }
  }

  /// Partial sums that go through a linear op.
  void addLinear(Operation *op, LayoutProblem::Node &node) {
    for (const SmallVector<unsigned> &set : cast<nn::ShardableOpInterface>(op).getLinearOperands()) {
      bool any = false, all = true;
      for (unsigned index : set) {
        bool partial = maybePartial.contains(op->getOperand(index));
        any |= partial;
        all &= partial || nn::isZeroTensor(op->getOperand(index));
      }
      if (!any || !all)
        continue;
      Strategy strategy{everywhere(op)};
      for (unsigned index : set)
        strategy.placement.operands[index].kind = Placement::PartialSum;
      for (Placement &result : strategy.placement.results)
        result.kind = Placement::PartialSum;
      strategy.cost = getWork(op, strategy.placement, nullptr);
      node.strategies.push_back(strategy);
    }
  }

  //===-- Costs ---------------------------------------------------------------------------------------------------===//

  static double countBytes(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    unsigned elementBytes = (type.getElementTypeBitWidth() + 7) / 8;
    return static_cast<double>(type.getNumElements()) * elementBytes;
  }

  bool isBatched(Value value) const {
    return llvm::any_of(subDimensions.getAtoms(value), [&](const Atom &atom) { return batchClasses[atom.atomClass]; });
  }

  double countLocalBytes(Value value, const Placement &placement) const {
    double bytes = countBytes(value) / (isBatched(value) ? batchRanks : 1);
    return placement.kind == Placement::Split ? bytes / problem.ranks : bytes;
  }

  /// The roofline time of what one rank does of an op; `atom` is what it splits over tp. Ops that fuse have their
  /// operands in registers, and cost their arithmetic only.
  int64_t getWork(Operation *op, const OpPlacement &placement, const OpAtom *atom) const {
    auto cost = dyn_cast<nn::CostOpInterface>(op);
    if (!cost)
      return 0;
    double whole = 0, local = 0;
    for (auto [operand, place] : llvm::zip_equal(op->getOperands(), placement.operands))
      whole += countBytes(operand), local += countLocalBytes(operand, place);
    for (auto [result, place] : llvm::zip_equal(op->getResults(), placement.results))
      whole += countBytes(result), local += countLocalBytes(result, place);
    double flops = cost.getFlops();
    if (llvm::any_of(subDimensions.getOpAtoms(op), [&](const OpAtom &part) { return batchClasses[part.atomClass]; }))
      flops /= batchRanks;
    if (atom)
      flops /= problem.ranks;
    bool isFused = isa<nn::FusibleOpInterface>(op);
    return problem.costModel->getWorkTime(flops, isFused || whole == 0 ? 0 : cost.getBytes() * (local / whole));
  }

  int64_t getCombineTime(Operation *op) const {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    int64_t replicas = isBatched(op->getResult(0)) ? batchRanks : 1, time = 0;
    for (int64_t elements : cast<nn::ShardableOpInterface>(op).getCombinedElements()) {
      int64_t bytes = elements * ((type.getElementTypeBitWidth() + 7) / 8) / replicas;
      time += problem.costModel->getCollectiveTime(dist::CollectiveKind::AllReduce, problem.ranks, bytes);
    }
    return time;
  }

  //===-- Edges ---------------------------------------------------------------------------------------------------===//

  void addEdges() {
    DenseMap<Value, int> edgeOf;
    auto addEdge = [&](Value value, unsigned result) {
      LayoutProblem::Edge edge;
      edge.value = value;
      edge.source = nodeOf.lookup(value);
      edge.result = result;
      edge.bytes = static_cast<int64_t>(countLocalBytes(value, {}));
      edge.isZero = nn::isZeroTensor(value);
      for (const Atom &atom : subDimensions.getAtoms(value))
        if (vocabularies[atom.atomClass] || !rooted.contains(key(value, atom.part)))
          edge.kept.push_back(atom.part);
      for (const Strategy &strategy : problem.nodes[edge.source].strategies)
        if (!llvm::is_contained(edge.sources, strategy.placement.results[result]))
          edge.sources.push_back(strategy.placement.results[result]);
      edgeOf[value] = problem.edges.size();
      problem.edges.push_back(std::move(edge));
    };
    for (Value argument : function.getArguments())
      addEdge(argument, 0);
    for (Operation &op : body().without_terminator()) {
      for (auto [index, operand] : llvm::enumerate(op.getOperands()))
        problem.edges[edgeOf.lookup(operand)].uses.push_back(
            {nodeOf.lookup(op.getResult(0)), static_cast<unsigned>(index)});
      for (auto [index, result] : llvm::enumerate(op.getResults()))
        addEdge(result, index);
    }
    for (auto [index, value] : llvm::enumerate(body().getTerminator()->getOperands())) {
      LayoutProblem::Edge &edge = problem.edges[edgeOf.lookup(value)];
      int parameter = getParameterOfGradient(function, index);
      if (parameter >= 0)
        edge.gradientOf.push_back(parameter);
      else
        edge.isResult = true;
    }
  }

  static std::pair<Value, std::pair<int, int64_t>> key(Value value, nn::FactorPart part) {
    return {value, {part.dim, part.inner}};
  }

  func::FuncOp function;
  const SubDimensions &subDimensions;
  const std::vector<bool> &batchClasses;
  int64_t batchRanks;
  LayoutProblem &problem;
  std::vector<bool> eligible, vocabularies;
  DenseMap<Operation *, Order> orders;
  DenseSet<Value> ordered;
  DenseSet<Value> reported;
  DenseSet<Operation *> gradientProducts;
  DenseMap<Value, int> nodeOf;
  /// Parts of values that stem from those of a parameter that must be split.
  DenseSet<std::pair<Value, std::pair<int, int64_t>>> rooted;
  DenseSet<Value> maybePartial;
  bool hasFailed = false;
};

} // namespace shardc::sharding

FailureOr<LayoutProblem> LayoutProblem::build(func::FuncOp function, const SubDimensions &subDimensions,
                                              const std::vector<bool> &batchClasses, int64_t batchRanks,
                                              int64_t tensorRanks, int64_t microBatches,
                                              const dist::CostModel &costModel) {
  LayoutProblem problem;
  problem.ranks = tensorRanks;
  problem.microBatches = microBatches;
  problem.costModel = &costModel;
  ProblemBuilder builder(function, subDimensions, batchClasses, batchRanks, problem);
  if (failed(builder.run()))
    return failure();
  return problem;
}
