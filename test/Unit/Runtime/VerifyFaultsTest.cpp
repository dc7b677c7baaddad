// Every planted fault is refused, with its label, at the place where it shows.
#include "Faults.h"
#include "SyntheticPlan.h"
#include "runtime/verify/Verify.h"
#include "gtest/gtest.h"

namespace shardc::rt::test {
namespace {

plan::Plan makePlan() { return makeSyntheticPlan({.pp = 2, .microBatches = 4, .repetitions = 2}); }

class VerifyFaults : public testing::TestWithParam<size_t> {};

TEST_P(VerifyFaults, AreRefused) {
  const Fault &fault = faults()[GetParam()];
  plan::Plan plan = makePlan();
  ASSERT_TRUE(fault.plant(plan)) << "no place for " << fault.name;
  Status status = verifyPlan(plan);
  EXPECT_FALSE(status.isOk()) << fault.name << ": " << fault.summary;
  EXPECT_NE(status.render().find(std::string("[") + fault.label + "]"), std::string::npos)
      << fault.name << ", expected [" << fault.label << "], got\n"
      << status.render();
  // The right place: the rank first, and what it does, unless the whole plan is wrong.
  EXPECT_TRUE(status.message().starts_with("rank ") || status.message().starts_with("plan: ")) << status.message();
  EXPECT_NE(status.message().find(", got "), std::string::npos) << status.message();
}

INSTANTIATE_TEST_SUITE_P(Verify, VerifyFaults, testing::Range(size_t(0), faults().size()));

} // namespace
} // namespace shardc::rt::test
