//===-- Fuse.cpp - groups ops into kernels ------------------------------------------------------------------------===//

#include "shardc/Codegen/Passes.h"

#include "FusionGraph.h"
#include "Rewriting.h"
#include "dialects/nn/Builders.h"

#include "mlir/IR/IRMapping.h"

#include <set>

namespace shardc::codegen {
#define GEN_PASS_DEF_FUSEPASS
#include "shardc/Codegen/Passes.h.inc"
} // namespace shardc::codegen

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

using nn::getIotaDims;
using nn::getTensorType;

/// A column kernel that would read more tensors than this to recompute a value reads the value instead.
constexpr size_t kMaxReadsToRecompute = 4;

/// Decides which values of fused ops exist in memory.
class Materialization {
public:
  explicit Materialization(const FusionGraph &graph) : graph(graph) {
    for (const Node &node : graph.getNodes())
      if (node.kind == NodeKind::Row || node.kind == NodeKind::Materialize)
        decide(node);
    for (const Node &node : graph.getNodes())
      if (node.kind == NodeKind::Column)
        for (const Source &source : node.sources)
          decideForColumn(source.value, getTensorType(node.op->getOperand(0)).getRank());
  }

  bool isInMemory(Value value) const {
    int node = value.getDefiningOp() ? graph.getNode(value.getDefiningOp()) : -1;
    return node < 0 || graph.getNodes()[node].kind != NodeKind::Row || inMemory.contains(value);
  }

private:
  /// A value is needed in memory by what is no kernel, by other row kernels, and by the function's results.
  void decide(const Node &node) {
    auto reads = [&](const Source &source) {
      int producer = source.value.getDefiningOp() ? graph.getNode(source.value.getDefiningOp()) : -1;
      if (producer >= 0 && graph.getNodes()[producer].group != node.group)
        inMemory.insert(source.value);
    };
    llvm::for_each(node.sources, reads);
    for (Operation *user : node.op->getUsers()) {
      int index = graph.getNode(user);
      bool isKernel = index < 0 ? !user->hasTrait<OpTrait::IsTerminator>()
                                : graph.getNodes()[index].kind != NodeKind::Other &&
                                      graph.getNodes()[index].kind != NodeKind::Single;
      if (!isKernel)
        inMemory.insert(node.op->getResult(0));
    }
  }

  /// A column kernel recomputes elementwise values that nothing else needs in memory, within limits.
  void decideForColumn(Value value, int64_t rank) {
    llvm::SetVector<Value> reads;
    if (isInMemory(value))
      return;
    if (!collectReads(value, rank, reads) || reads.size() > kMaxReadsToRecompute)
      inMemory.insert(value);
    else
      inMemory.insert(reads.begin(), reads.end());
  }

  /// Collects what is read to recompute `value`. Returns false where that is impossible.
  bool collectReads(Value value, int64_t rank, llvm::SetVector<Value> &reads) {
    if (isInMemory(value) || getTensorType(value).getRank() < rank) {
      reads.insert(value);
      return true;
    }
    if (isa<nn::ReduceOp>(value.getDefiningOp()))
      return false;
    for (const Source &source : graph.getNodes()[graph.getNode(value.getDefiningOp())].sources)
      if (!collectReads(source.value, rank, reads))
        return false;
    return true;
  }

  const FusionGraph &graph;
  llvm::DenseSet<Value> inMemory;
};

/// Writes the body of a kernel: clones ops on demand, from the yielded values back to the reads.
class BodyBuilder {
public:
  BodyBuilder(const FusionGraph &graph, const Materialization &memory, int group, Region &region)
      : graph(graph), memory(memory), group(group), block(region.emplaceBlock()) {}

  /// `value` within the body; its dimension i is dimension dims[i] of the domain.
  Value get(Value value, ArrayRef<int64_t> dims) {
    for (auto &[knownDims, inBody] : known[value])
      if (ArrayRef<int64_t>(knownDims) == dims)
        return inBody;
    Value inBody = isComputedHere(value) ? clone(value.getDefiningOp(), dims) : read(value);
    known[value].push_back({SmallVector<int64_t>(dims), inBody});
    return inBody;
  }

  void yield(Location loc, ArrayRef<Value> values) {
    OpBuilder builder(loc.getContext());
    builder.setInsertionPointToEnd(&block);
    exec::YieldOp::create(builder, loc, values);
  }

  SmallVector<Value> reads;

private:
  bool isComputedHere(Value value) const {
    Operation *definition = value.getDefiningOp();
    if (!definition)
      return false;
    if (graph.isGenerator(definition) || isa<nn::BroadcastInDimOp>(definition))
      return true;
    int node = graph.getNode(definition);
    if (graph.getNodes()[node].group == group)
      return true;
    bool isColumn = graph.getNodes()[graph.getGroups()[group].front()].kind == NodeKind::Column;
    return isColumn && graph.getNodes()[node].kind == NodeKind::Row && !memory.isInMemory(value);
  }

  Value read(Value value) {
    reads.push_back(value);
    return block.addArgument(value.getType(), value.getLoc());
  }

  Value clone(Operation *op, ArrayRef<int64_t> dims) {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, get(operand, getOperandDims(op, operand, dims)));
    OpBuilder builder(op->getContext());
    builder.setInsertionPointToEnd(&block);
    Operation *copy = builder.clone(*op, mapping);
    for (StringRef name : {StringRef(dist::kShardingsAttr), StringRef(nn::kBackwardAttr)})
      copy->removeAttr(name);
    return copy->getResult(0);
  }

  /// Which domain dimensions the operand's dimensions are, given those of the result.
  SmallVector<int64_t> getOperandDims(Operation *op, Value operand, ArrayRef<int64_t> dims) const {
    if (auto broadcast = dyn_cast<nn::BroadcastInDimOp>(op)) {
      SmallVector<int64_t> operandDims;
      for (int64_t dim : broadcast.getDims())
        operandDims.push_back(dims[dim]);
      return operandDims;
    }
    if (isa<nn::ReduceOp>(op))
      return getIotaDims(getTensorType(operand).getRank());
    return getTensorType(operand).getRank() == 0 ? SmallVector<int64_t>() : SmallVector<int64_t>(dims);
  }

  const FusionGraph &graph;
  const Materialization &memory;
  int group;
  Block &block;
  llvm::DenseMap<Value, SmallVector<std::pair<SmallVector<int64_t>, Value>>> known;
};

//===-- Kernels ---------------------------------------------------------------------------------------------------===//

int64_t getProduct(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}

/// The columns that an item of a column kernel or a scatter owns.
constexpr int64_t kColumnsPerItem = 64;

int64_t countItems(exec::KernelKind kind, const Domain &domain) {
  ArrayRef<int64_t> shape(domain.shape);
  switch (kind) {
  case exec::KernelKind::Row:
  case exec::KernelKind::Gather:
  case exec::KernelKind::BlockSumSquares:
    return getProduct(shape.take_front(domain.rows));
  case exec::KernelKind::Column:
  case exec::KernelKind::ScatterAdd:
    return (getProduct(shape.drop_front(domain.rows)) + kColumnsPerItem - 1) / kColumnsPerItem;
  case exec::KernelKind::LocalSlice:
    return 1;
  }
  llvm_unreachable("unknown kernel kind");
}

/// Kind and domain of the kernel for an op that is a kernel of its own.
std::pair<exec::KernelKind, Domain> describeSingle(Operation *op) {
  SmallVector<int64_t> shape(getTensorType(op->getResult(0)).getShape());
  if (auto gather = dyn_cast<nn::GatherOp>(op)) {
    int64_t rows = gather.getAxis() + getTensorType(gather.getIndices()).getRank();
    return {exec::KernelKind::Gather, {shape, rows}};
  }
  if (auto scatter = dyn_cast<nn::ScatterAddOp>(op))
    return {exec::KernelKind::ScatterAdd,
            {SmallVector<int64_t>(getTensorType(scatter.getUpdates()).getShape()),
             getTensorType(scatter.getIndices()).getRank()}};
  if (isa<nn::BlockSumSquaresOp>(op))
    return {exec::KernelKind::BlockSumSquares, {shape, 1}};
  return {exec::KernelKind::LocalSlice, {shape, 0}};
}

/// A kernel or an op that stays, on its way into the new function.
struct Item {
  Operation *op = nullptr; // the op that stays; of a kernel the last one that it computes
  bool isKernel = false;
  exec::KernelKind kind = exec::KernelKind::Row;
  Domain domain;
  std::unique_ptr<Region> body;
  SmallVector<Value> reads;   // values of the old function
  SmallVector<Value> outputs; // values of the old function
  int position = 0;           // of the last node
  SmallVector<int> users;
  int unscheduled = 0; // items that this one waits for
};

class FunctionFuser {
public:
  explicit FunctionFuser(Block &block) : block(block), graph(block) {
    graph.merge();
    Materialization memory(graph);
    itemOfNode.assign(graph.getNodes().size(), -1);
    for (auto [group, members] : llvm::enumerate(graph.getGroups()))
      if (!members.empty())
        addItem(memory, group, members);
    addDependences();
  }

  void run() {
    std::set<std::pair<int, int>> ready;
    for (auto [index, item] : llvm::enumerate(items))
      if (item.unscheduled == 0)
        ready.insert({item.position, index});
    while (!ready.empty()) {
      int index = ready.begin()->second;
      ready.erase(ready.begin());
      place(items[index]);
      for (int user : items[index].users)
        if (--items[user].unscheduled == 0)
          ready.insert({items[user].position, user});
    }
    for (OpOperand &operand : block.getTerminator()->getOpOperands())
      operand.set(mapping.lookupOrDefault(operand.get()));
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (!placed.contains(&op) && !op.hasTrait<OpTrait::IsTerminator>())
        op.erase();
  }

private:
  void addItem(const Materialization &memory, int group, ArrayRef<int> members) {
    const Node &last = graph.getNodes()[members.back()];
    Item item;
    item.op = last.op;
    item.position = members.back();
    if (last.kind == NodeKind::Other)
      llvm::append_range(item.reads, last.op->getOperands());
    else if (last.kind == NodeKind::Single)
      buildSingle(item);
    else
      buildRegion(item, memory, group, members);
    if (item.isKernel && item.outputs.empty())
      return;
    for (int member : members)
      itemOfNode[member] = items.size();
    items.push_back(std::move(item));
  }

  void buildSingle(Item &item) {
    item.isKernel = true;
    std::tie(item.kind, item.domain) = describeSingle(item.op);
    item.body = std::make_unique<Region>();
    Block &body = item.body->emplaceBlock();
    IRMapping arguments;
    for (Value operand : item.op->getOperands()) {
      if (arguments.contains(operand))
        continue;
      arguments.map(operand, body.addArgument(operand.getType(), operand.getLoc()));
      item.reads.push_back(operand);
    }
    OpBuilder builder(item.op->getContext());
    builder.setInsertionPointToEnd(&body);
    Operation *copy = builder.clone(*item.op, arguments);
    copy->removeAttr(dist::kShardingsAttr);
    copy->removeAttr(nn::kBackwardAttr);
    exec::YieldOp::create(builder, item.op->getLoc(), copy->getResults());
    item.outputs.push_back(item.op->getResult(0));
  }

  void buildRegion(Item &item, const Materialization &memory, int group, ArrayRef<int> members) {
    NodeKind kind = graph.getNodes()[members.front()].kind;
    item.isKernel = true;
    item.kind = kind == NodeKind::Column ? exec::KernelKind::Column : exec::KernelKind::Row;
    item.domain = *graph.unify(members);
    item.body = std::make_unique<Region>();
    BodyBuilder body(graph, memory, group, *item.body);
    SmallVector<Value> yielded;
    for (int member : members) {
      Value value = graph.getNodes()[member].op->getResult(0);
      if (kind == NodeKind::Row && !memory.isInMemory(value))
        continue;
      SmallVector<int64_t> dims = getIotaDims(getTensorType(value).getRank());
      if (kind == NodeKind::Column)
        for (int64_t &dim : dims)
          dim += item.domain.rows;
      yielded.push_back(body.get(value, dims));
      item.outputs.push_back(value);
    }
    body.yield(item.op->getLoc(), yielded);
    item.reads = body.reads;
  }

  void addDependence(int from, int to) {
    if (from < 0 || from == to || llvm::is_contained(items[from].users, to))
      return;
    items[from].users.push_back(to);
    ++items[to].unscheduled;
  }

  void addDependences() {
    for (auto [index, item] : llvm::enumerate(items))
      for (Value value : item.reads)
        if (Operation *definition = value.getDefiningOp())
          addDependence(itemOfNode[graph.getNode(definition)], index);
    for (auto [node, description] : llvm::enumerate(graph.getNodes()))
      for (int user : description.users)
        if (description.kind == NodeKind::Other && graph.getNodes()[user].kind == NodeKind::Other)
          addDependence(itemOfNode[node], itemOfNode[user]); // also keeps collectives in order
  }

  /// Appends the kernel or op to the function.
  void place(Item &item) {
    if (!item.isKernel) {
      for (OpOperand &operand : item.op->getOpOperands())
        operand.set(mapping.lookupOrDefault(operand.get()));
      item.op->moveBefore(block.getTerminator());
      placed.insert(item.op);
      return;
    }
    OpBuilder builder(block.getTerminator());
    SmallVector<Value> inputs;
    for (Value value : item.reads)
      inputs.push_back(mapping.lookupOrDefault(value));
    SmallVector<Type> types(ValueRange(item.outputs).getTypes());
    auto fusion = exec::FusionOp::create(builder, item.op->getLoc(), types, item.kind,
                                         builder.getDenseI64ArrayAttr(item.domain.shape), item.domain.rows,
                                         countItems(item.kind, item.domain), inputs);
    fusion.getBody().takeBody(*item.body);
    nn::copyOrigin(item.op, fusion);
    for (auto [result, output] : llvm::zip(fusion.getResults(), item.outputs)) {
      if (dist::ShardingAttr sharding = dist::getSharding(output))
        dist::setSharding(result, sharding);
      mapping.map(output, result);
    }
    placed.insert(fusion);
  }

  Block &block;
  FusionGraph graph;
  std::vector<Item> items;
  SmallVector<int> itemOfNode;
  IRMapping mapping;
  llvm::DenseSet<Operation *> placed;
};

struct FusePass : codegen::impl::FusePassBase<FusePass> {
  using FusePassBase::FusePassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    Block &body = function.getBody().front();
    eraseUnusedOps(body);
    FunctionFuser(body).run();
  }
};

} // namespace
