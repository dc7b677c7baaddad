//===-- AllocationCountTest.cpp - the count that others rely on ---------------------------------------------------===//

#include "AllocationCount.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <vector>

using namespace shardc::rt::test;

namespace {

// Visible from elsewhere, so that no compiler leaves an allocation out.
std::vector<char> *volatile kept = nullptr;
void *volatile memory = nullptr;

} // namespace

TEST(AllocationCount, SeesWhatIsAllocatedAndReleased) {
  if (!allocationsAreCounted())
    GTEST_SKIP() << "sanitizers have allocators of their own";
  AllocationCount count;
  kept = new std::vector<char>(100);
  EXPECT_EQ(count.ours(), 2);
  EXPECT_EQ(count.net(), 2);
  memory = std::malloc(1);
  EXPECT_EQ(count.ours(), 3);
  delete kept;
  std::free(memory);
  count.stop();
  EXPECT_EQ(count.ours(), 3);
  EXPECT_EQ(count.net(), 0);
  delete new std::vector<char>(100);
  EXPECT_EQ(count.ours(), 3); // no longer
}
