//===-- RowKernel.cpp - rows one after another, a pass over the inner loops for each level of reductions ----------===//
//
// Values have a *scope*: 0 if no inner loop changes them (computed once a row, as scalars), s if inner loop s is the
// innermost that does. The innermost scope is that of vectors: 16 positions of the last loop at once, with a masked
// tail.
//
//     for each row:                                       (or for each segment, see below)
//       scalars of level 0
//       pass 0: inner loops, values of level 0; accumulators of reductions of level 0; stores
//       scalars of level 1 (results of those reductions, and what follows)
//       pass 1: …                                          (reads back what pass 0 has stored)
//       stores of scalars
//
// Kernels without reductions may join their last row loop with the first inner loop: then the items of one outer row
// are a *segment* of that loop, from `lo` to `hi`, so that short rows still fill vectors.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "../Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

/// What is known at a point of the loop nest; null offsets are 0, null values are not (yet) computed.
struct State {
  SmallVector<Value> values;       // by node
  SmallVector<Value> nodeOffsets;  // by node, of accesses
  SmallVector<Value> writeOffsets; // by write
};

class RowBuilder {
public:
  RowBuilder(Kernel &kernel, KernelGraph &graph)
      : kernel(kernel), builder(kernel.builder), loc(kernel.loc), graph(graph) {}

  LogicalResult build();

private:
  void joinRowsAndInnerLoops();
  void analyse();
  unsigned getScope(ArrayRef<int64_t> strides) const;
  bool isVectorScope(unsigned scope) const { return scope > 0 && scope == numInner; }

  LogicalResult buildRow(Value outer);
  void advance(State &state, unsigned loop, Value index);
  LogicalResult buildScalars(State &state, unsigned level);
  LogicalResult buildNodes(State &state, unsigned pass, unsigned scope, Value mask);
  LogicalResult buildWrites(State &state, unsigned pass, unsigned scope, Value mask);
  LogicalResult buildPass(State &state, unsigned pass);
  LogicalResult buildLoop(State &state, unsigned pass, unsigned inner, SmallVector<Value> &accumulators);
  LogicalResult buildVectorLoop(State &state, unsigned pass, SmallVector<Value> &accumulators);
  LogicalResult buildVectorBody(State state, unsigned pass, Value position, Value mask,
                                SmallVector<Value> &accumulators);
  SmallVector<bool> getNeeded(unsigned pass) const;
  SmallVector<unsigned> getReductions(unsigned pass) const;
  unsigned getWritePass(const Write &write) const;
  std::optional<unsigned> getStored(unsigned node, unsigned pass) const;
  scf::ForOp openLoop(Value from, Value to, int64_t step, ArrayRef<Value> accumulators);
  void store(const Write &write, Value value, Value offset, bool isVector, Value mask);
  Value buildGuard(const Write &write);

  Kernel &kernel;
  OpBuilder &builder;
  Location loc;
  KernelGraph &graph;

  unsigned numRows = 0, numInner = 0, numPasses = 0;
  int64_t segmentRows = 1;           // items of one outer row
  int64_t segmentStep = 1;           // iterations of the first inner loop that are one item
  SmallVector<unsigned> scopes;      // by node
  SmallVector<unsigned> writeScopes; // by write
  SmallVector<Value> rowIndices;     // by row loop
  Value lo, hi;                      // of the segment; null: the whole loop
};

unsigned RowBuilder::getScope(ArrayRef<int64_t> strides) const {
  for (unsigned scope = numInner; scope > 0; --scope)
    if (strides[numRows + scope - 1] != 0)
      return scope;
  return 0;
}

void RowBuilder::joinRowsAndInnerLoops() {
  numRows = graph.getNumRowLoops();
  bool hasInner = graph.loops.size() > numRows;
  if (graph.hasReductions()) {
    if (hasInner)
      return;
    // A reduction of single elements still takes its lanes.
    graph.loops.push_back({1, false});
    for (KernelNode &node : graph.nodes)
      if (node.isAccess)
        node.strides.push_back(0);
    for (Write &write : graph.writes)
      write.strides.push_back(0);
    return;
  }
  if (numRows == 0)
    return;
  segmentRows = graph.loops[numRows - 1].size;
  if (!hasInner) {
    graph.loops[numRows - 1].isRow = false;
  } else if (graph.canMerge(numRows - 1)) {
    segmentStep = graph.loops[numRows].size;
    graph.merge(numRows - 1);
  } else {
    segmentRows = 1;
    return;
  }
  --numRows;
}

void RowBuilder::analyse() {
  numInner = graph.loops.size() - numRows;
  for (const KernelNode &node : graph.nodes) {
    unsigned scope = node.isAccess ? getScope(node.strides) : 0;
    if (!node.isReduction())
      for (unsigned operand : node.operands)
        scope = std::max(scope, scopes[operand]);
    scopes.push_back(scope);
    if (node.isReduction())
      numPasses = std::max(numPasses, node.level);
  }
  for (const Write &write : graph.writes) {
    writeScopes.push_back(std::max(scopes[write.node], getScope(write.strides)));
    if (writeScopes.back() > 0)
      numPasses = std::max(numPasses, graph.nodes[write.node].level + 1);
  }
}

/// A write goes out as soon as its value is there, unless it may overwrite what later passes read.
unsigned RowBuilder::getWritePass(const Write &write) const {
  return kernel.def.getInPlace() ? numPasses - 1 : graph.nodes[write.node].level;
}

SmallVector<unsigned> RowBuilder::getReductions(unsigned pass) const {
  SmallVector<unsigned> reductions;
  for (auto [index, node] : llvm::enumerate(graph.nodes))
    if (node.isReduction() && node.level == pass + 1)
      reductions.push_back(index);
  return reductions;
}

/// The write that has put `node` into memory in an earlier pass, element by element and for every row, if there is one:
/// a later pass reads it back, which costs less than to compute a dropout mask again. Operands are in memory already.
std::optional<unsigned> RowBuilder::getStored(unsigned node, unsigned pass) const {
  if (graph.nodes[node].isAccess || !isVectorScope(scopes[node]))
    return {};
  for (auto [index, write] : llvm::enumerate(graph.writes))
    if (write.node == node && getWritePass(write) < pass && !llvm::is_contained(write.strides, 0))
      return index;
  return {};
}

/// The nodes that the inner loops of a pass use.
SmallVector<bool> RowBuilder::getNeeded(unsigned pass) const {
  SmallVector<bool> needed(graph.nodes.size(), false);
  for (unsigned reduction : getReductions(pass))
    needed[graph.nodes[reduction].operands[0]] = true;
  for (auto [write, scope] : llvm::zip(graph.writes, writeScopes))
    if (scope > 0 && getWritePass(write) == pass)
      needed[write.node] = true;
  for (int index = graph.nodes.size() - 1; index >= 0; --index)
    if (needed[index] && !graph.nodes[index].isReduction() && !getStored(index, pass))
      for (unsigned operand : graph.nodes[index].operands)
        needed[operand] = true;
  return needed;
}

/// Enters iteration `index` of a loop.
void RowBuilder::advance(State &state, unsigned loop, Value index) {
  for (auto [node, offset] : llvm::zip(graph.nodes, state.nodeOffsets))
    if (node.isAccess)
      offset = addI64(builder, loc, offset, scaleI64(builder, loc, index, node.strides[loop]));
  for (auto [write, offset] : llvm::zip(graph.writes, state.writeOffsets))
    offset = addI64(builder, loc, offset, scaleI64(builder, loc, index, write.strides[loop]));
}

/// Values of scope 0 at a level, once a row.
LogicalResult RowBuilder::buildScalars(State &state, unsigned level) {
  for (auto [index, node] : llvm::enumerate(graph.nodes)) {
    if (scopes[index] != 0 || node.level != level || state.values[index])
      continue;
    SmallVector<Value> operands;
    for (unsigned operand : node.operands)
      operands.push_back(state.values[operand]);
    Value value = buildNode(kernel, node, operands, {state.nodeOffsets[index], 0, {}}, /*isVector=*/false, {});
    if (!value)
      return failure();
    state.values[index] = value;
  }
  return success();
}

/// Values of an inner scope that a pass needs.
LogicalResult RowBuilder::buildNodes(State &state, unsigned pass, unsigned scope, Value mask) {
  bool isVector = isVectorScope(scope);
  SmallVector<bool> needed = getNeeded(pass);
  for (auto [index, node] : llvm::enumerate(graph.nodes)) {
    if (!needed[index] || scopes[index] != scope)
      continue;
    if (std::optional<unsigned> stored = getStored(index, pass)) {
      const Write &write = graph.writes[*stored];
      Address address{state.writeOffsets[*stored], write.strides.back(), {}};
      state.values[index] =
          loadVector(builder, loc, node.getElementType(), kernel.pointers[write.operand], address, mask);
      continue;
    }
    SmallVector<Value> operands;
    for (unsigned operand : node.operands)
      operands.push_back(isVector ? broadcastLanes(builder, loc, state.values[operand]) : state.values[operand]);
    int64_t laneStride = isVector && node.isAccess ? node.strides.back() : 0;
    Address address{state.nodeOffsets[index], laneStride, {}};
    Value value = buildNode(kernel, node, operands, address, isVector, mask);
    if (!value)
      return failure();
    state.values[index] = value;
  }
  return success();
}

/// A result that lacks a row dimension is written by the first row only: rows may run on different threads.
Value RowBuilder::buildGuard(const Write &write) {
  Value guard;
  auto require = [&](Value index) {
    Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, index, buildI64(builder, loc, 0));
    guard = guard ? arith::AndIOp::create(builder, loc, guard, isFirst).getResult() : isFirst;
  };
  for (unsigned row = 0; row < numRows; ++row)
    if (write.strides[row] == 0)
      require(rowIndices[row]);
  if (lo && write.strides[numRows] == 0)
    require(lo);
  return guard;
}

void RowBuilder::store(const Write &write, Value value, Value offset, bool isVector, Value mask) {
  OpBuilder::InsertionGuard insertionGuard(builder);
  if (Value guard = buildGuard(write)) {
    auto branch = scf::IfOp::create(builder, loc, guard, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  Value pointer = kernel.pointers[write.operand];
  Type element = graph.nodes[write.node].getElementType();
  if (isVector)
    storeVector(builder, loc, element, broadcastLanes(builder, loc, value), pointer, {offset, write.strides.back(), {}},
                mask);
  else
    storeScalar(builder, loc, element, value, pointer, offset);
}

LogicalResult RowBuilder::buildWrites(State &state, unsigned pass, unsigned scope, Value mask) {
  for (auto [index, write] : llvm::enumerate(graph.writes))
    if (writeScopes[index] == scope && (scope == 0 || getWritePass(write) == pass))
      store(write, state.values[write.node], state.writeOffsets[index], isVectorScope(scope), mask);
  return success();
}

scf::ForOp RowBuilder::openLoop(Value from, Value to, int64_t step, ArrayRef<Value> accumulators) {
  auto loop = scf::ForOp::create(builder, loc, from, to, buildI64(builder, loc, step), accumulators);
  builder.setInsertionPointToStart(loop.getBody());
  return loop;
}

LogicalResult RowBuilder::buildVectorBody(State state, unsigned pass, Value position, Value mask,
                                          SmallVector<Value> &accumulators) {
  advance(state, graph.loops.size() - 1, position);
  if (failed(buildNodes(state, pass, numInner, mask)) || failed(buildWrites(state, pass, numInner, mask)))
    return failure();
  for (auto [accumulator, reduction] : llvm::zip(accumulators, getReductions(pass))) {
    const KernelNode &node = graph.nodes[reduction];
    auto reduce = cast<nn::ReduceOp>(node.getOp());
    Value next = broadcastLanes(builder, loc, state.values[node.operands[0]]);
    if (mask)
      next = arith::SelectOp::create(builder, loc, mask, next, buildNeutral(kernel, reduce, /*isVector=*/true));
    accumulator = reduce.buildScalar(builder, loc, {accumulator, next});
    if (!accumulator)
      return failure();
  }
  return success();
}

/// Full vectors, then a masked tail, which is there only where it can have elements.
LogicalResult RowBuilder::buildVectorLoop(State &state, unsigned pass, SmallVector<Value> &accumulators) {
  bool isSegment = lo && numInner == 1;
  int64_t size = graph.loops.back().size;
  Value from = isSegment ? lo : buildI64(builder, loc, 0), to = isSegment ? hi : buildI64(builder, loc, size);
  int64_t granule = isSegment ? segmentStep : size;
  Value fullEnd = to;
  if (isSegment && granule % kLanes != 0) {
    Value length = arith::SubIOp::create(builder, loc, to, from);
    Value lanes = buildI64(builder, loc, kLanes);
    Value vectors = arith::DivSIOp::create(builder, loc, length, lanes);
    fullEnd = arith::AddIOp::create(builder, loc, from, arith::MulIOp::create(builder, loc, vectors, lanes));
  } else if (!isSegment) {
    fullEnd = buildI64(builder, loc, size / kLanes * kLanes);
  }
  if (isSegment || size >= kLanes) {
    OpBuilder::InsertionGuard guard(builder);
    scf::ForOp loop = openLoop(from, fullEnd, kLanes, accumulators);
    SmallVector<Value> inside(loop.getRegionIterArgs());
    if (failed(buildVectorBody(state, pass, loop.getInductionVar(), {}, inside)))
      return failure();
    if (!inside.empty())
      scf::YieldOp::create(builder, loc, inside);
    accumulators.assign(loop.getResults().begin(), loop.getResults().end());
  }
  if (granule % kLanes == 0)
    return success();
  if (!isSegment)
    return buildVectorBody(state, pass, fullEnd, buildTailMask(builder, loc, size % kLanes), accumulators);
  // Reductions have no segments, so there are no accumulators to hand on.
  OpBuilder::InsertionGuard guard(builder);
  Value rest = arith::SubIOp::create(builder, loc, to, fullEnd);
  Value hasRest = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt, rest, buildI64(builder, loc, 0));
  auto branch = scf::IfOp::create(builder, loc, hasRest, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  return buildVectorBody(state, pass, fullEnd, buildTailMask(builder, loc, rest), accumulators);
}

/// Inner loop number `inner`, from 0, and those in it.
LogicalResult RowBuilder::buildLoop(State &state, unsigned pass, unsigned inner, SmallVector<Value> &accumulators) {
  if (inner + 1 == numInner)
    return buildVectorLoop(state, pass, accumulators);
  OpBuilder::InsertionGuard guard(builder);
  bool isSegment = lo && inner == 0;
  Value from = isSegment ? lo : buildI64(builder, loc, 0);
  Value to = isSegment ? hi : buildI64(builder, loc, graph.loops[numRows + inner].size);
  scf::ForOp loop = openLoop(from, to, 1, accumulators);
  State inside = state;
  SmallVector<Value> insideAccumulators(loop.getRegionIterArgs());
  advance(inside, numRows + inner, loop.getInductionVar());
  if (failed(buildNodes(inside, pass, inner + 1, {})) || failed(buildWrites(inside, pass, inner + 1, {})) ||
      failed(buildLoop(inside, pass, inner + 1, insideAccumulators)))
    return failure();
  if (!insideAccumulators.empty())
    scf::YieldOp::create(builder, loc, insideAccumulators);
  accumulators.assign(loop.getResults().begin(), loop.getResults().end());
  return success();
}

LogicalResult RowBuilder::buildPass(State &state, unsigned pass) {
  SmallVector<unsigned> reductions = getReductions(pass);
  bool writes = false;
  for (auto [write, scope] : llvm::zip(graph.writes, writeScopes))
    writes |= scope > 0 && getWritePass(write) == pass;
  if (reductions.empty() && !writes)
    return success();
  SmallVector<Value> accumulators;
  for (unsigned reduction : reductions)
    accumulators.push_back(buildNeutral(kernel, cast<nn::ReduceOp>(graph.nodes[reduction].getOp()), /*isVector=*/true));
  if (failed(buildLoop(state, pass, 0, accumulators)))
    return failure();
  for (auto [accumulator, reduction] : llvm::zip(accumulators, reductions)) {
    auto reduce = cast<nn::ReduceOp>(graph.nodes[reduction].getOp());
    Value result = buildLaneTree(builder, loc, accumulator,
                                 [&](Value low, Value high) { return reduce.buildScalar(builder, loc, {low, high}); });
    state.values[reduction] = roundResult(kernel, graph.nodes[reduction], result);
  }
  return success();
}

LogicalResult RowBuilder::buildRow(Value outer) {
  State state;
  state.values.resize(graph.nodes.size());
  state.nodeOffsets.resize(graph.nodes.size());
  state.writeOffsets.resize(graph.writes.size());
  rowIndices.assign(numRows, {});
  Value rest = outer;
  for (int row = static_cast<int>(numRows) - 1; row >= 0; --row) {
    if (row == 0) {
      rowIndices[row] = rest;
      continue;
    }
    Value size = buildI64(builder, loc, graph.loops[row].size);
    rowIndices[row] = arith::RemSIOp::create(builder, loc, rest, size);
    rest = arith::DivSIOp::create(builder, loc, rest, size);
  }
  for (unsigned row = 0; row < numRows; ++row)
    advance(state, row, rowIndices[row]);
  for (unsigned pass = 0; pass < numPasses; ++pass)
    if (failed(buildScalars(state, pass)) || failed(buildPass(state, pass)))
      return failure();
  if (failed(buildScalars(state, numPasses)))
    return failure();
  return buildWrites(state, 0, 0, {});
}

LogicalResult RowBuilder::build() {
  joinRowsAndInnerLoops();
  analyse();
  Value from = kernel.begin, to = kernel.end;
  if (segmentRows > 1) {
    Value rows = buildI64(builder, loc, segmentRows), less = buildI64(builder, loc, segmentRows - 1);
    from = arith::DivSIOp::create(builder, loc, kernel.begin, rows);
    to = arith::DivSIOp::create(builder, loc, arith::AddIOp::create(builder, loc, kernel.end, less), rows);
  }
  OpBuilder::InsertionGuard guard(builder);
  scf::ForOp loop = openLoop(from, to, 1, {});
  Value outer = loop.getInductionVar();
  if (segmentRows > 1) {
    Value rows = buildI64(builder, loc, segmentRows);
    Value first = arith::MulIOp::create(builder, loc, outer, rows);
    Value begin = arith::SubIOp::create(builder, loc, kernel.begin, first);
    Value end = arith::SubIOp::create(builder, loc, kernel.end, first);
    begin = arith::MaxSIOp::create(builder, loc, begin, buildI64(builder, loc, 0));
    end = arith::MinSIOp::create(builder, loc, end, rows);
    lo = scaleI64(builder, loc, begin, segmentStep);
    hi = scaleI64(builder, loc, end, segmentStep);
  }
  return buildRow(outer);
}

} // namespace

LogicalResult shardc::codegen::buildRowKernel(Kernel &kernel) {
  FailureOr<KernelGraph> graph = buildKernelGraph(kernel.def);
  if (failed(graph))
    return failure();
  int64_t items = 1;
  for (const Loop &loop : graph->loops)
    if (loop.isRow)
      items *= loop.size;
  if (items != static_cast<int64_t>(kernel.def.getItems()))
    return kernel.def.emitOpError("has ") << kernel.def.getItems() << " items, expected " << items;
  collapseLoops(*graph, /*keepLanes=*/graph->hasReductions());
  return RowBuilder(kernel, *graph).build();
}
