//===-- CostModelTest.cpp - the formulas of the cost model --------------------------------------------------------===//

#include "dialects/dist/CostModel.h"

#include "gtest/gtest.h"

using namespace shardc::dist;

namespace {

/// One second a flop, a byte of memory or of the link, and a message: costs are counts.
constexpr Hardware kUnit = {"unit", 1, 1, 1, 1, 0};
constexpr int64_t kSecond = 1000000000000000;

TEST(CostModel, WorkIsTheLargerOfArithmeticAndMemory) {
  CostModel model(kUnit);
  EXPECT_EQ(model.getWorkTime(3, 2), 3 * kSecond);
  EXPECT_EQ(model.getWorkTime(3, 5), 5 * kSecond);
}

TEST(CostModel, CollectivesAreRings) {
  CostModel model(kUnit);
  EXPECT_EQ(model.getCollectiveTime(CollectiveKind::AllReduce, 4, 16), (6 + 24) * kSecond);
  EXPECT_EQ(model.getCollectiveTime(CollectiveKind::AllGather, 4, 16), (3 + 12) * kSecond);
  EXPECT_EQ(model.getCollectiveTime(CollectiveKind::ReduceScatter, 4, 16), (3 + 12) * kSecond);
  EXPECT_EQ(model.getCollectiveTime(CollectiveKind::AllToAll, 4, 16), (3 + 3) * kSecond);
  EXPECT_EQ(model.getCollectiveTime(CollectiveKind::AllReduce, 1, 16), 0);
}

TEST(CostModel, MessagesTakeLatencyAndBytes) { EXPECT_EQ(CostModel(kUnit).getMessageTime(16), 17 * kSecond); }

TEST(CostModel, RingElementsOfALayer) {
  // 8·b·s·h·(t − 1)/t for four all-reduces of b·s·h.
  int64_t b = 2, s = 8, h = 16, t = 4;
  EXPECT_EQ(4 * getRingElements(CollectiveKind::AllReduce, t, b * s * h), 8 * b * s * h * (t - 1) / t);
}

} // namespace
