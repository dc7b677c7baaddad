//===-- CompiledPlanTest.cpp - a plan that shardc made, executed --------------------------------------------------===//
//
// test/EndToEnd/allocations.test compiles the plan and names its folder in SHARDC_TEST_PLAN.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "AllocationCount.h"
#include "runtime/executor/Trainer.h"

#include "gtest/gtest.h"

#include <cstdlib>

using namespace shardc;
using namespace shardc::rt;
using namespace shardc::rt::test;

namespace {

TEST(CompiledPlan, StepsAllocateNothingAfterTheSecond) {
  const char *folder = std::getenv("SHARDC_TEST_PLAN");
  if (!folder)
    GTEST_SKIP() << "SHARDC_TEST_PLAN names no plan";
  if (!allocationsAreCounted())
    GTEST_SKIP() << "sanitizers have allocators of their own";
  Result<LoadedPlan> plan = loadPlan(folder);
  ASSERT_TRUE(plan.isOk()) << plan.status().render();
  int64_t samples = 3 * plan->plan.training().global_batch();
  Result<std::unique_ptr<Dataset>> data = makeSynthetic(plan->plan, 0, samples);
  ASSERT_TRUE(data.isOk()) << data.status().render();
  for (int threads : {1, 2}) {
    TrainerOptions options;
    options.threadsPerRank = threads;
    Result<std::unique_ptr<Trainer>> trainer = Trainer::create(*plan, data->get(), options);
    ASSERT_TRUE(trainer.isOk()) << trainer.status().render();
    StepReport report;
    for (int step = 0; step < 2; ++step)
      ASSERT_TRUE((*trainer)->runStep(report).isOk());
    for (int step = 0; step < 4; ++step) { // over the end of an epoch
      AllocationCount count;
      bool succeeded = (*trainer)->runStep(report).isOk();
      count.stop();
      ASSERT_TRUE(succeeded);
      EXPECT_EQ(count.ours(), 0) << threads << " threads a rank";
      EXPECT_EQ(count.net(), 0) << threads << " threads a rank"; // what libraries took they gave back
    }
  }
}

} // namespace
