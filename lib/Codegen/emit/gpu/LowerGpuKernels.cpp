//===-- LowerGpuKernels.cpp - from gpu.funcs to the LLVM and NVVM dialects ----------------------------------------===//
//
// Kernels use five ops of the gpu dialect, so they are replaced here: MLIR's own conversion would turn functions such
// as the absolute value into calls of CUDA's library, which may not be installed. What is left is lowered as on the
// CPU.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "shardc/Codegen/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Pass/PassManager.h"

namespace shardc::codegen {
#define GEN_PASS_DEF_LOWERGPUKERNELSPASS
#include "shardc/Codegen/Passes.h.inc"
} // namespace shardc::codegen

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

/// Within a segment of `width` lanes, all of the warp taking part.
Value buildShuffle(OpBuilder &builder, gpu::ShuffleOp op) {
  constexpr int32_t kLastLane = 31;
  Location loc = op.getLoc();
  Type i32 = builder.getI32Type();
  auto constant = [&](int64_t value) { return arith::ConstantIntOp::create(builder, loc, value, 32); };
  return NVVM::ShflOp::create(builder, loc, i32, constant(-1), op.getValue(), op.getOffset(), constant(kLastLane),
                              NVVM::ShflKind::bfly, UnitAttr());
}

LogicalResult replace(Operation *op) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Type i32 = builder.getI32Type();
  auto replaceIndex = [&](Value number) {
    op->getResult(0).replaceAllUsesWith(arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), number));
  };
  if (isa<gpu::ThreadIdOp>(op)) {
    replaceIndex(NVVM::ThreadIdXOp::create(builder, loc, i32));
  } else if (isa<gpu::BlockIdOp>(op)) {
    replaceIndex(NVVM::BlockIdXOp::create(builder, loc, i32));
  } else if (isa<gpu::BarrierOp>(op)) {
    NVVM::Barrier0Op::create(builder, loc);
  } else if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op);
             shuffle && shuffle.getMode() == gpu::ShuffleMode::XOR && shuffle.getValid().use_empty()) {
    shuffle.getShuffleResult().replaceAllUsesWith(buildShuffle(builder, shuffle));
  } else if (isa<gpu::ReturnOp>(op)) {
    func::ReturnOp::create(builder, loc);
  } else if (isa<gpu::GPUDialect>(op->getDialect())) {
    return op->emitOpError("has no PTX here");
  } else {
    return success();
  }
  op->erase();
  return success();
}

/// The kernel as a function of the module.
LogicalResult flatten(gpu::GPUFuncOp kernel, ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto function = func::FuncOp::create(builder, kernel.getLoc(), kernel.getName(), kernel.getFunctionType());
  if (ArrayAttr attributes = kernel.getAllArgAttrs())
    function.setAllArgAttrs(attributes);
  function.getBody().takeBody(kernel.getBody());
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (op != function)
      ops.push_back(op);
  });
  return success(llvm::all_of(ops, [](Operation *op) { return succeeded(replace(op)); }));
}

class LowerGpuKernelsPass : public codegen::impl::LowerGpuKernelsPassBase<LowerGpuKernelsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<std::pair<std::string, DenseI32ArrayAttr>> blocks;
    for (auto kernels : llvm::make_early_inc_range(module.getOps<gpu::GPUModuleOp>())) {
      for (Operation &op : llvm::make_early_inc_range(*kernels.getBody())) {
        if (auto kernel = dyn_cast<gpu::GPUFuncOp>(op)) {
          blocks.emplace_back(kernel.getName().str(), kernel.getKnownBlockSizeAttr());
          if (failed(flatten(kernel, module)))
            return signalPassFailure();
        } else {
          op.moveBefore(kernels);
        }
      }
      kernels.erase();
    }
    OpPassManager passes(ModuleOp::getOperationName());
    passes.addPass(createLowerCpuKernelsPass());
    if (failed(runPipeline(passes, module)))
      return signalPassFailure();
    for (auto &[name, block] : blocks) {
      auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
      function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), UnitAttr::get(module.getContext()));
      function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(), block);
    }
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    codegen::impl::LowerGpuKernelsPassBase<LowerGpuKernelsPass>::getDependentDialects(registry);
    OpPassManager passes(ModuleOp::getOperationName());
    passes.addPass(createLowerCpuKernelsPass());
    passes.getDependentDialects(registry);
  }
};

} // namespace
