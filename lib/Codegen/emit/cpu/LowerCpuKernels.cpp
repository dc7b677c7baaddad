//===-- LowerCpuKernels.cpp - from vectors and loops to the LLVM dialect ------------------------------------------===//

#include "../Polynomials.h"

#include "shardc/Codegen/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/PassManager.h"

namespace shardc::codegen {
#define GEN_PASS_DEF_LOWERCPUKERNELSPASS
#include "shardc/Codegen/Passes.h.inc"
} // namespace shardc::codegen

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

class LowerCpuKernelsPass : public codegen::impl::LowerCpuKernelsPassBase<LowerCpuKernelsPass> {
  void runOnOperation() override {
    if (failed(approximateFunctions(getOperation())))
      return signalPassFailure();
    OpPassManager passes(ModuleOp::getOperationName());
    passes.addPass(createSCFToControlFlowPass());
    passes.addPass(createConvertVectorToLLVMPass());
    passes.addPass(createConvertMathToLLVMPass());
    passes.addPass(createArithToLLVMConversionPass());
    passes.addPass(createConvertControlFlowToLLVMPass());
    passes.addPass(createConvertFuncToLLVMPass());
    passes.addPass(createReconcileUnrealizedCastsPass());
    if (failed(runPipeline(passes, getOperation())))
      signalPassFailure();
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    codegen::impl::LowerCpuKernelsPassBase<LowerCpuKernelsPass>::getDependentDialects(registry);
    OpPassManager passes(ModuleOp::getOperationName());
    passes.addPass(createSCFToControlFlowPass());
    passes.addPass(createConvertVectorToLLVMPass());
    passes.getDependentDialects(registry);
  }
};

} // namespace
