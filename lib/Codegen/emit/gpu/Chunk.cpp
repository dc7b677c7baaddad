//===-- Chunk.cpp - the elements that a thread computes at once ---------------------------------------------------===//

#include "Chunk.h"

#include "../Strided.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <numeric>

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

constexpr int64_t kVectorBytes = 16;

Type getMemoryType(Type elementType) {
  MLIRContext *context = elementType.getContext();
  if (nn::isLowPrecision(elementType))
    return IntegerType::get(context, 16);
  return elementType.isInteger(1) ? Type(IntegerType::get(context, 8)) : elementType;
}

/// Elements that one access may take: they lie side by side, and each piece on a multiple of its size.
int64_t getPieceLanes(GpuKernel &kernel, const Chunk &chunk, unsigned operand, Type elementType,
                      ArrayRef<int64_t> strides) {
  if (!chunk.isRun || chunk.lanes == 1 || strides.empty() || strides.back() != 1)
    return 1;
  int64_t bytes = getElementBytes(elementType), multiple = chunk.lanes * bytes;
  for (int64_t stride : strides.drop_back())
    multiple = std::gcd(multiple, stride * bytes);
  multiple = std::gcd(multiple, kernel.alignments[operand]);
  return std::max<int64_t>(getPowerOfTwo(multiple, kVectorBytes) / bytes, 1);
}

Value buildPointer(GpuKernel &kernel, Type memoryType, Value pointer, Value offset) {
  if (!offset)
    return pointer;
  return LLVM::GEPOp::create(kernel.builder, kernel.loc, pointer.getType(), memoryType, pointer,
                             ArrayRef<LLVM::GEPArg>{offset});
}

Value buildLaneIndex(GpuKernel &kernel, int64_t lane) {
  return arith::ConstantIntOp::create(kernel.builder, kernel.loc, lane, 32);
}

/// Memory's form of a value, and back (Memory.h), for a piece: through a vector of one type.
Value packPiece(GpuKernel &kernel, Type elementType, ArrayRef<Value> values) {
  OpBuilder &builder = kernel.builder;
  auto type = VectorType::get({static_cast<int64_t>(values.size())}, getMemoryType(elementType));
  Value vector = LLVM::UndefOp::create(builder, kernel.loc, type);
  for (auto [lane, value] : llvm::enumerate(values))
    vector = LLVM::InsertElementOp::create(builder, kernel.loc, vector,
                                           encodeElement(builder, kernel.loc, elementType, value),
                                           buildLaneIndex(kernel, lane));
  return vector;
}

} // namespace

int64_t shardc::codegen::getPowerOfTwo(int64_t value, int64_t most) { return std::gcd(value, most); }

int64_t shardc::codegen::getElementBytes(Type elementType) {
  return getMemoryType(elementType).getIntOrFloatBitWidth() / 8;
}

int64_t shardc::codegen::chooseLanes(exec::KernelDefOp def, int64_t run) {
  int64_t smallest = 4;
  for (Attribute attribute : def.getOperandTypes())
    if (int64_t bytes = getElementBytes(cast<MemRefType>(cast<TypeAttr>(attribute).getValue()).getElementType());
        bytes == 2)
      smallest = 2;
  return getPowerOfTwo(run, kVectorBytes / smallest);
}

Value shardc::codegen::getLaneOffset(GpuKernel &kernel, const Chunk &chunk, ArrayRef<int64_t> strides, int64_t lane) {
  OpBuilder &builder = kernel.builder;
  Value offset = buildOffset(builder, kernel.loc, chunk.indices[chunk.isRun ? 0 : lane], strides);
  if (chunk.isRun && lane > 0 && !strides.empty() && strides.back() != 0)
    offset = addI64(builder, kernel.loc, offset, buildI64(builder, kernel.loc, lane * strides.back()));
  return offset;
}

SmallVector<Value> shardc::codegen::loadLanes(GpuKernel &kernel, const Chunk &chunk, unsigned operand, Type elementType,
                                              ArrayRef<int64_t> strides) {
  OpBuilder &builder = kernel.builder;
  Value pointer = kernel.pointers[operand];
  int64_t piece = getPieceLanes(kernel, chunk, operand, elementType, strides);
  bool isUniform = chunk.isRun && (strides.empty() || strides.back() == 0);
  SmallVector<Value> values;
  for (int64_t lane = 0; lane < (isUniform ? 1 : chunk.lanes); lane += piece) {
    Value offset = getLaneOffset(kernel, chunk, strides, lane);
    if (piece == 1) {
      values.push_back(loadScalar(builder, kernel.loc, elementType, pointer, offset));
      continue;
    }
    Type memoryType = getMemoryType(elementType);
    Value element = buildPointer(kernel, memoryType, pointer, offset);
    Value vector = LLVM::LoadOp::create(builder, kernel.loc, VectorType::get({piece}, memoryType), element,
                                        piece * getElementBytes(elementType));
    for (int64_t index = 0; index < piece; ++index)
      values.push_back(
          decodeElement(builder, kernel.loc, elementType,
                        LLVM::ExtractElementOp::create(builder, kernel.loc, vector, buildLaneIndex(kernel, index))));
  }
  return values;
}

void shardc::codegen::storeLanes(GpuKernel &kernel, const Chunk &chunk, unsigned operand, Type elementType,
                                 ArrayRef<int64_t> strides, ArrayRef<Value> values) {
  OpBuilder &builder = kernel.builder;
  Value pointer = kernel.pointers[operand];
  int64_t piece = chunk.mayStoreLane.empty() ? getPieceLanes(kernel, chunk, operand, elementType, strides) : int64_t(1);
  for (int64_t lane = 0; lane < chunk.lanes; lane += piece) {
    Value offset = getLaneOffset(kernel, chunk, strides, lane);
    auto getValue = [&](int64_t index) { return values.size() == 1 ? values[0] : values[index]; };
    if (piece > 1) {
      SmallVector<Value> part;
      for (int64_t index = 0; index < piece; ++index)
        part.push_back(getValue(lane + index));
      Value element = buildPointer(kernel, getMemoryType(elementType), pointer, offset);
      LLVM::StoreOp::create(builder, kernel.loc, packPiece(kernel, elementType, part), element,
                            piece * getElementBytes(elementType));
      continue;
    }
    Value condition = chunk.mayStoreLane.empty() ? Value() : chunk.mayStoreLane[lane];
    (void)buildIf(kernel, condition, [&] {
      storeScalar(builder, kernel.loc, elementType, getValue(lane), pointer, offset);
      return success();
    });
  }
}

LogicalResult shardc::codegen::buildNodeLanes(GpuKernel &kernel, const KernelGraph &graph, unsigned index,
                                              const Chunk &chunk, LaneValues &values) {
  const KernelNode &node = graph.nodes[index];
  if (!values[index].empty())
    return success();
  if (auto argument = dyn_cast<BlockArgument>(node.value)) {
    values[index] = loadLanes(kernel, chunk, argument.getArgNumber(), node.getElementType(), node.strides);
    return success();
  }
  bool changes = node.isAccess && (!chunk.isRun || (!node.strides.empty() && node.strides.back() != 0));
  for (unsigned operand : node.operands)
    changes |= values[operand].size() > 1;
  for (int64_t lane = 0; lane < (changes ? chunk.lanes : 1); ++lane) {
    SmallVector<Value> operands;
    for (unsigned operand : node.operands)
      operands.push_back(values[operand].size() > 1 ? values[operand][lane] : values[operand][0]);
    Address address;
    if (node.isAccess)
      address.base = getLaneOffset(kernel, chunk, node.strides, lane);
    Value value = buildNode(kernel, node, operands, address, /*isVector=*/false, {});
    if (!value)
      return failure();
    values[index].push_back(value);
  }
  return success();
}

LogicalResult shardc::codegen::buildWriteLanes(GpuKernel &kernel, const KernelGraph &graph, const Write &write,
                                               const Chunk &chunk, const LaneValues &values) {
  auto isZero = [&](Value index) {
    return arith::CmpIOp::create(kernel.builder, kernel.loc, arith::CmpIPredicate::eq, index,
                                 buildI64(kernel.builder, kernel.loc, 0));
  };
  Type element = graph.nodes[write.node].getElementType();
  auto storeAt = [&](const Chunk &lanes, ArrayRef<Value> laneValues, Value condition) {
    for (auto [loop, stride] : llvm::enumerate(write.strides))
      if (stride == 0 && lanes.indices[0].size() > loop && graph.loops[loop].size > 1)
        condition = buildAnd(kernel, condition, isZero(lanes.indices[0][loop]));
    return buildIf(kernel, condition, [&] {
      storeLanes(kernel, lanes, write.operand, element, write.strides, laneValues);
      return success();
    });
  };
  bool lacksLast = !write.strides.empty() && write.strides.back() == 0 && graph.loops.back().size > 1;
  if (chunk.isRun && !lacksLast)
    return storeAt(chunk, values[write.node], chunk.mayStore);
  // One lane after another: each has indices of its own, or only the first one may have index 0.
  for (int64_t lane = 0; lane < (chunk.isRun ? 1 : chunk.lanes); ++lane) {
    Chunk one;
    one.indices = {chunk.indices[lane]};
    Value condition = chunk.mayStoreLane.empty() ? Value() : chunk.mayStoreLane[lane];
    ArrayRef<Value> all = values[write.node];
    if (failed(storeAt(one, all.size() == 1 ? all : all.slice(lane, 1), buildAnd(kernel, chunk.mayStore, condition))))
      return failure();
  }
  return success();
}
