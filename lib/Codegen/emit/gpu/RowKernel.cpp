//===-- RowKernel.cpp - row kernels with reductions ---------------------------------------------------------------===//
//
// T threads hold a row, T fixed by its length (Launch.h); a block holds max(T, 128) / T rows. Thread t takes the chunks
// t, t + T … of 8 elements (of a row whose length 8 does not divide, elements t, t + T …). A row of at most 8 T
// elements (every one up to 4096) is one chunk a thread, and stays in registers from the first load to the last store.
// In longer rows a pass over the chunks for each level of reductions computes again what it needs.
//
// Every lane of a thread has an accumulator; a reduction then combines lanes, threads of a warp, and warps. Lanes
// beyond the end of a row read its last elements, count as neutral, and store nothing, so that threads never diverge
// where they meet.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Chunk.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

class RowBuilder {
public:
  RowBuilder(GpuKernel &kernel, KernelGraph &graph)
      : kernel(kernel), builder(kernel.builder), loc(kernel.loc), graph(graph), numRowLoops(graph.getNumRowLoops()) {}

  LogicalResult build();

private:
  void analyse();
  void placeThread();
  Chunk getChunk(Value number);
  SmallVector<Value> getIndices(Value element);
  SmallVector<unsigned> getReductions(unsigned pass) const;
  unsigned getWritePass(const Write &write) const;
  SmallVector<bool> getNeeded(unsigned pass) const;
  LogicalResult buildRowNodes(unsigned level);
  LogicalResult buildChunk(const Chunk &chunk, unsigned pass, LaneValues &values, SmallVector<Value> &accumulators);
  LogicalResult buildChunks(unsigned pass, SmallVector<Value> &accumulators);
  LogicalResult buildPass(unsigned pass);

  GpuKernel &kernel;
  OpBuilder &builder;
  Location loc;
  KernelGraph &graph;
  unsigned numRowLoops, numPasses = 0;
  int64_t numRows = 1, length = 1, threads = 1, numChunks = 1;
  SmallVector<int64_t> rowSizes, innerSizes;
  SmallVector<bool> onRow;       // by node: no inner loop changes it
  SmallVector<bool> writesOnRow; // by write: neither in value nor in address
  SmallVector<Value> rowIndices;
  Value thread, isRow; // of the row; null isRow: every row is one
  LaneValues values;   // of the row, and of its only chunk
};

void RowBuilder::analyse() {
  for (const Loop &loop : graph.loops) {
    (loop.isRow ? rowSizes : innerSizes).push_back(loop.size);
    (loop.isRow ? numRows : length) *= loop.size;
  }
  threads = getRowThreads(length);
  kernel.block = std::max(threads, kBlock);
  kernel.grid = llvm::divideCeil(numRows, kernel.block / threads);
  numChunks = llvm::divideCeil(length, kRowLanes * threads);

  auto changes = [&](ArrayRef<int64_t> strides) {
    return llvm::any_of(strides.drop_front(std::min<size_t>(numRowLoops, strides.size())),
                        [](int64_t stride) { return stride != 0; });
  };
  for (const KernelNode &node : graph.nodes) {
    bool isOnRow = !node.isAccess || !changes(node.strides);
    if (!node.isReduction())
      for (unsigned operand : node.operands)
        isOnRow &= onRow[operand];
    onRow.push_back(isOnRow);
    numPasses = std::max(numPasses, node.level + 1);
  }
  for (const Write &write : graph.writes)
    writesOnRow.push_back(onRow[write.node] && !changes(write.strides));
}

/// The row and place in it of this thread.
void RowBuilder::placeThread() {
  Value number = buildThread(kernel), row = buildBlock(kernel);
  int64_t rowsPerBlock = kernel.block / threads;
  thread = number;
  if (rowsPerBlock > 1) {
    row = arith::MulIOp::create(builder, loc, row, buildLike(kernel, row, rowsPerBlock));
    row = arith::AddIOp::create(builder, loc, row, buildDiv(kernel, number, threads));
    thread = buildRem(kernel, number, threads);
  }
  if (numRows % rowsPerBlock != 0) {
    isRow = buildLess(kernel, row, numRows);
    row = arith::MinUIOp::create(builder, loc, row, buildLike(kernel, row, numRows - 1));
  }
  rowIndices = splitNumber(kernel, row, rowSizes);
}

/// The indices of all loops for an element (i64) of the row.
SmallVector<Value> RowBuilder::getIndices(Value element) {
  SmallVector<Value> indices(rowIndices);
  llvm::append_range(indices, splitNumber(kernel, element, innerSizes));
  return indices;
}

/// Chunk `number` (i32) of the row.
Chunk RowBuilder::getChunk(Value number) {
  Chunk chunk;
  chunk.lanes = kRowLanes;
  Value first = arith::MulIOp::create(builder, loc, number, buildLike(kernel, number, kRowLanes));
  bool isWhole = length % kRowLanes == 0;
  chunk.isRun = isWhole && !innerSizes.empty() && innerSizes.back() % kRowLanes == 0;
  if (isWhole && length != numChunks * threads * kRowLanes) {
    chunk.isInside = buildLess(kernel, first, length);
    first = arith::MinUIOp::create(builder, loc, first, buildLike(kernel, first, length - kRowLanes));
  }
  chunk.mayStore = buildAnd(kernel, isRow, chunk.isInside);
  if (chunk.isRun) {
    SmallVector<int64_t> sizes(innerSizes);
    sizes.back() /= kRowLanes;
    SmallVector<Value> inner = splitNumber(kernel, buildDiv(kernel, first, kRowLanes), sizes);
    inner.back() = scaleI64(builder, loc, inner.back(), kRowLanes);
    chunk.indices.push_back(rowIndices);
    llvm::append_range(chunk.indices[0], inner);
    return chunk;
  }
  // Vectors are not to be had from a ragged row: there, neighbouring threads take neighbouring elements.
  int64_t laneStep = isWhole ? 1 : threads;
  if (!isWhole) {
    Value round = arith::SubIOp::create(builder, loc, number, thread);
    round = arith::MulIOp::create(builder, loc, round, buildLike(kernel, round, kRowLanes));
    first = arith::AddIOp::create(builder, loc, round, thread);
  }
  for (int64_t lane = 0; lane < kRowLanes; ++lane) {
    Value element = arith::AddIOp::create(builder, loc, first, buildLike(kernel, first, lane * laneStep));
    if (!isWhole) {
      chunk.mayStoreLane.push_back(buildLess(kernel, element, length));
      element = arith::MinUIOp::create(builder, loc, element, buildLike(kernel, element, length - 1));
    }
    chunk.indices.push_back(getIndices(element));
  }
  return chunk;
}

SmallVector<unsigned> RowBuilder::getReductions(unsigned pass) const {
  SmallVector<unsigned> reductions;
  for (auto [index, node] : llvm::enumerate(graph.nodes))
    if (node.isReduction() && node.level == pass + 1)
      reductions.push_back(index);
  return reductions;
}

/// A write goes out as soon as its value is there, unless it may overwrite what later passes read.
unsigned RowBuilder::getWritePass(const Write &write) const {
  return kernel.def.getInPlace() ? numPasses - 1 : graph.nodes[write.node].level;
}

/// The nodes that the chunks of a pass use.
SmallVector<bool> RowBuilder::getNeeded(unsigned pass) const {
  SmallVector<bool> needed(graph.nodes.size(), false);
  for (unsigned reduction : getReductions(pass))
    needed[graph.nodes[reduction].operands[0]] = true;
  for (auto [write, isOnRow] : llvm::zip(graph.writes, writesOnRow))
    if (!isOnRow && getWritePass(write) == pass)
      needed[write.node] = true;
  for (int index = graph.nodes.size() - 1; index >= 0; --index)
    if (needed[index] && !graph.nodes[index].isReduction())
      for (unsigned operand : graph.nodes[index].operands)
        needed[operand] = true;
  return needed;
}

/// Values of a level that are the same all over the row.
LogicalResult RowBuilder::buildRowNodes(unsigned level) {
  Chunk row;
  row.indices = {rowIndices};
  row.indices[0].append(innerSizes.size(), buildI64(builder, loc, 0));
  for (auto [index, node] : llvm::enumerate(graph.nodes))
    if (onRow[index] && node.level == level && !node.isReduction())
      if (failed(buildNodeLanes(kernel, graph, index, row, values)))
        return failure();
  return success();
}

/// Computes, stores and accumulates one chunk.
LogicalResult RowBuilder::buildChunk(const Chunk &chunk, unsigned pass, LaneValues &chunkValues,
                                     SmallVector<Value> &accumulators) {
  SmallVector<bool> needed = getNeeded(pass);
  for (unsigned index = 0; index < graph.nodes.size(); ++index)
    if (needed[index] && !onRow[index])
      if (failed(buildNodeLanes(kernel, graph, index, chunk, chunkValues)))
        return failure();
  for (auto [write, isOnRow] : llvm::zip(graph.writes, writesOnRow))
    if (!isOnRow && getWritePass(write) == pass)
      if (failed(buildWriteLanes(kernel, graph, write, chunk, chunkValues)))
        return failure();
  for (auto [number, reduction] : llvm::enumerate(getReductions(pass))) {
    auto reduce = cast<nn::ReduceOp>(graph.nodes[reduction].getOp());
    ArrayRef<Value> operand = chunkValues[graph.nodes[reduction].operands[0]];
    for (int64_t lane = 0; lane < kRowLanes; ++lane) {
      Value next = operand.size() == 1 ? operand[0] : operand[lane];
      if (Value counts = chunk.mayStoreLane.empty() ? chunk.isInside : chunk.mayStoreLane[lane])
        next = arith::SelectOp::create(builder, loc, counts, next, buildNeutral(kernel, reduce, /*isVector=*/false));
      Value &accumulator = accumulators[number * kRowLanes + lane];
      accumulator = reduce.buildScalar(builder, loc, {accumulator, next});
      if (!accumulator)
        return reduce.emitOpError("cannot be computed in a kernel for ") << reduce.getType() << " [kernel-type]";
    }
  }
  return success();
}

/// All chunks of this thread. Accumulators are ordered by reduction, then lane.
LogicalResult RowBuilder::buildChunks(unsigned pass, SmallVector<Value> &accumulators) {
  if (numChunks == 1)
    return buildChunk(getChunk(thread), pass, values, accumulators);
  OpBuilder::InsertionGuard guard(builder);
  auto constant = [&](int64_t value) { return buildLike(kernel, thread, value); };
  auto loop = scf::ForOp::create(builder, loc, constant(0), constant(numChunks), constant(1), accumulators);
  builder.setInsertionPointToStart(loop.getBody());
  Value round = arith::MulIOp::create(builder, loc, loop.getInductionVar(), constant(threads));
  Value number = arith::AddIOp::create(builder, loc, round, thread);
  SmallVector<Value> inside(loop.getRegionIterArgs());
  LaneValues chunkValues = values;
  if (failed(buildChunk(getChunk(number), pass, chunkValues, inside)))
    return failure();
  if (!inside.empty())
    scf::YieldOp::create(builder, loc, inside);
  accumulators.assign(loop.getResults().begin(), loop.getResults().end());
  return success();
}

LogicalResult RowBuilder::buildPass(unsigned pass) {
  SmallVector<unsigned> reductions = getReductions(pass);
  bool writes = false;
  for (auto [write, isOnRow] : llvm::zip(graph.writes, writesOnRow))
    writes |= !isOnRow && getWritePass(write) == pass;
  if (reductions.empty() && !writes)
    return success();
  SmallVector<Value> accumulators;
  for (unsigned reduction : reductions)
    accumulators.append(kRowLanes, buildNeutral(kernel, cast<nn::ReduceOp>(graph.nodes[reduction].getOp()), false));
  if (failed(buildChunks(pass, accumulators)))
    return failure();
  for (auto [number, reduction] : llvm::enumerate(reductions)) {
    const KernelNode &node = graph.nodes[reduction];
    auto reduce = cast<nn::ReduceOp>(node.getOp());
    auto combine = [&](Value a, Value b) { return reduce.buildScalar(builder, loc, {a, b}); };
    SmallVector<Value> lanes(ArrayRef<Value>(accumulators).slice(number * kRowLanes, kRowLanes));
    Value result = combineThreads(kernel, combineTree(lanes, combine), threads, combine);
    values[reduction] = {roundResult(kernel, node, result)};
  }
  return success();
}

LogicalResult RowBuilder::build() {
  analyse();
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() - 8 * 512;
  if (length > kMost || numRows > kMost)
    return kernel.def.emitOpError("has ")
           << numRows << " rows of " << length << " elements, expected at most " << kMost;
  placeThread();
  values.resize(graph.nodes.size());
  for (unsigned pass = 0; pass < numPasses; ++pass)
    if (failed(buildRowNodes(pass)) || failed(buildPass(pass)))
      return failure();
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, thread, buildLike(kernel, thread, 0));
  return buildIf(kernel, buildAnd(kernel, isRow, isFirst), [&]() -> LogicalResult {
    Chunk row;
    row.indices = {rowIndices};
    row.indices[0].append(innerSizes.size(), buildI64(builder, loc, 0));
    for (auto [write, isOnRow] : llvm::zip(graph.writes, writesOnRow))
      if (isOnRow && failed(buildWriteLanes(kernel, graph, write, row, values)))
        return failure();
    return success();
  });
}

} // namespace

LogicalResult shardc::codegen::buildGpuRowKernel(GpuKernel &kernel) {
  FailureOr<KernelGraph> graph = buildKernelGraph(kernel.def);
  if (failed(graph))
    return failure();
  if (!graph->hasReductions())
    return buildGpuElementwiseKernel(kernel, *graph);
  collapseLoops(*graph, /*keepLanes=*/false);
  return RowBuilder(kernel, *graph).build();
}
