//===-- BalanceStagesTest.cpp - the dynamic program against brute force -------------------------------------------===//

#include "shardc/Pipeline/BalanceStages.h"

#include "gtest/gtest.h"

#include <functional>
#include <random>

using namespace shardc::pipeline;

namespace {

int64_t sumCuts(const StageProblem &problem, const std::vector<int64_t> &firsts) {
  int64_t sum = 0;
  for (size_t stage = 1; stage < firsts.size(); ++stage)
    sum += problem.cuts[firsts[stage] - 1].cost;
  return sum;
}

/// Every way to cut, in lexicographic order of the cuts.
void forEachCutting(const StageProblem &problem, const std::function<void(const std::vector<int64_t> &)> &visit) {
  std::vector<int64_t> firsts{0};
  std::function<void()> extend = [&] {
    if (static_cast<int64_t>(firsts.size()) == problem.stages)
      return visit(firsts);
    for (int64_t next = firsts.back() + 1, e = problem.costs.size(); next < e; ++next) {
      firsts.push_back(next);
      extend();
      firsts.pop_back();
    }
  };
  extend();
}

TEST(BalanceStages, AgreesWithBruteForce) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    StageProblem problem;
    int64_t items = 1 + random() % 9;
    problem.stages = 1 + random() % items;
    for (int64_t i = 0; i < items; ++i)
      problem.costs.push_back(random() % 20);
    for (int64_t i = 1; i < items; ++i)
      problem.cuts.push_back({1, static_cast<int64_t>(random() % 5)});
    int64_t largest = INT64_MAX, cuts = INT64_MAX;
    forEachCutting(problem, [&](const std::vector<int64_t> &firsts) {
      std::pair candidate(largestStageCost(problem, firsts), sumCuts(problem, firsts));
      if (candidate < std::pair(largest, cuts))
        std::tie(largest, cuts) = candidate;
    });
    auto firsts = balanceStages(problem);
    ASSERT_TRUE(firsts);
    EXPECT_EQ(largestStageCost(problem, *firsts), largest);
    EXPECT_EQ(sumCuts(problem, *firsts), cuts);
  }
}

TEST(BalanceStages, FewValuesCross) {
  // Balance alone would cut in the middle, where two values cross; one value crosses beside it.
  StageProblem problem{{10, 10, 10, 10}, {{1, 0}, {2, 0}, {1, 0}}, 2};
  EXPECT_EQ(*balanceStages(problem), (std::vector<int64_t>{0, 1}));
}

TEST(BalanceStages, BalanceBeatsFewValuesWhenItIsFarBetter) {
  StageProblem problem{{1, 20, 20, 1}, {{1, 0}, {2, 0}, {1, 0}}, 2};
  EXPECT_EQ(*balanceStages(problem), (std::vector<int64_t>{0, 2}));
}

TEST(BalanceStages, MoreStagesThanItems) { EXPECT_FALSE(balanceStages({{1, 1}, {{1, 0}}, 3})); }

} // namespace
