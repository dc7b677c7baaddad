//===-- LowerCpuKernels.cpp - from vectors and loops to the LLVM dialect ------------------------------------------===//

#include "shardc/Codegen/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace shardc::codegen {
#define GEN_PASS_DEF_LOWERCPUKERNELSPASS
#include "shardc/Codegen/Passes.h.inc"
} // namespace shardc::codegen

using namespace mlir;
using namespace shardc;

namespace {

/// Polynomials are made of arithmetic and explicit fma, lane by lane: the same bits in a scalar and in any vector.
LogicalResult approximateFunctions(ModuleOp module) {
  const StringRef functions[] = {math::ExpOp::getOperationName(),  math::LogOp::getOperationName(),
                                 math::TanhOp::getOperationName(), math::ErfOp::getOperationName(),
                                 math::SinOp::getOperationName(),  math::CosOp::getOperationName()};
  RewritePatternSet patterns(module.getContext());
  populateMathPolynomialApproximationPatterns(patterns,
                                              [&](StringRef name) { return llvm::is_contained(functions, name); });
  return applyPatternsGreedily(module, std::move(patterns));
}

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
