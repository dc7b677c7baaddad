//===-- Pipelines.cpp - the passes in their order -----------------------------------------------------------------===//

#include "shardc/Driver/Pipelines.h"

#include "shardc/Autodiff/Passes.h"
#include "shardc/Codegen/Passes.h"
#include "shardc/Memory/Passes.h"
#include "shardc/Pipeline/Passes.h"
#include "shardc/Plan/Passes.h"
#include "shardc/Sharding/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace shardc;

void shardc::driver::addPasses(OpPassManager &passes, Emit last, const PhaseHook &hook, int64_t alignment) {
  // Closes a phase; says whether it was the last one asked for.
  auto isDone = [&](Emit phase) {
    if (hook)
      hook(phase, passes);
    return last == phase;
  };
  if (isDone(Emit::Import))
    return;

  // Casts first: whatever is derived from the forward function has the same ones.
  passes.addPass(autodiff::createLowerPrecisionPass());
  // Differentiation comes before sharding, on the global graph: what it emits is ordinary nn, so that sharding decides
  // for forward and backward together.
  passes.addPass(autodiff::createBuildGradientsPass());
  passes.addPass(autodiff::createWidenGradientsPass());
  passes.addPass(autodiff::createBuildUpdatePass());
  // Common subexpressions go now: later, the same op may stand on two stages.
  passes.addPass(createCSEPass());
  if (isDone(Emit::NN))
    return;

  // What must divide over tp has to before layouts are chosen.
  passes.addPass(sharding::createPadVocabulariesPass());
  passes.addPass(sharding::createAnnotatePass());
  passes.addPass(sharding::createPartitionPass());
  passes.addPass(createCSEPass());
  if (isDone(Emit::Sharded))
    return;

  // The last place where one function has all parameters and inputs.
  passes.addPass(plan::createCollectModelPass());
  // Stages first: a depth that the model does not have is refused before anything grows with it.
  passes.addPass(pipeline::createCutStagesPass());
  passes.addPass(pipeline::createAssignSchedulePass());
  // Marks on the joint graph what is kept and what is computed again; outlining then only follows the marks.
  passes.addPass(pipeline::createRecomputePass());
  passes.addPass(pipeline::createOutlineStagesPass());
  passes.addPass(pipeline::createReduceStepPass());
  if (isDone(Emit::Pipelined))
    return;

  // Softmax, norms and losses become elementwise ops and reductions before fusion, which puts them into one kernel
  // again.
  passes.addNestedPass<func::FuncOp>(codegen::createDecomposePass());
  passes.addNestedPass<func::FuncOp>(createCSEPass());
  // Library calls take what they can express (views, accumulation) before fusion takes the rest.
  passes.addNestedPass<func::FuncOp>(codegen::createSelectCallsPass());
  passes.addNestedPass<func::FuncOp>(codegen::createFusePass());
  passes.addPass(codegen::createLowerToExecPass());
  passes.addPass(codegen::createDedupKernelsPass());
  passes.addPass(codegen::createAssignStreamsPass());

  // Placement needs streams and events: lifetimes follow happens-before.
  passes.addPass(memory::createReuseInPlacePass());
  memory::PlaceBuffersPassOptions placing;
  placing.alignment = alignment;
  passes.addPass(memory::createPlaceBuffersPass(placing));
  isDone(Emit::Exec);
}
