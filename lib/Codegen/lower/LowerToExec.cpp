//===-- LowerToExec.cpp - turns the functions of each pp coordinate into a program --------------------------------===//

#include "shardc/Codegen/Passes.h"

#include "Program.h"

namespace shardc::codegen {
#define GEN_PASS_DEF_LOWERTOEXECPASS
#include "shardc/Codegen/Passes.h.inc"
} // namespace shardc::codegen

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

/// Sorts a function pp<p>_<action> into `stages`. Returns false for other functions.
bool addFunction(func::FuncOp function, std::map<int64_t, StageFunctions> &stages) {
  StringRef name = function.getName();
  int64_t pp;
  if (!name.consume_front("pp") || name.consumeInteger(10, pp) || !name.consume_front("_"))
    return false;
  return stages[pp].add(name, function);
}

struct LowerToExecPass : codegen::impl::LowerToExecPassBase<LowerToExecPass> {
  using LowerToExecPassBase::LowerToExecPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::map<int64_t, StageFunctions> stages;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (addFunction(function, stages))
        continue;
      function.emitError("is not a function of a pipelined module, such as @pp0_forward");
      return signalPassFailure();
    }
    int nextKernel = 0;
    for (auto &[pp, functions] : stages)
      if (failed(buildProgram(module, pp, functions, nextKernel)))
        return signalPassFailure();
    for (auto &[pp, functions] : stages)
      for (func::FuncOp function : functions.getAll())
        function.erase();
  }
};

} // namespace
