//===-- OneFOneB.cpp - one forward, one backward in turn ----------------------------------------------------------===//

#include "shardc/Pipeline/Schedule.h"

#include <algorithm>

using namespace shardc::pipeline;

// 3 stages, 4 micro-batches; stage p has min(stages − p, micro-batches) in flight, and slots are used in turn.
//
//   pp 0 | F0 F1 F2       B0 F3 B1    B2    B3 U
//   pp 1 |    F0 F1    B0 F2 B1 F3 B2    B3    U
//   pp 2 |       F0 B0 F1 B1 F2 B2 F3 B3       U
Schedule shardc::pipeline::scheduleOneFOneB(int64_t stages, int64_t microBatches) {
  Schedule schedule;
  for (int64_t p = 0; p < stages; ++p) {
    int64_t inFlight = std::min(stages - p, microBatches);
    std::vector<Action> &actions = schedule.emplace_back();
    int64_t forward = 0;
    while (forward < inFlight - 1)
      actions.push_back({exec::ActionKind::Forward, forward, forward}), ++forward;
    for (int64_t backward = 0; backward < microBatches; ++backward) {
      if (forward < microBatches) {
        actions.push_back({exec::ActionKind::Forward, forward, forward % inFlight});
        ++forward;
      }
      actions.push_back({exec::ActionKind::Backward, backward, backward % inFlight});
    }
    actions.push_back({exec::ActionKind::Update, 0, 0});
  }
  return schedule;
}
