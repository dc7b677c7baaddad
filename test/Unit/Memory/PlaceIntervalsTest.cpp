//===-- PlaceIntervalsTest.cpp - offsets from lifetimes -----------------------------------------------------------===//

#include "shardc/Memory/PlaceBuffers.h"

#include "gtest/gtest.h"

#include <random>

using namespace shardc::memory;

namespace {

/// The most bytes that are needed at one time: no placement can do with fewer.
int64_t computeLowerBound(llvm::ArrayRef<Interval> intervals) {
  int64_t most = 0;
  for (const Interval &at : intervals) {
    int64_t bytes = 0;
    for (const Interval &other : intervals)
      if (other.start <= at.start && at.start <= other.end)
        bytes += other.bytes;
    most = std::max(most, bytes);
  }
  return most;
}

TEST(PlaceIntervals, nothingNeedsNothing) {
  Placement placement = placeIntervals({});
  EXPECT_EQ(placement.bytes, 0);
}

TEST(PlaceIntervals, reusesBytesOfTheDead) {
  Placement placement = placeIntervals({{0, 1, 128}, {2, 3, 128}, {4, 5, 64}});
  EXPECT_EQ(placement.bytes, 128);
  EXPECT_EQ(placement.offsets, (llvm::SmallVector<int64_t>{0, 0, 0}));
}

TEST(PlaceIntervals, keepsTheLivingApart) {
  Placement placement = placeIntervals({{0, 2, 64}, {2, 4, 64}});
  EXPECT_EQ(placement.bytes, 128);
}

TEST(PlaceIntervals, alignsOddSizes) {
  Placement placement = placeIntervals({{0, 4, 1}, {0, 4, 65}, {0, 4, 3}});
  for (int64_t offset : placement.offsets)
    EXPECT_EQ(offset % kAlignment, 0);
  EXPECT_TRUE(isValidPlacement({{0, 4, 1}, {0, 4, 65}, {0, 4, 3}}, placement));
}

TEST(PlaceIntervals, fillsTheGapBetweenTwo) {
  // The largest two leave a gap of 128 bytes where the middle one dies.
  llvm::SmallVector<Interval> intervals{{0, 9, 512}, {0, 4, 256}, {0, 9, 200}, {5, 9, 256}};
  Placement placement = placeIntervals(intervals);
  EXPECT_TRUE(isValidPlacement(intervals, placement));
  EXPECT_EQ(placement.offsets[1], placement.offsets[3]);
}

TEST(PlaceIntervals, randomPlacementsAreValidAndNearTheBound) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    llvm::SmallVector<Interval> intervals;
    for (int i = 0; i < 60; ++i) {
      int64_t start = random() % 100;
      intervals.push_back(
          {start, start + static_cast<int64_t>(random() % 20), 64 * static_cast<int64_t>(1 + random() % 50)});
    }
    Placement placement = placeIntervals(intervals);
    ASSERT_TRUE(isValidPlacement(intervals, placement));
    EXPECT_LE(placement.bytes, computeLowerBound(intervals) * 3 / 2);
  }
}

TEST(PlaceIntervals, theCheckSeesOverlap) {
  llvm::SmallVector<Interval> intervals{{0, 1, 64}, {1, 2, 64}};
  EXPECT_FALSE(isValidPlacement(intervals, {{0, 0}, 64}));
  EXPECT_FALSE(isValidPlacement(intervals, {{0, 64}, 64}));
  EXPECT_FALSE(isValidPlacement(intervals, {{0, 32}, 128}));
  EXPECT_TRUE(isValidPlacement(intervals, {{0, 64}, 128}));
}

} // namespace
