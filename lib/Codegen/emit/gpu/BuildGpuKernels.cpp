//===-- BuildGpuKernels.cpp - from kernel definitions to gpu.funcs ------------------------------------------------===//

#include "../KernelContract.h"
#include "Chunk.h"

#include "shardc/Codegen/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace shardc::codegen {
#define GEN_PASS_DEF_BUILDGPUKERNELSPASS
#include "shardc/Codegen/Passes.h.inc"
} // namespace shardc::codegen

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;

LogicalResult buildKernelBody(GpuKernel &kernel) {
  switch (kernel.def.getKind()) {
  case exec::KernelKind::Row:
    return buildGpuRowKernel(kernel);
  case exec::KernelKind::Column:
    return buildGpuColumnKernel(kernel);
  case exec::KernelKind::Gather:
    return buildGpuGatherKernel(kernel);
  case exec::KernelKind::ScatterAdd:
    return buildGpuScatterAddKernel(kernel);
  case exec::KernelKind::BlockSumSquares:
    return buildGpuBlockSumSquaresKernel(kernel);
  case exec::KernelKind::LocalSlice:
    return buildGpuLocalSliceKernel(kernel);
  }
  llvm_unreachable("all kinds are handled");
}

/// What is known of each pointer: `exec.alignments`, or else no more than that elements lie on multiples of their size.
SmallVector<int64_t> getAlignments(exec::KernelDefOp def) {
  if (auto alignments = def->getAttrOfType<DenseI64ArrayAttr>(kAlignmentsAttr);
      alignments && alignments.size() == static_cast<int64_t>(def.getOperandTypes().size()))
    return SmallVector<int64_t>(alignments.asArrayRef());
  SmallVector<int64_t> alignments;
  for (Attribute type : def.getOperandTypes())
    alignments.push_back(getElementBytes(cast<MemRefType>(cast<TypeAttr>(type).getValue()).getElementType()));
  return alignments;
}

gpu::GPUFuncOp createFunction(OpBuilder &builder, exec::KernelDefOp def) {
  size_t numOperands = def.getOperandTypes().size(), numReads = def.getBody().front().getNumArguments();
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext(), kGlobalSpace);
  SmallVector<Type> types(numOperands + 1, pointer);
  auto function = gpu::GPUFuncOp::create(builder, def.getLoc(), def.getSymName(), builder.getFunctionType(types, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  SmallVector<bool> shares = getSharing(def);
  for (size_t operand = 0; operand <= numOperands; ++operand) {
    if (operand == numOperands || !shares[operand])
      function.setArgAttr(operand, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
    if (operand < numReads || operand == numOperands)
      function.setArgAttr(operand, LLVM::LLVMDialect::getReadonlyAttrName(), builder.getUnitAttr());
  }
  return function;
}

/// Records the launch that the body was built for, and makes its shared memory.
void finish(OpBuilder &builder, GpuKernel &kernel, gpu::GPUFuncOp function) {
  function.setKnownBlockSizeAttr(builder.getDenseI32ArrayAttr({static_cast<int32_t>(kernel.block), 1, 1}));
  function.setKnownGridSizeAttr(builder.getDenseI32ArrayAttr({static_cast<int32_t>(kernel.grid), 1, 1}));
  function->setAttr(kSharedBytesAttr, builder.getI64IntegerAttr(kernel.sharedBytes));
  if (kernel.isCooperative)
    function->setAttr(kCooperativeAttr, builder.getUnitAttr());
  if (kernel.sharedBytes == 0)
    return;
  OpBuilder atFunction(function);
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), kernel.sharedBytes);
  LLVM::GlobalOp::create(atFunction, kernel.loc, type, /*isConstant=*/false, LLVM::Linkage::Internal,
                         (kernel.def.getSymName() + ".shared").str(), Attribute(), /*alignment=*/16, kSharedSpace);
}

LogicalResult buildKernel(exec::KernelDefOp def, gpu::GPUModuleOp module) {
  if (failed(verifyKernel(def)))
    return failure();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  gpu::GPUFuncOp function = createFunction(builder, def);
  Block &entry = function.getBody().front();
  builder.setInsertionPointToStart(&entry);
  auto arguments = entry.getArguments();
  size_t numOperands = def.getOperandTypes().size();
  GpuKernel kernel(Kernel{builder,
                          def.getLoc(),
                          def,
                          SmallVector<Value>(arguments.take_front(numOperands)),
                          arguments[numOperands],
                          {},
                          {}});
  kernel.alignments = getAlignments(def);
  if (failed(buildKernelBody(kernel)))
    return failure();
  if (kernel.grid > std::numeric_limits<int32_t>::max())
    return def.emitOpError("needs ") << kernel.grid << " blocks, more than a launch has";
  builder.setInsertionPointToEnd(&entry);
  gpu::ReturnOp::create(builder, def.getLoc());
  finish(builder, kernel, function);
  return success();
}

class BuildGpuKernelsPass : public codegen::impl::BuildGpuKernelsPassBase<BuildGpuKernelsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto kernels = gpu::GPUModuleOp::create(builder, module.getLoc(), "kernels");
    bool allBuilt = true;
    for (auto def : llvm::make_early_inc_range(module.getOps<exec::KernelDefOp>())) {
      if (failed(buildKernel(def, kernels)))
        allBuilt = false;
      def.erase();
    }
    if (!allBuilt)
      signalPassFailure();
  }
};

} // namespace
