//===-- ColumnKernel.cpp - reductions over rows: a block owns 16 columns ------------------------------------------===//
//
// Group g of a block's G (fixed by the number of rows, Launch.h) adds rows g, g + G … in ascending order, each of its
// 16 threads a column. The G sums meet in shared memory, and the first group combines them as a tree and does what
// follows.
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

class ColumnBuilder {
public:
  ColumnBuilder(GpuKernel &kernel, KernelGraph &graph)
      : kernel(kernel), builder(kernel.builder), loc(kernel.loc), graph(graph), numRowLoops(graph.getNumRowLoops()) {}

  LogicalResult build();

private:
  LogicalResult analyse();
  LogicalResult buildNodes(ArrayRef<Value> rowIndices, unsigned level, ArrayRef<bool> needed, LaneValues &values);
  SmallVector<bool> getNeeded(ArrayRef<unsigned> results) const;
  FailureOr<SmallVector<Value>> buildRows(ArrayRef<unsigned> batch);
  SmallVector<Value> combineBatch(ArrayRef<unsigned> batch, ArrayRef<Value> sums, int64_t place);
  LogicalResult buildReductions(LaneValues &values);
  LogicalResult buildResults(LaneValues &values);

  GpuKernel &kernel;
  OpBuilder &builder;
  Location loc;
  KernelGraph &graph;
  unsigned numRowLoops;
  int64_t numRows = 1, numColumns = 1, groups = 1;
  SmallVector<int64_t> rowSizes, columnSizes;
  SmallVector<bool> onRows;         // by node: changes with the row
  SmallVector<unsigned> reductions; // nodes
  Value group, lane, isColumn;
  SmallVector<Value> columnIndices;
};

LogicalResult ColumnBuilder::analyse() {
  for (const Loop &loop : graph.loops) {
    (loop.isRow ? rowSizes : columnSizes).push_back(loop.size);
    (loop.isRow ? numRows : numColumns) *= loop.size;
  }
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() - kBlockColumns;
  if (numRows > kMost || numColumns > kMost)
    return kernel.def.emitOpError("has ")
           << numRows << " rows of " << numColumns << " elements, expected at most " << kMost;
  groups = getRowGroups(numRows);
  kernel.block = groups * kBlockColumns;
  kernel.grid = llvm::divideCeil(numColumns, kBlockColumns);
  auto isNonZero = [](int64_t stride) { return stride != 0; };
  for (auto [index, node] : llvm::enumerate(graph.nodes)) {
    bool rows = node.isAccess && llvm::any_of(ArrayRef(node.strides).take_front(numRowLoops), isNonZero);
    for (unsigned operand : node.operands)
      rows |= onRows[operand] && !node.isReduction();
    onRows.push_back(rows);
    if (node.isReduction())
      reductions.push_back(index);
    if (node.isReduction() && node.level != 1)
      return node.getOp()->emitOpError("in a column kernel must not depend on another reduction");
  }
  for (const Write &write : graph.writes)
    if (onRows[write.node])
      return kernel.def.emitOpError("of kind column must yield values that lie on its columns");
  return success();
}

/// The nodes that some reductions are computed from.
SmallVector<bool> ColumnBuilder::getNeeded(ArrayRef<unsigned> results) const {
  SmallVector<bool> needed(graph.nodes.size(), false);
  for (unsigned reduction : results)
    needed[graph.nodes[reduction].operands[0]] = true;
  for (int index = graph.nodes.size() - 1; index >= 0; --index)
    if (needed[index])
      for (unsigned operand : graph.nodes[index].operands)
        needed[operand] = true;
  return needed;
}

/// Nodes of a level at one row (empty: those that no row changes) of this thread's column.
LogicalResult ColumnBuilder::buildNodes(ArrayRef<Value> rowIndices, unsigned level, ArrayRef<bool> needed,
                                        LaneValues &values) {
  Chunk chunk;
  chunk.indices.emplace_back(rowIndices);
  if (rowIndices.empty())
    chunk.indices[0].assign(numRowLoops, buildI64(builder, loc, 0));
  llvm::append_range(chunk.indices[0], columnIndices);
  for (auto [index, node] : llvm::enumerate(graph.nodes))
    if (needed[index] && node.level == level && !node.isReduction() && onRows[index] == !rowIndices.empty())
      if (failed(buildNodeLanes(kernel, graph, index, chunk, values)))
        return failure();
  return success();
}

/// This thread's rows, one accumulator for each reduction of a batch.
FailureOr<SmallVector<Value>> ColumnBuilder::buildRows(ArrayRef<unsigned> batch) {
  SmallVector<Value> neutrals;
  for (unsigned reduction : batch)
    neutrals.push_back(buildNeutral(kernel, cast<nn::ReduceOp>(graph.nodes[reduction].getOp()), /*isVector=*/false));
  LaneValues values(graph.nodes.size());
  SmallVector<bool> needed = getNeeded(batch);
  if (failed(buildNodes({}, 0, needed, values)))
    return failure();
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::ForOp::create(builder, loc, group, buildLike(kernel, group, numRows),
                                 buildLike(kernel, group, groups), neutrals);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> rowIndices = splitNumber(kernel, loop.getInductionVar(), rowSizes);
  if (!rowIndices.empty() && failed(buildNodes(rowIndices, 0, needed, values)))
    return failure();
  SmallVector<Value> next;
  for (auto [reduction, accumulator] : llvm::zip(batch, loop.getRegionIterArgs())) {
    const KernelNode &node = graph.nodes[reduction];
    auto reduce = cast<nn::ReduceOp>(node.getOp());
    next.push_back(reduce.buildScalar(builder, loc, {accumulator, values[node.operands[0]][0]}));
    if (!next.back())
      return FailureOr<SmallVector<Value>>(reduce.emitOpError("cannot be computed in a kernel for ")
                                           << reduce.getType() << " [kernel-type]");
  }
  scf::YieldOp::create(builder, loc, next);
  return SmallVector<Value>(loop.getResults());
}

/// Combines the sums of all groups through `place` of shared memory. Only the first group's results mean anything.
SmallVector<Value> ColumnBuilder::combineBatch(ArrayRef<unsigned> batch, ArrayRef<Value> sums, int64_t place) {
  Value slot = buildThread(kernel);
  int64_t bytes = kernel.block * 8;
  SmallVector<Type> types;
  for (auto [index, sum] : llvm::enumerate(sums)) {
    types.push_back(sum.getType());
    storeShared(kernel, sum, place + index * bytes, slot);
  }
  buildBarrier(kernel);
  auto branch = scf::IfOp::create(builder, loc, types, buildLess(kernel, group, 1), /*addThenBlock=*/true,
                                  /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, sums);
  builder.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> results;
  for (auto [index, reduction] : llvm::enumerate(batch)) {
    auto reduce = cast<nn::ReduceOp>(graph.nodes[reduction].getOp());
    SmallVector<Value> parts;
    for (int64_t number = 0; number < groups; ++number) {
      Value part = arith::AddIOp::create(builder, loc, lane, buildLike(kernel, lane, number * kBlockColumns));
      parts.push_back(loadShared(kernel, types[index], place + index * bytes, part));
    }
    results.push_back(
        combineTree(std::move(parts), [&](Value a, Value b) { return reduce.buildScalar(builder, loc, {a, b}); }));
  }
  scf::YieldOp::create(builder, loc, results);
  return SmallVector<Value>(branch.getResults());
}

/// All reductions, a batch after the other: what a thread adds up at once has to fit its registers, and shared memory.
/// What a reduction gives does not depend on its batch.
LogicalResult ColumnBuilder::buildReductions(LaneValues &values) {
  constexpr size_t kBatch = 4;
  int64_t place = takeShared(kernel, std::min(kBatch, reductions.size()) * kernel.block * 8);
  for (size_t from = 0; from < reductions.size(); from += kBatch) {
    if (from > 0)
      buildBarrier(kernel);
    ArrayRef<unsigned> batch = ArrayRef(reductions).slice(from, std::min(kBatch, reductions.size() - from));
    FailureOr<SmallVector<Value>> sums = buildRows(batch);
    if (failed(sums))
      return failure();
    for (auto [reduction, result] : llvm::zip(batch, combineBatch(batch, *sums, place)))
      values[reduction] = {roundResult(kernel, graph.nodes[reduction], result)};
  }
  return success();
}

/// What the first group does with the results.
LogicalResult ColumnBuilder::buildResults(LaneValues &values) {
  SmallVector<bool> all(graph.nodes.size(), true);
  for (unsigned level : {0u, 1u})
    if (failed(buildNodes({}, level, all, values)))
      return failure();
  Chunk chunk;
  chunk.mayStore = isColumn;
  chunk.indices.emplace_back(numRowLoops, buildI64(builder, loc, 0));
  llvm::append_range(chunk.indices[0], columnIndices);
  for (const Write &write : graph.writes)
    if (failed(buildWriteLanes(kernel, graph, write, chunk, values)))
      return failure();
  return success();
}

LogicalResult ColumnBuilder::build() {
  if (failed(analyse()))
    return failure();
  Value thread = buildThread(kernel), block = buildBlock(kernel);
  group = buildDiv(kernel, thread, kBlockColumns);
  lane = buildRem(kernel, thread, kBlockColumns);
  Value column = arith::MulIOp::create(builder, loc, block, buildLike(kernel, block, kBlockColumns));
  column = arith::AddIOp::create(builder, loc, column, lane);
  if (numColumns % kBlockColumns != 0) {
    isColumn = buildLess(kernel, column, numColumns);
    column = arith::MinUIOp::create(builder, loc, column, buildLike(kernel, column, numColumns - 1));
  }
  columnIndices = splitNumber(kernel, column, columnSizes);
  LaneValues values(graph.nodes.size());
  if (failed(buildReductions(values)))
    return failure();
  return buildIf(kernel, buildLess(kernel, group, 1), [&] { return buildResults(values); });
}

} // namespace

LogicalResult shardc::codegen::buildGpuColumnKernel(GpuKernel &kernel) {
  FailureOr<KernelGraph> graph = buildKernelGraph(kernel.def);
  if (failed(graph))
    return failure();
  collapseLoops(*graph, /*keepLanes=*/false);
  return ColumnBuilder(kernel, *graph).build();
}
