//===-- ScheduleTest.cpp - the generators against the checker, and the checker against faults ---------------------===//

#include "shardc/Pipeline/Schedule.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace shardc::pipeline;
using shardc::exec::ActionKind;

namespace {

TEST(Schedule, GeneratorsPassTheChecker) {
  for (llvm::StringRef name : {"gpipe", "1f1b"})
    for (int64_t stages = 1; stages <= 7; ++stages)
      for (int64_t microBatches = 1; microBatches <= 9; ++microBatches) {
        Schedule schedule = (*findSchedule(name))(stages, microBatches);
        EXPECT_EQ(checkSchedule(schedule, microBatches), std::nullopt)
            << name.str() << " " << stages << " " << microBatches;
      }
}

TEST(Schedule, SlotsAreTheMicroBatchesInFlight) {
  for (int64_t stages = 1; stages <= 6; ++stages)
    for (int64_t microBatches = 1; microBatches <= 8; ++microBatches)
      for (int64_t p = 0; p < stages; ++p) {
        EXPECT_EQ(countSlots(scheduleGPipe(stages, microBatches)[p]), microBatches);
        EXPECT_EQ(countSlots(scheduleOneFOneB(stages, microBatches)[p]), std::min(stages - p, microBatches));
      }
}

TEST(Schedule, ChartOfGPipe) {
  EXPECT_EQ(printSchedule(scheduleGPipe(3, 4)), "pp 0 | F0 F1 F2 F3             B0 B1 B2 B3 U\n"
                                                "pp 1 |    F0 F1 F2 F3       B0 B1 B2 B3    U\n"
                                                "pp 2 |       F0 F1 F2 F3 B0 B1 B2 B3       U\n");
}

TEST(Schedule, ChartOfOneFOneB) {
  EXPECT_EQ(printSchedule(scheduleOneFOneB(3, 4)), "pp 0 | F0 F1 F2       B0 F3 B1    B2    B3 U\n"
                                                   "pp 1 |    F0 F1    B0 F2 B1 F3 B2    B3    U\n"
                                                   "pp 2 |       F0 B0 F1 B1 F2 B2 F3 B3       U\n");
}

TEST(Schedule, OneFOneBWithFewerMicroBatchesThanStages) {
  Schedule schedule = scheduleOneFOneB(4, 2);
  std::vector<Action> expected = {{ActionKind::Forward, 0, 0},
                                  {ActionKind::Forward, 1, 1},
                                  {ActionKind::Backward, 0, 0},
                                  {ActionKind::Backward, 1, 1},
                                  {ActionKind::Update, 0, 0}};
  EXPECT_EQ(schedule[0], expected);
}

TEST(Schedule, UnknownName) { EXPECT_FALSE(findSchedule("zigzag")); }

//===-- Faults ----------------------------------------------------------------------------------------------------===//

TEST(ScheduleFault, OverwrittenSlot) {
  Schedule schedule = scheduleOneFOneB(2, 4);
  for (Action &action : schedule[0])
    action.slot = 0;
  EXPECT_EQ(*checkSchedule(schedule, 4), "pp 0 overwrites slot 0, which holds micro-batch 0, in F1");
}

TEST(ScheduleFault, StaleSlot) {
  Schedule schedule = scheduleGPipe(1, 2);
  std::swap(schedule[0][2].slot, schedule[0][3].slot);
  EXPECT_EQ(*checkSchedule(schedule, 2), "pp 0 runs B0 on slot 1, which does not hold its stash");
}

TEST(ScheduleFault, BackwardBeforeForward) {
  Schedule schedule = scheduleGPipe(1, 1);
  std::swap(schedule[0][0], schedule[0][1]);
  EXPECT_EQ(*checkSchedule(schedule, 1), "pp 0 runs B0 on slot 0, which does not hold its stash");
}

TEST(ScheduleFault, MissingBackward) {
  Schedule schedule = scheduleGPipe(1, 2);
  schedule[0].erase(schedule[0].begin() + 3);
  EXPECT_EQ(*checkSchedule(schedule, 2), "pp 0 runs 1 of 2 backwards");
}

TEST(ScheduleFault, BackwardsOutOfOrder) {
  Schedule schedule = scheduleGPipe(1, 2);
  std::swap(schedule[0][2], schedule[0][3]);
  EXPECT_EQ(*checkSchedule(schedule, 2), "pp 0 runs B1, expected B0");
}

TEST(ScheduleFault, NoUpdate) {
  Schedule schedule = scheduleGPipe(2, 2);
  schedule[1].pop_back();
  EXPECT_EQ(*checkSchedule(schedule, 2), "pp 1 does not end with the update");
}

TEST(ScheduleFault, ForwardsThatCross) {
  Schedule schedule = scheduleGPipe(2, 2);
  std::swap(schedule[0][0], schedule[0][1]);
  EXPECT_EQ(*checkSchedule(schedule, 2), "pp 0 sends F1 to pp 1, which expects F0");
}

TEST(ScheduleFault, Deadlock) {
  // Stage 0 wants the gradient of micro-batch 0 before it sends micro-batch 1, stage 1 wants micro-batch 1 first.
  Schedule schedule = scheduleGPipe(2, 2);
  schedule[0] = {{ActionKind::Forward, 0, 0},
                 {ActionKind::Backward, 0, 0},
                 {ActionKind::Forward, 1, 0},
                 {ActionKind::Backward, 1, 0},
                 {ActionKind::Update, 0, 0}};
  EXPECT_EQ(*checkSchedule(schedule, 2), "pp 0 waits for ever before B0");
}

} // namespace
