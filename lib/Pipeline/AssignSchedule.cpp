//===-- AssignSchedule.cpp - lists the actions of each pp coordinate ----------------------------------------------===//

#include "StageGraph.h"
#include "shardc/Pipeline/Passes.h"
#include "shardc/Pipeline/Schedule.h"

namespace shardc::pipeline {
#define GEN_PASS_DEF_ASSIGNSCHEDULEPASS
#include "shardc/Pipeline/Passes.h.inc"
} // namespace shardc::pipeline

using namespace mlir;
using namespace shardc;
using namespace shardc::pipeline;

namespace {

ArrayAttr buildAttribute(MLIRContext *context, const Schedule &schedule) {
  SmallVector<Attribute> stages;
  for (const std::vector<Action> &actions : schedule) {
    SmallVector<Attribute> list;
    for (const Action &action : actions)
      list.push_back(exec::ActionAttr::get(context, action.kind, action.microBatch, action.slot));
    stages.push_back(ArrayAttr::get(context, list));
  }
  return ArrayAttr::get(context, stages);
}

LogicalResult assignSchedule(ModuleOp module) {
  FailureOr<dist::MeshAttr> mesh = findMesh(module);
  if (failed(mesh))
    return failure();
  FailureOr<StringRef> name = readTrainingString(module, "schedule");
  FailureOr<int64_t> microBatches = readTrainingInteger(module, "micro_batches");
  if (failed(name) || failed(microBatches))
    return failure();
  std::optional<ScheduleGenerator> generate = findSchedule(*name);
  if (!generate) {
    InFlightDiagnostic error = module.emitError("schedule '") << *name << "': not known";
    error.attachNote() << "gpipe and 1f1b are";
    return error;
  }
  if (*microBatches < 1)
    return module.emitError("schedule '")
           << *name << "': expected at least one micro-batch a step, got " << *microBatches;
  Schedule schedule = (*generate)(mesh->getSize("pp"), *microBatches);
  if (std::optional<std::string> problem = checkSchedule(schedule, *microBatches))
    return module.emitError("internal error: schedule '") << *name << "': " << *problem;
  Schedule evaluation = scheduleEvaluation(schedule, *microBatches);
  if (std::optional<std::string> problem = checkEvaluation(evaluation, *microBatches))
    return module.emitError("internal error: evaluation under schedule '") << *name << "': " << *problem;
  module->setAttr(exec::kScheduleAttr, buildAttribute(module.getContext(), schedule));
  module->setAttr(exec::kEvaluationAttr, buildAttribute(module.getContext(), evaluation));
  return success();
}

class AssignSchedulePass : public shardc::pipeline::impl::AssignSchedulePassBase<AssignSchedulePass> {
  void runOnOperation() override {
    if (failed(assignSchedule(getOperation())))
      signalPassFailure();
  }
};

} // namespace
