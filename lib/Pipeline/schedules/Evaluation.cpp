//===-- Evaluation.cpp - the micro-batches once through all stages ------------------------------------------------===//

#include "shardc/Pipeline/Schedule.h"

using namespace shardc::pipeline;

Schedule shardc::pipeline::scheduleEvaluation(const Schedule &training, int64_t microBatches) {
  Schedule schedule;
  for (const std::vector<Action> &trained : training) {
    int64_t slots = countSlots(trained);
    std::vector<Action> &actions = schedule.emplace_back();
    for (int64_t m = 0; m < microBatches; ++m)
      actions.push_back({exec::ActionKind::Evaluate, m, m % slots});
    actions.push_back({exec::ActionKind::Report, 0, 0});
  }
  return schedule;
}
