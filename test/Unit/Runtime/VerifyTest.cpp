// Plans that are right must pass, whatever the layout and the schedule.
#include "runtime/verify/Verify.h"
#include "SyntheticPlan.h"
#include "gtest/gtest.h"

namespace shardc::rt::test {
namespace {

struct Layout {
  int dp, pp, tp, microBatches;
  bool gpipe;
};

class VerifyLayouts : public testing::TestWithParam<Layout> {};

TEST_P(VerifyLayouts, Pass) {
  const Layout &layout = GetParam();
  plan::Plan plan = makeSyntheticPlan({layout.dp, layout.pp, layout.tp, layout.microBatches, layout.gpipe});
  VerifiedCounts counts;
  Status status = verifyPlan(plan, &counts);
  EXPECT_TRUE(status.isOk()) << status.render();
  EXPECT_EQ(counts.programs, layout.pp);
  EXPECT_EQ(counts.messages, 2 * layout.microBatches * (layout.pp - 1));
}

INSTANTIATE_TEST_SUITE_P(Verify, VerifyLayouts,
                         testing::Values(Layout{1, 1, 1, 1, false}, Layout{1, 1, 2, 3, false}, Layout{2, 1, 1, 2, true},
                                         Layout{1, 2, 1, 1, false}, Layout{2, 2, 2, 4, false}, Layout{2, 2, 2, 4, true},
                                         Layout{2, 3, 2, 5, false}, Layout{2, 3, 2, 5, true}, Layout{1, 4, 2, 8, false},
                                         Layout{1, 4, 2, 2, false}, Layout{1, 4, 1, 8, true}));

TEST(Verify, UntiedParametersPass) {
  Status status = verifyPlan(makeSyntheticPlan({.pp = 3, .tied = false}));
  EXPECT_TRUE(status.isOk()) << status.render();
}

TEST(Verify, LargePlansPass) {
  // 64 stages, 64 micro-batches, about 2,000 instructions a block.
  plan::Plan plan = makeSyntheticPlan({.dp = 2, .pp = 64, .tp = 2, .microBatches = 64, .repetitions = 330});
  VerifiedCounts counts;
  Status status = verifyPlan(plan, &counts);
  EXPECT_TRUE(status.isOk()) << status.render();
  EXPECT_GT(counts.runs, 64 * 64 * 2 * 1500);
}

} // namespace
} // namespace shardc::rt::test
