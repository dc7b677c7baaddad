//===-- KernelContract.cpp - what every target's code takes for granted -------------------------------------------===//

#include "KernelContract.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

bool isElementType(Type type) {
  return type.isF32() || type.isF64() || nn::isLowPrecision(type) || type.isInteger(64) || type.isInteger(32) ||
         type.isInteger(1);
}

/// Each operand type is a strided memref of the body's shape and element type.
LogicalResult verifyOperands(exec::KernelDefOp def) {
  Block &block = def.getBody().front();
  auto yield = block.empty() ? exec::YieldOp() : dyn_cast<exec::YieldOp>(block.back());
  if (!yield)
    return def.emitOpError("body must end with exec.yield");
  SmallVector<Value> operands(block.getArguments());
  llvm::append_range(operands, yield.getValues());
  if (def.getOperandTypes().size() != operands.size())
    return def.emitOpError("operand_types has ")
           << def.getOperandTypes().size() << " entries, expected " << operands.size() << ": reads, then writes";
  for (auto [attribute, value] : llvm::zip(def.getOperandTypes(), operands)) {
    auto memref = dyn_cast<MemRefType>(cast<TypeAttr>(attribute).getValue());
    SmallVector<int64_t> strides;
    int64_t offset;
    if (!memref || failed(memref.getStridesAndOffset(strides, offset)) || ShapedType::isDynamicShape(strides))
      return def.emitOpError("operand type ") << attribute << " is no strided memref";
    auto tensor = cast<RankedTensorType>(value.getType());
    if (memref.getShape() != tensor.getShape() || memref.getElementType() != tensor.getElementType())
      return def.emitOpError("operand type ") << memref << " does not match " << tensor;
    if (!isElementType(tensor.getElementType()))
      return def.emitOpError("has an operand of element type ")
             << tensor.getElementType() << ", expected f32, f64, bf16, f16, i64, i32 or i1";
  }
  return success();
}

LogicalResult verifyInPlace(exec::KernelDefOp def) {
  auto pairs = def.getInPlace();
  if (!pairs)
    return success();
  int64_t numReads = def.getBody().front().getNumArguments(), numWrites = def.getOperandTypes().size() - numReads;
  if (pairs->size() % 2 != 0)
    return def.emitOpError("in_place has ") << pairs->size() << " entries, expected pairs";
  for (size_t pair = 0; pair < pairs->size(); pair += 2) {
    int64_t read = (*pairs)[pair], write = (*pairs)[pair + 1];
    if (read < 0 || read >= numReads || write < 0 || write >= numWrites)
      return def.emitOpError("in_place pair (") << read << ", " << write << ") names no read and write";
    auto getLayout = [&](int64_t operand) {
      auto type = cast<MemRefType>(cast<TypeAttr>(def.getOperandTypes()[operand]).getValue());
      SmallVector<int64_t> layout(type.getShape());
      int64_t offset;
      SmallVector<int64_t> strides;
      if (succeeded(type.getStridesAndOffset(strides, offset)))
        llvm::append_range(layout, strides);
      return std::make_pair(type.getElementType(), layout);
    };
    if (getLayout(read) != getLayout(numReads + write))
      return def.emitOpError("in_place pair (") << read << ", " << write << ") differs in type or strides";
  }
  return success();
}

} // namespace

SmallVector<bool> shardc::codegen::getSharing(exec::KernelDefOp def) {
  SmallVector<bool> shares(def.getOperandTypes().size(), false);
  int64_t numReads = def.getBody().front().getNumArguments();
  if (auto pairs = def.getInPlace())
    for (size_t pair = 0; pair + 1 < pairs->size(); pair += 2)
      shares[(*pairs)[pair]] = shares[numReads + (*pairs)[pair + 1]] = true;
  return shares;
}

LogicalResult shardc::codegen::verifyKernel(exec::KernelDefOp def) {
  return success(succeeded(verifyOperands(def)) && succeeded(verifyInPlace(def)));
}

OwningOpRef<ModuleOp> shardc::codegen::copyKernels(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = ModuleOp::create(module.getLoc());
  if (Attribute mesh = module->getAttr(dist::kMeshAttr))
    (*copy)->setAttr(dist::kMeshAttr, mesh);
  OpBuilder builder = OpBuilder::atBlockBegin(copy->getBody());
  for (auto def : module.getOps<exec::KernelDefOp>())
    builder.clone(*def);
  return copy;
}
