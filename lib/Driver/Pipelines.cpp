//===-- Pipelines.cpp - the passes in their order
//--------------------------------------------------------------------===//

#include "shardc/Driver/Pipelines.h"

#include "shardc/Autodiff/Passes.h"
#include "shardc/Codegen/Passes.h"
#include "shardc/Memory/Passes.h"
#include "shardc/Pipeline/Passes.h"
#include "shardc/Plan/Passes.h"
#include "shardc/Sharding/Passes.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace shardc;

void shardc::driver::addPasses(OpPassManager &passes, Emit last, const PhaseHook &hook) {
  // Closes a phase; says whether it was the last one asked for.
  auto isDone = [&](Emit phase) {
    if (hook)
      hook(phase, passes);
    return last == phase;
  };
  if (isDone(Emit::Import))
    return;

  // Differentiation comes before sharding, on the global graph: what it emits is ordinary nn, so that sharding decides
  // for forward and backward together.
  passes.addPass(autodiff::createBuildGradientsPass());
  passes.addPass(autodiff::createBuildUpdatePass());
  // Common subexpressions go now: later, the same op may stand on two stages.
  passes.addPass(createCSEPass());
  if (isDone(Emit::NN))
    return;

  passes.addPass(sharding::createAnnotatePass());
  passes.addPass(sharding::createPartitionPass());
  passes.addPass(createCSEPass());
  if (isDone(Emit::Sharded))
    return;

  // The last place where one function has all parameters and inputs.
  passes.addPass(plan::createCollectModelPass());
  passes.addPass(pipeline::createAssignSchedulePass());
  passes.addPass(pipeline::createCutStagesPass());
  // What is computed again is decided on the joint graph, where forward and backward of a stage still meet.
  passes.addPass(pipeline::createRecomputePass());
  passes.addPass(pipeline::createOutlineStagesPass());
  // Needs to know which stages have a gradient, and over which axes it is partial.
  passes.addPass(pipeline::createReduceStepPass());
  if (isDone(Emit::Pipelined))
    return;

  // Placement needs streams and events: lifetimes follow happens-before.
  passes.addPass(memory::createReuseInPlacePass());
  passes.addPass(memory::createPlaceBuffersPass());
  isDone(Emit::Exec);
}
