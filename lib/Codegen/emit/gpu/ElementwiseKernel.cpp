//===-- ElementwiseKernel.cpp - row kernels that reduce nothing: one chunk a thread -------------------------------===//
//
// All loops are one row-major number: thread t takes lanes t · lanes … of it. Several threads may hold the same row.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Chunk.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

LogicalResult shardc::codegen::buildGpuElementwiseKernel(GpuKernel &kernel, KernelGraph &graph) {
  // Rows mean nothing here; what is contiguous over all dimensions becomes one loop.
  for (Loop &loop : graph.loops)
    loop.isRow = false;
  collapseLoops(graph, /*keepLanes=*/false);
  SmallVector<int64_t> sizes;
  int64_t numElements = 1;
  for (const Loop &loop : graph.loops) {
    sizes.push_back(loop.size);
    numElements *= loop.size;
  }
  Chunk chunk;
  chunk.lanes = sizes.empty() ? 1 : chooseLanes(kernel.def, sizes.back());
  int64_t numChunks = numElements / chunk.lanes;
  kernel.grid = llvm::divideCeil(numChunks, kernel.block);

  Value number = buildGlobalThread(kernel, kernel.grid * kernel.block);
  Value isInside = numChunks % kernel.block ? buildLess(kernel, number, numChunks) : Value();
  return buildIf(kernel, isInside, [&]() -> LogicalResult {
    SmallVector<Value> indices;
    if (!sizes.empty()) {
      sizes.back() /= chunk.lanes;
      indices = splitNumber(kernel, number, sizes);
      indices.back() = scaleI64(kernel.builder, kernel.loc, indices.back(), chunk.lanes);
    }
    chunk.indices = {indices};
    LaneValues values(graph.nodes.size());
    // Loads of all operands come first, so that they are under way together.
    for (bool loads : {true, false})
      for (unsigned index = 0; index < graph.nodes.size(); ++index)
        if (isa<BlockArgument>(graph.nodes[index].value) == loads)
          if (failed(buildNodeLanes(kernel, graph, index, chunk, values)))
            return failure();
    for (const Write &write : graph.writes)
      if (failed(buildWriteLanes(kernel, graph, write, chunk, values)))
        return failure();
    return success();
  });
}
