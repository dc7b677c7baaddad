//===-- KernelGraph.cpp - from the body of a kernel to loops and accesses -----------------------------------------===//

#include "KernelGraph.h"

#include <map>

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

/// For each dimension of a value the domain dimension that it is; -1 where its size is 1.
using Placement = SmallVector<int64_t>;

RankedTensorType getTensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

SmallVector<int64_t> getRowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 1; dim >= 0; --dim) {
    strides[dim] = stride;
    stride *= shape[dim];
  }
  return strides;
}

class GraphBuilder {
public:
  explicit GraphBuilder(exec::KernelDefOp def) : def(def) {}

  FailureOr<KernelGraph> build();

private:
  FailureOr<Placement> placeResult(Value value);
  FailureOr<unsigned> getNode(Value value, const Placement &placement);
  LogicalResult addOperands(KernelNode &node, const Placement &placement);
  LogicalResult addReductionOperand(KernelNode &node, nn::ReduceOp reduce, const Placement &placement);
  LogicalResult addOperand(KernelNode &node, Value operand, Placement placement);
  void addStrides(KernelNode &node, ArrayRef<int64_t> strides, const Placement &placement);
  SmallVector<int64_t> spread(ArrayRef<int64_t> strides, const Placement &placement) const;
  bool isReduced(int64_t dim) { return (dim < static_cast<int64_t>(def.getRows())) != isRowKernel; }

  exec::KernelDefOp def;
  ArrayRef<int64_t> domain;
  bool isRowKernel = true;
  KernelGraph graph;
  std::map<std::pair<const void *, Placement>, unsigned> known;
};

/// Entry i of `dims` matches a dimension of the domain: the sizes are equal, or 1.
Placement normalise(ArrayRef<int64_t> shape, Placement placement) {
  for (auto [size, dim] : llvm::zip(shape, placement))
    if (size == 1)
      dim = -1;
  return placement;
}

/// Any placement in ascending order that fits the sizes computes the right elements; reductions must end up on the
/// dimensions that are not reduced, so row kernels search from the left and column kernels from the right.
FailureOr<Placement> GraphBuilder::placeResult(Value value) {
  ArrayRef<int64_t> shape = getTensorType(value).getShape();
  int64_t rank = shape.size(), domainRank = domain.size();
  auto fits = [&](int64_t dim, int64_t domainDim) { return shape[dim] == 1 || shape[dim] == domain[domainDim]; };
  Placement placement(rank, -1);
  if (rank == domainRank) {
    bool all = true;
    for (int64_t dim = 0; dim < rank; ++dim) {
      placement[dim] = dim;
      all &= fits(dim, dim);
    }
    if (all)
      return normalise(shape, placement);
  }
  int64_t next = isRowKernel ? 0 : domainRank - 1, step = isRowKernel ? 1 : -1;
  for (int64_t count = 0; count < rank; ++count) {
    int64_t dim = isRowKernel ? count : rank - 1 - count;
    placement[dim] = -1;
    if (shape[dim] == 1)
      continue;
    while (next >= 0 && next < domainRank && domain[next] != shape[dim])
      next += step;
    if (next < 0 || next >= domainRank)
      return FailureOr<Placement>(def.emitOpError("a result of type ")
                                  << value.getType() << " has dimensions that the domain lacks");
    placement[dim] = next;
    next += step;
  }
  return placement;
}

SmallVector<int64_t> GraphBuilder::spread(ArrayRef<int64_t> strides, const Placement &placement) const {
  SmallVector<int64_t> spreadStrides(domain.size(), 0);
  for (auto [stride, dim] : llvm::zip(strides, placement))
    if (dim >= 0)
      spreadStrides[dim] += stride;
  return spreadStrides;
}

void GraphBuilder::addStrides(KernelNode &node, ArrayRef<int64_t> strides, const Placement &placement) {
  node.isAccess = true;
  node.strides = spread(strides, placement);
}

LogicalResult GraphBuilder::addOperand(KernelNode &node, Value operand, Placement placement) {
  FailureOr<unsigned> index = getNode(operand, normalise(getTensorType(operand).getShape(), std::move(placement)));
  if (failed(index))
    return failure();
  node.operands.push_back(*index);
  node.level = std::max(node.level, graph.nodes[*index].level);
  return success();
}

LogicalResult GraphBuilder::addReductionOperand(KernelNode &node, nn::ReduceOp reduce, const Placement &placement) {
  for (int64_t dim : placement)
    if (dim >= 0 && isReduced(dim))
      return reduce.emitOpError("in a kernel must keep the dimensions that the kernel does not reduce");
  SmallVector<int64_t> reducedDims;
  for (int64_t dim = 0, rank = domain.size(); dim < rank; ++dim)
    if (isReduced(dim) && domain[dim] != 1)
      reducedDims.push_back(dim);
  ArrayRef<int64_t> shape = getTensorType(reduce.getInput()).getShape();
  Placement inputPlacement;
  size_t kept = 0, reduced = 0;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (!llvm::is_contained(reduce.getDims(), static_cast<int64_t>(dim))) {
      inputPlacement.push_back(placement[kept++]);
    } else if (size == 1) {
      inputPlacement.push_back(-1);
    } else {
      if (reduced == reducedDims.size() || domain[reducedDims[reduced]] != size)
        return reduce.emitOpError("reduces dimension ")
               << dim << " of size " << size << ", which the kernel's domain does not reduce";
      inputPlacement.push_back(reducedDims[reduced++]);
    }
  }
  if (reduced != reducedDims.size())
    return reduce.emitOpError("reduces ")
           << reduced << " dimensions, expected all " << reducedDims.size() << " that the kernel reduces";
  if (failed(addOperand(node, reduce.getInput(), inputPlacement)))
    return failure();
  ++node.level;
  return success();
}

LogicalResult GraphBuilder::addOperands(KernelNode &node, const Placement &placement) {
  Operation *op = node.getOp();
  if (auto argument = dyn_cast<BlockArgument>(node.value)) {
    SmallVector<int64_t> strides;
    int64_t offset;
    auto memref = cast<MemRefType>(cast<TypeAttr>(def.getOperandTypes()[argument.getArgNumber()]).getValue());
    (void)memref.getStridesAndOffset(strides, offset);
    addStrides(node, strides, placement);
    return success();
  }
  if (auto broadcast = dyn_cast<nn::BroadcastInDimOp>(op)) {
    Placement operandPlacement;
    for (int64_t dim : broadcast.getDims())
      operandPlacement.push_back(placement[dim]);
    return addOperand(node, broadcast.getInput(), operandPlacement);
  }
  if (auto reduce = dyn_cast<nn::ReduceOp>(op))
    return addReductionOperand(node, reduce, placement);
  if (auto iota = dyn_cast<nn::IotaOp>(op)) {
    SmallVector<int64_t> strides(placement.size(), 0);
    strides[iota.getDimension()] = 1;
    addStrides(node, strides, placement);
    return success();
  }
  if (auto random = dyn_cast<nn::RngUniformOp>(op)) {
    addStrides(node, random.getStrides(), placement);
    return addOperand(node, random.getBase(), {});
  }
  if (auto constant = dyn_cast<nn::ConstantOp>(op)) {
    if (!constant.getValue().isSplat())
      addStrides(node, getRowMajorStrides(getTensorType(node.value).getShape()), placement);
    return success();
  }
  if (!isa<nn::FusibleOpInterface, dist::AxisIndexOp>(op))
    return op->emitOpError("cannot be part of a row or column kernel");
  for (Value operand : op->getOperands())
    if (failed(addOperand(node, operand, placement)))
      return failure();
  return success();
}

FailureOr<unsigned> GraphBuilder::getNode(Value value, const Placement &placement) {
  auto key = std::make_pair(value.getAsOpaquePointer(), placement);
  if (auto it = known.find(key); it != known.end())
    return it->second;
  KernelNode node;
  node.value = value;
  if (failed(addOperands(node, placement)))
    return failure();
  graph.nodes.push_back(std::move(node));
  return known[key] = graph.nodes.size() - 1;
}

FailureOr<KernelGraph> GraphBuilder::build() {
  graph.def = def;
  Block &block = def.getBody().front();
  auto yield = cast<exec::YieldOp>(block.back());
  if (!def.getDomain())
    return FailureOr<KernelGraph>(def.emitOpError("needs a domain"));
  domain = *def.getDomain();
  isRowKernel = def.getKind() == exec::KernelKind::Row;
  int64_t rows = def.getRows();
  if (rows < 0 || rows > static_cast<int64_t>(domain.size()) ||
      llvm::any_of(domain, [](int64_t size) { return size < 1; }))
    return FailureOr<KernelGraph>(def.emitOpError("domain must have positive sizes, and not fewer than rows"));
  for (auto [index, size] : llvm::enumerate(domain))
    graph.loops.push_back({size, static_cast<int64_t>(index) < rows});

  unsigned operand = block.getNumArguments();
  for (Value value : yield.getValues()) {
    FailureOr<Placement> placement = placeResult(value);
    if (failed(placement))
      return failure();
    FailureOr<unsigned> node = getNode(value, *placement);
    if (failed(node))
      return failure();
    SmallVector<int64_t> strides;
    int64_t offset;
    (void)cast<MemRefType>(cast<TypeAttr>(def.getOperandTypes()[operand]).getValue())
        .getStridesAndOffset(strides, offset);
    graph.writes.push_back({*node, operand++, spread(strides, *placement)});
  }
  return std::move(graph);
}

/// Calls `visit` with the strides of every access.
template <typename Graph, typename Visitor> void visitAccesses(Graph &graph, Visitor visit) {
  for (auto &node : graph.nodes)
    if (node.isAccess)
      visit(node.strides);
  for (auto &write : graph.writes)
    visit(write.strides);
}

void dropLoop(KernelGraph &graph, unsigned loop) {
  visitAccesses(graph, [&](SmallVector<int64_t> &strides) { strides.erase(strides.begin() + loop); });
  graph.loops.erase(graph.loops.begin() + loop);
}

} // namespace

unsigned KernelGraph::getNumRowLoops() const {
  return llvm::count_if(loops, [](const Loop &loop) { return loop.isRow; });
}

bool KernelGraph::hasReductions() const {
  return llvm::any_of(nodes, [](const KernelNode &node) { return node.isReduction(); });
}

bool KernelGraph::canMerge(unsigned outer) const {
  bool can = true;
  visitAccesses(*this, [&](const SmallVector<int64_t> &strides) {
    can &= strides[outer] == strides[outer + 1] * loops[outer + 1].size;
  });
  return can;
}

void KernelGraph::merge(unsigned outer) {
  loops[outer + 1].size *= loops[outer].size;
  dropLoop(*this, outer);
}

void shardc::codegen::collapseLoops(KernelGraph &graph, bool keepLanes) {
  for (int loop = graph.loops.size() - 1; loop >= 0; --loop)
    if (graph.loops[loop].size == 1)
      dropLoop(graph, loop);
  int last = graph.loops.size() - 1;
  for (int outer = last - 1; outer >= 0; --outer) {
    bool isInnermost = outer + 2 == static_cast<int>(graph.loops.size());
    bool sameKind = graph.loops[outer].isRow == graph.loops[outer + 1].isRow;
    bool lanesAllow =
        !keepLanes || !isInnermost || graph.loops[outer + 1].isRow || graph.loops[outer + 1].size % kLanes == 0;
    if (sameKind && lanesAllow && graph.canMerge(outer))
      graph.merge(outer);
  }
}

FailureOr<KernelGraph> shardc::codegen::buildKernelGraph(exec::KernelDefOp def) { return GraphBuilder(def).build(); }
