//===-- TestModule.h - modules from text, through passes, to the evaluator ----------------------------------------===//
#ifndef SHARDC_TEST_UNIT_AUTODIFF_TESTMODULE_H
#define SHARDC_TEST_UNIT_AUTODIFF_TESTMODULE_H

#include "shardc/Autodiff/Passes.h"

#include "dialects/nn/EvaluateSharded.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <memory>
#include <string>

namespace shardc::test {

/// A module in a context of its own.
struct TestModule {
  explicit TestModule(const std::string &text) {
    mlir::DialectRegistry registry;
    registry.insert<dist::DistDialect, nn::NNDialect, mlir::func::FuncDialect>();
    context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
    module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  }

  mlir::func::FuncOp lookUp(llvm::StringRef name) { return module->lookupSymbol<mlir::func::FuncOp>(name); }

  /// Runs one pass with the verifier on.
  bool run(std::unique_ptr<mlir::Pass> pass) {
    mlir::PassManager passes(context.get());
    passes.addPass(std::move(pass));
    return mlir::succeeded(passes.run(*module));
  }

  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace shardc::test

#endif
