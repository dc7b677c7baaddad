//===-- FusionGraph.cpp - what may be computed by one kernel ------------------------------------------------------===//

#include "FusionGraph.h"

#include "dialects/nn/Builders.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

using nn::getIotaDims;
using nn::getTensorType;

ArrayRef<int64_t> getResultShape(Operation *op) { return getTensorType(op->getResult(0)).getShape(); }

bool isBroadcast(Operation *op) { return isa<nn::BroadcastInDimOp>(op); }

/// Whether the op could be part of a row or column kernel.
bool isFusible(Operation *op) {
  return isa<nn::FusibleOpInterface, nn::RngUniformOp, dist::AxisIndexOp>(op) && op->getNumResults() == 1;
}

bool isCollective(Operation *op) {
  return isa<dist::AllReduceOp, dist::AllGatherOp, dist::ReduceScatterOp, dist::AllToAllOp>(op);
}

} // namespace

Source FusionGraph::getSource(Value operand) {
  Source source{operand, getIotaDims(getTensorType(operand).getRank())};
  while (auto broadcast = source.value.getDefiningOp<nn::BroadcastInDimOp>()) {
    SmallVector<int64_t> dims;
    for (int64_t dim : broadcast.getDims())
      dims.push_back(source.dims[dim]);
    source = {broadcast.getInput(), dims};
  }
  return source;
}

//===-- Construction ----------------------------------------------------------------------------------------------===//

NodeKind FusionGraph::classify(Operation *op) const {
  if (isa<nn::GatherOp, nn::ScatterAddOp, nn::BlockSumSquaresOp, dist::LocalSliceOp>(op))
    return NodeKind::Single;
  if (!isFusible(op))
    return NodeKind::Other;
  auto reduce = dyn_cast<nn::ReduceOp>(op);
  if (!reduce)
    return NodeKind::Row;
  int64_t kept = getResultShape(op).size();
  bool isInner = reduce.getDims().front() == kept;
  return isInner ? NodeKind::Row : NodeKind::Column;
}

void FusionGraph::addNode(Operation *op, NodeKind kind) {
  int index = nodes.size();
  nodeOfOp[op] = index;
  nodes.push_back({op, kind, index, {}, {}});
  groups.push_back({index});
}

FusionGraph::FusionGraph(Block &block) {
  for (Operation &op : block.without_terminator()) {
    bool dependsOnGenerators =
        llvm::all_of(op.getOperands(), [&](Value v) { return v.getDefiningOp() && isGenerator(v.getDefiningOp()); });
    if (isFusible(&op) && !isa<nn::ReduceOp>(op) && dependsOnGenerators)
      generators.insert(&op);
  }
  auto isDuplicated = [&](Operation *op) { return isGenerator(op) || isBroadcast(op); };
  for (Operation &op : block.without_terminator()) {
    if (!isDuplicated(&op)) {
      addNode(&op, classify(&op));
      continue;
    }
    auto needsMemory = [&](Operation *user) {
      return !isDuplicated(user) && (!isFusible(user) || user->hasTrait<OpTrait::IsTerminator>());
    };
    if (llvm::any_of(op.getUsers(), needsMemory))
      addNode(&op, NodeKind::Materialize);
  }
  addEdges();
}

void FusionGraph::addEdges() {
  int lastCollective = -1;
  for (auto [index, node] : llvm::enumerate(nodes)) {
    bool isKernel = node.kind == NodeKind::Row || node.kind == NodeKind::Column || node.kind == NodeKind::Materialize;
    for (Value operand : node.op->getOperands()) {
      Source source = isKernel ? getSource(operand) : Source{operand, getIotaDims(getTensorType(operand).getRank())};
      Operation *definition = source.value.getDefiningOp();
      if (definition && isKernel && isGenerator(definition))
        continue;
      if (node.kind == NodeKind::Materialize && isBroadcast(node.op))
        source.dims = getSource(node.op->getResult(0)).dims;
      node.sources.push_back(source);
      if (definition)
        nodes[nodeOfOp.at(definition)].users.push_back(index);
    }
    if (!isCollective(node.op))
      continue;
    if (lastCollective >= 0)
      nodes[lastCollective].users.push_back(index);
    lastCollective = index;
  }
}

int FusionGraph::getNode(Operation *op) const {
  auto it = nodeOfOp.find(op);
  return it == nodeOfOp.end() ? -1 : it->second;
}

//===-- Domains ---------------------------------------------------------------------------------------------------===//

std::optional<Domain> FusionGraph::unifyColumns(ArrayRef<int> members) const {
  Domain domain;
  for (int member : members) {
    auto reduce = cast<nn::ReduceOp>(nodes[member].op);
    ArrayRef<int64_t> shape = getTensorType(reduce.getInput()).getShape();
    int64_t rows = reduce.getDims().size();
    if (member != members.front() && (shape != ArrayRef<int64_t>(domain.shape) || rows != domain.rows))
      return std::nullopt;
    domain = {SmallVector<int64_t>(shape), rows};
  }
  return domain;
}

std::optional<Domain> FusionGraph::unify(ArrayRef<int> members) const {
  if (nodes[members.front()].kind == NodeKind::Column)
    return unifyColumns(members);
  ArrayRef<int64_t> domain;
  SmallVector<ArrayRef<int64_t>> shapes;
  for (int member : members) {
    shapes.push_back(getResultShape(nodes[member].op));
    if (auto reduce = dyn_cast<nn::ReduceOp>(nodes[member].op))
      shapes.push_back(getTensorType(reduce.getInput()).getShape());
  }
  for (ArrayRef<int64_t> shape : shapes)
    if (shape.size() > domain.size())
      domain = shape;
  int64_t rows = -1;
  for (ArrayRef<int64_t> shape : shapes) {
    int64_t rank = shape.size();
    if (shape != domain.take_front(rank))
      return std::nullopt;
    if (shape.size() == domain.size())
      continue;
    if (rows >= 0 && rows != rank)
      return std::nullopt;
    rows = rank;
  }
  for (int member : members) {
    const Node &node = nodes[member];
    if (auto reduce = dyn_cast<nn::ReduceOp>(node.op))
      if (getTensorType(reduce.getInput()).getShape() != domain)
        return std::nullopt;
    for (const Source &source : node.sources) {
      int producer = source.value.getDefiningOp() ? getNode(source.value.getDefiningOp()) : -1;
      if (producer < 0 || !llvm::is_contained(members, producer))
        continue;
      int64_t rank = source.dims.size();
      if (source.dims != getIotaDims(rank) || getTensorType(source.value).getShape() != domain.take_front(rank))
        return std::nullopt;
    }
  }
  // Without a reduction that asks for it, short rows are not worth the parallelism that they cost.
  bool hasReduce = llvm::any_of(members, [&](int member) { return isa<nn::ReduceOp>(nodes[member].op); });
  if (!hasReduce && rows >= 0 && rows + 1 != static_cast<int64_t>(domain.size()))
    return std::nullopt;
  if (rows < 0)
    rows = domain.empty() ? 0 : domain.size() - 1;
  return Domain{SmallVector<int64_t>(domain), rows};
}

//===-- Merging ---------------------------------------------------------------------------------------------------===//

/// Whether a path leads from one group to another through a third. Edges go forward in program order, so that groups
/// that begin after the end of `to` cannot lead to it.
bool FusionGraph::hasPathThroughOthers(int from, int to) const {
  int end = groups[to].back();
  SmallVector<int> stack;
  llvm::DenseSet<int> seen;
  auto visit = [&](int group, bool isStart) {
    for (int member : groups[group])
      for (int user : nodes[member].users) {
        int next = nodes[user].group;
        if (next == to && !isStart)
          return true;
        if (next != from && next != to && groups[next].front() <= end && seen.insert(next).second)
          stack.push_back(next);
      }
    return false;
  };
  visit(from, true);
  while (!stack.empty())
    if (visit(stack.pop_back_val(), false))
      return true;
  return false;
}

bool FusionGraph::tryMerge(int a, int b) {
  SmallVector<int> members(groups[a]);
  llvm::append_range(members, groups[b]);
  llvm::sort(members);
  if (!unify(members) || hasPathThroughOthers(a, b) || hasPathThroughOthers(b, a))
    return false;
  int target = std::min(a, b), gone = std::max(a, b);
  groups[target] = std::move(members);
  groups[gone].clear();
  for (int member : groups[target])
    nodes[member].group = target;
  return true;
}

void FusionGraph::mergeAlongUses() {
  for (Node &node : nodes) {
    if (node.kind != NodeKind::Row)
      continue;
    for (const Source &source : node.sources) {
      int producer = source.value.getDefiningOp() ? getNode(source.value.getDefiningOp()) : -1;
      if (producer >= 0 && nodes[producer].kind == NodeKind::Row && nodes[producer].group != node.group)
        tryMerge(nodes[producer].group, node.group);
    }
  }
}

/// Joins row groups that read the same tensor with all of their domain.
void FusionGraph::mergeReaders() {
  llvm::MapVector<Value, SmallVector<int>> readers;
  for (auto [index, node] : llvm::enumerate(nodes))
    if (node.kind == NodeKind::Row)
      for (const Source &source : node.sources)
        if (getTensorType(source.value).getRank() > 0)
          readers[source.value].push_back(index);
  auto hasDomain = [&](int group, Value value) {
    std::optional<Domain> domain = unify(groups[group]);
    return domain && ArrayRef<int64_t>(domain->shape) == getTensorType(value).getShape();
  };
  for (auto &[value, users] : readers)
    for (size_t i = 0; i < users.size(); ++i)
      for (size_t j = i + 1; j < users.size(); ++j) {
        int a = nodes[users[i]].group, b = nodes[users[j]].group;
        if (a != b && hasDomain(a, value) && hasDomain(b, value))
          tryMerge(a, b);
      }
}

/// The operand of a column reduction and what it is computed from, element by element on the same shape.
llvm::DenseSet<Value> FusionGraph::getElementwiseAncestors(int column) const {
  Value operand = nodes[column].op->getOperand(0);
  ArrayRef<int64_t> shape = getTensorType(operand).getShape();
  llvm::DenseSet<Value> ancestors;
  SmallVector<int> stack{column};
  while (!stack.empty()) {
    for (const Source &source : nodes[stack.pop_back_val()].sources) {
      if (getTensorType(source.value).getShape() != shape || !ancestors.insert(source.value).second)
        continue;
      int producer = source.value.getDefiningOp() ? getNode(source.value.getDefiningOp()) : -1;
      if (producer >= 0 && nodes[producer].kind == NodeKind::Row && !isa<nn::ReduceOp>(nodes[producer].op))
        stack.push_back(producer);
    }
  }
  return ancestors;
}

/// Joins column reductions over the same dimensions of tensors that have something to do with one another.
void FusionGraph::mergeColumns() {
  SmallVector<int> columns;
  for (auto [index, node] : llvm::enumerate(nodes))
    if (node.kind == NodeKind::Column)
      columns.push_back(index);
  for (size_t i = 0; i < columns.size(); ++i) {
    llvm::DenseSet<Value> ancestors = getElementwiseAncestors(columns[i]);
    for (size_t j = i + 1; j < columns.size(); ++j) {
      int a = nodes[columns[i]].group, b = nodes[columns[j]].group;
      if (a == b || !unifyColumns({columns[i], columns[j]}))
        continue;
      llvm::DenseSet<Value> others = getElementwiseAncestors(columns[j]);
      if (llvm::any_of(others, [&](Value value) { return ancestors.contains(value); }))
        tryMerge(a, b);
    }
  }
}

void FusionGraph::merge() {
  mergeAlongUses();
  mergeReaders();
  mergeColumns();
}
