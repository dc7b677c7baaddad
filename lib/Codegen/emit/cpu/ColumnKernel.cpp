//===-- ColumnKernel.cpp - reductions over rows, 64 columns at a time ---------------------------------------------===//
//
// An item walks all rows for up to four vectors of columns. A sum adds the rows of a block of 64 in ascending order,
// starting from the neutral element, and then the block to the total: each column on its own, whatever its vector.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "../Strided.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

constexpr int64_t kBlockRows = 64;

/// Values of nodes: one where no column changes it, else one for each vector of columns. Empty: not computed yet.
using Values = SmallVector<SmallVector<Value>>;

class ColumnBuilder {
public:
  ColumnBuilder(Kernel &kernel, KernelGraph &graph)
      : kernel(kernel), builder(kernel.builder), loc(kernel.loc), graph(graph), numRowLoops(graph.getNumRowLoops()) {}

  LogicalResult build();

private:
  LogicalResult analyse();
  LogicalResult buildBlock(ArrayRef<ColumnVector> vectors);
  void buildColumnAddresses(ArrayRef<ColumnVector> vectors);
  LogicalResult buildNodes(Values &values, bool rowDependent, unsigned level, Value row);
  FailureOr<SmallVector<Value>> buildRows(Values &values, Value from, Value to);
  LogicalResult buildReductions(Values &values);
  SmallVector<Value> combine(ArrayRef<Value> left, ArrayRef<Value> right);
  SmallVector<Value> getNeutrals();
  Value getLanes(const Values &values, unsigned node, size_t vector) {
    return broadcastLanes(builder, loc, values[node].size() == 1 ? values[node][0] : values[node][vector]);
  }

  Kernel &kernel;
  OpBuilder &builder;
  Location loc;
  KernelGraph &graph;
  unsigned numRowLoops;
  int64_t numRows = 1, numColumns = 1;
  StridedSpace columns;                // the accesses of nodes, then writes; those without an access have zero strides
  SmallVector<bool> onRows, onColumns; // by node
  SmallVector<unsigned> reductions;    // nodes
  SmallVector<ColumnVector> vectors;
  SmallVector<SmallVector<Address>> addresses; // [vector][access]
};

LogicalResult ColumnBuilder::analyse() {
  for (auto [index, loop] : llvm::enumerate(graph.loops))
    (loop.isRow ? numRows : numColumns) *= loop.size;
  for (const Loop &loop : ArrayRef(graph.loops).drop_front(numRowLoops))
    columns.sizes.push_back(loop.size);
  auto addColumnStrides = [&](ArrayRef<int64_t> strides) {
    columns.strides.push_back(SmallVector<int64_t>(strides.drop_front(std::min<size_t>(numRowLoops, strides.size()))));
    columns.strides.back().resize(columns.sizes.size(), 0);
  };
  auto isNonZero = [](int64_t stride) { return stride != 0; };
  for (auto [index, node] : llvm::enumerate(graph.nodes)) {
    addColumnStrides(node.strides);
    bool rows = node.isAccess && llvm::any_of(ArrayRef(node.strides).take_front(numRowLoops), isNonZero);
    bool onAnyColumn = llvm::any_of(columns.strides.back(), isNonZero) || node.isReduction();
    for (unsigned operand : node.operands) {
      rows |= onRows[operand] && !node.isReduction();
      onAnyColumn |= onColumns[operand];
    }
    onRows.push_back(rows);
    onColumns.push_back(onAnyColumn);
    if (node.isReduction())
      reductions.push_back(index);
    if (node.isReduction() && node.level != 1)
      return node.getOp()->emitOpError("in a column kernel must not depend on another reduction");
  }
  for (const Write &write : graph.writes) {
    addColumnStrides(write.strides);
    if (onRows[write.node] || !llvm::all_of(columns.strides.back(), isNonZero))
      return kernel.def.emitOpError("of kind column must yield values that lie on its columns");
  }
  return success();
}

void ColumnBuilder::buildColumnAddresses(ArrayRef<ColumnVector> blockVectors) {
  vectors.assign(blockVectors.begin(), blockVectors.end());
  addresses.clear();
  for (const ColumnVector &vector : vectors)
    addresses.push_back(buildAddresses(builder, loc, vector.start, columns, /*isAligned=*/true));
}

/// Nodes of a level that do, or do not, change with the row. `row` is null outside of rows.
LogicalResult ColumnBuilder::buildNodes(Values &values, bool rowDependent, unsigned level, Value row) {
  SmallVector<int64_t> rowSizes;
  for (const Loop &loop : ArrayRef(graph.loops).take_front(numRowLoops))
    rowSizes.push_back(loop.size);
  SmallVector<Value> indices;
  if (row)
    indices = delinearise(builder, loc, row, rowSizes);
  for (auto [index, node] : llvm::enumerate(graph.nodes)) {
    if (onRows[index] != rowDependent || node.level != level || node.isReduction() || !values[index].empty())
      continue;
    Value offset;
    if (row && node.isAccess)
      offset = buildOffset(builder, loc, indices, ArrayRef(node.strides).take_front(numRowLoops));
    for (size_t vector = 0; vector < (onColumns[index] ? vectors.size() : 1); ++vector) {
      Address address = addresses[vector][index];
      address.base = addI64(builder, loc, address.base, offset);
      SmallVector<Value> operands;
      for (unsigned operand : node.operands)
        operands.push_back(onColumns[index] ? getLanes(values, operand, vector) : values[operand][0]);
      Value value = buildNode(kernel, node, operands, address, onColumns[index], vectors[vector].mask);
      if (!value)
        return failure();
      values[index].push_back(value);
    }
  }
  return success();
}

SmallVector<Value> ColumnBuilder::getNeutrals() {
  SmallVector<Value> neutrals;
  for (unsigned reduction : reductions) {
    auto reduce = cast<nn::ReduceOp>(graph.nodes[reduction].getOp());
    neutrals.append(vectors.size(), buildNeutral(kernel, reduce, /*isVector=*/true));
  }
  return neutrals;
}

/// Accumulators are ordered by reduction, then vector.
SmallVector<Value> ColumnBuilder::combine(ArrayRef<Value> left, ArrayRef<Value> right) {
  SmallVector<Value> combined;
  for (size_t index = 0; index < left.size(); ++index) {
    auto reduce = cast<nn::ReduceOp>(graph.nodes[reductions[index / vectors.size()]].getOp());
    combined.push_back(reduce.buildScalar(builder, loc, {left[index], right[index]}));
  }
  return combined;
}

/// Combines rows [from, to), starting from neutral elements.
FailureOr<SmallVector<Value>> ColumnBuilder::buildRows(Values &values, Value from, Value to) {
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::ForOp::create(builder, loc, from, to, buildI64(builder, loc, 1), getNeutrals());
  builder.setInsertionPointToStart(loop.getBody());
  Values inside = values;
  if (failed(buildNodes(inside, /*rowDependent=*/true, 0, loop.getInductionVar())))
    return failure();
  SmallVector<Value> row;
  for (unsigned reduction : reductions)
    for (size_t vector = 0; vector < vectors.size(); ++vector)
      row.push_back(getLanes(inside, graph.nodes[reduction].operands[0], vector));
  SmallVector<Value> accumulators(loop.getRegionIterArgs());
  scf::YieldOp::create(builder, loc, combine(accumulators, row));
  return SmallVector<Value>(loop.getResults());
}

LogicalResult ColumnBuilder::buildReductions(Values &values) {
  OpBuilder::InsertionGuard guard(builder);
  Value rows = buildI64(builder, loc, numRows), step = buildI64(builder, loc, kBlockRows);
  auto loop = scf::ForOp::create(builder, loc, buildI64(builder, loc, 0), rows, step, getNeutrals());
  builder.setInsertionPointToStart(loop.getBody());
  Value end = arith::AddIOp::create(builder, loc, loop.getInductionVar(), step);
  if (numRows % kBlockRows != 0)
    end = arith::MinSIOp::create(builder, loc, end, rows);
  FailureOr<SmallVector<Value>> block = buildRows(values, loop.getInductionVar(), end);
  if (failed(block))
    return failure();
  SmallVector<Value> totals(loop.getRegionIterArgs());
  scf::YieldOp::create(builder, loc, combine(totals, *block));
  builder.setInsertionPointAfter(loop);
  for (auto [index, reduction] : llvm::enumerate(reductions))
    for (size_t vector = 0; vector < vectors.size(); ++vector)
      values[reduction].push_back(
          roundResult(kernel, graph.nodes[reduction], loop.getResult(index * vectors.size() + vector)));
  return success();
}

LogicalResult ColumnBuilder::buildBlock(ArrayRef<ColumnVector> blockVectors) {
  buildColumnAddresses(blockVectors);
  Values values(graph.nodes.size());
  if (failed(buildNodes(values, /*rowDependent=*/false, 0, {})))
    return failure();
  if (!reductions.empty() && failed(buildReductions(values)))
    return failure();
  if (failed(buildNodes(values, /*rowDependent=*/false, 1, {})))
    return failure();
  for (auto [index, write] : llvm::enumerate(graph.writes))
    for (size_t vector = 0; vector < vectors.size(); ++vector)
      storeVector(builder, loc, graph.nodes[write.node].getElementType(), getLanes(values, write.node, vector),
                  kernel.pointers[write.operand], addresses[vector][graph.nodes.size() + index], vectors[vector].mask);
  return success();
}

LogicalResult ColumnBuilder::build() {
  if (failed(analyse()) || failed(checkItems(kernel.def, llvm::divideCeil(numColumns, 64))))
    return failure();
  return buildColumnBlocks(kernel, numColumns, [&](ArrayRef<ColumnVector> block) { return buildBlock(block); });
}

} // namespace

LogicalResult shardc::codegen::buildColumnKernel(Kernel &kernel) {
  FailureOr<KernelGraph> graph = buildKernelGraph(kernel.def);
  if (failed(graph))
    return failure();
  collapseLoops(*graph, /*keepLanes=*/false);
  return ColumnBuilder(kernel, *graph).build();
}
