//===-- Schedule.h - schedules are data ---------------------------------------------------------------------------===//
//
// A schedule lists, for each pp coordinate (stage), the actions of one step in the order in which the stage runs them:
// forward m and backward m for every micro-batch m, and one update at the end. A forward keeps what its backward needs
// in a stash *slot*; slots are as many as the stage has micro-batches in flight at once.
//
// Communication follows from the order of actions. Between two consecutive actions A and B of a stage stands one group:
// what A produced for a neighbour is sent, and what B needs from a neighbour is received, and these messages progress
// together. A forward sends to the next stage and receives from the previous one; a backward the other way round.
// Sends are rendezvous: a message is over when sender and receiver are both in the group that holds it. `checkSchedule`
// proves under these semantics that no stage waits for ever.
//
// Backwards run in micro-batch order under every schedule, so that gradients are summed in the same order and the
// schedule changes no bit.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_PIPELINE_SCHEDULE_H
#define SHARDC_PIPELINE_SCHEDULE_H

#include "dialects/exec/Exec.h"

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace shardc::pipeline {

/// One action of a stage; `microBatch` and `slot` are 0 for an update and a report.
struct Action {
  exec::ActionKind kind;
  int64_t microBatch;
  int64_t slot;

  bool operator==(const Action &) const = default;
};

/// The actions of each pp coordinate.
using Schedule = std::vector<std::vector<Action>>;

/// All forwards, then all backwards (Huang et al. 2019, GPipe).
Schedule scheduleGPipe(int64_t stages, int64_t microBatches);

/// One forward, one backward in turn, after as many forwards as there are stages behind (Narayanan et al. 2021,
/// PipeDream-flush).
Schedule scheduleOneFOneB(int64_t stages, int64_t microBatches);

/// The generator of a schedule's name as `nn.training` spells it ("gpipe", "1f1b"); nothing for other names.
using ScheduleGenerator = Schedule (*)(int64_t stages, int64_t microBatches);
std::optional<ScheduleGenerator> findSchedule(llvm::StringRef name);

/// The forward-only schedule of evaluation that goes with a schedule of training: all micro-batches in order, in the
/// slots that training has, then the report.
///
///   pp 0 | E0 E1 E2 E3       R
///   pp 1 |    E0 E1 E2 E3    R
///   pp 2 |       E0 E1 E2 E3 R
Schedule scheduleEvaluation(const Schedule &training, int64_t microBatches);

/// What is wrong with a schedule of evaluation, nothing where it is right: every stage evaluates every micro-batch
/// once, in order, and reports at its end; and the messages between the stages all meet.
std::optional<std::string> checkEvaluation(const Schedule &schedule, int64_t microBatches);

/// What is wrong with a schedule, nothing where it is right: every stage runs every micro-batch forward once and
/// backward once, backward after forward and in micro-batch order, and one update at its end; no slot is overwritten
/// between the forward and the backward that share it; and the messages between the stages all meet.
std::optional<std::string> checkSchedule(const Schedule &schedule, int64_t microBatches);

/// The slots that a stage uses.
int64_t countSlots(llvm::ArrayRef<Action> actions);

/// A chart: one line a stage, one column a unit of time (an action of a micro-batch takes one), "F3", "B3", "U"; of an
/// evaluation "E3", "R".
std::string printSchedule(const Schedule &schedule);

} // namespace shardc::pipeline

#endif
