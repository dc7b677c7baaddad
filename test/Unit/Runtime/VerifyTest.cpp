// Plans that are right must pass, whatever the layout and the schedule.
#include "runtime/verify/Verify.h"
#include "SyntheticPlan.h"
#include "gtest/gtest.h"

#include <ctime>

namespace shardc::rt::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

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

TEST(Verify, LargePlansTakeSeconds) {
  // 64 stages, 64 micro-batches, about 2,000 instructions a block.
  plan::Plan plan = makeSyntheticPlan({.dp = 2, .pp = 64, .tp = 2, .microBatches = 64, .repetitions = 330});
  std::clock_t start = std::clock(); // of this process: other work on the machine does not count
  VerifiedCounts counts;
  Status status = verifyPlan(plan, &counts);
  double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_TRUE(status.isOk()) << status.render();
  EXPECT_GT(counts.runs, 64 * 64 * 2 * 1500);
  if (!kSanitized)
    EXPECT_LT(seconds, 20);
  RecordProperty("seconds", std::to_string(seconds));
}

} // namespace
} // namespace shardc::rt::test
