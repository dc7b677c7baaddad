//===-- GPipe.cpp - all forwards, then all backwards --------------------------------------------------------------===//

#include "shardc/Pipeline/Schedule.h"

using namespace shardc::pipeline;

// 3 stages, 4 micro-batches; every micro-batch is in flight at once, so each has a slot of its own.
//
//   pp 0 | F0 F1 F2 F3             B0 B1 B2 B3 U
//   pp 1 |    F0 F1 F2 F3       B0 B1 B2 B3    U
//   pp 2 |       F0 F1 F2 F3 B0 B1 B2 B3       U
Schedule shardc::pipeline::scheduleGPipe(int64_t stages, int64_t microBatches) {
  std::vector<Action> actions;
  actions.reserve(2 * microBatches + 1);
  for (int64_t m = 0; m < microBatches; ++m)
    actions.push_back({exec::ActionKind::Forward, m, m});
  for (int64_t m = 0; m < microBatches; ++m)
    actions.push_back({exec::ActionKind::Backward, m, m});
  actions.push_back({exec::ActionKind::Update, 0, 0});
  return Schedule(stages, actions);
}
