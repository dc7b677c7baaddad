//===-- CostNetworkTest.cpp - bucket elimination against brute force ----------------------------------------------===//

#include "lib/Sharding/CostNetwork.h"

#include "llvm/ADT/ArrayRef.h"

#include "gtest/gtest.h"

#include <random>

using namespace shardc::sharding;

namespace {

/// Every assignment of the network, counted up like an odometer; false after the last.
bool advance(const CostNetwork &network, std::vector<int> &values) {
  for (int variable = network.getNumVariables() - 1; variable >= 0; --variable) {
    if (++values[variable] < network.getSize(variable))
      return true;
    values[variable] = 0;
  }
  return false;
}

int64_t findBest(const CostNetwork &network) {
  std::vector<int> values(network.getNumVariables(), 0);
  int64_t best = kInfeasible;
  do
    best = std::min(best, network.evaluate(values));
  while (advance(network, values));
  return best;
}

CostNetwork makeRandom(std::mt19937 &random) {
  CostNetwork network;
  int variables = 2 + random() % 7;
  for (int i = 0; i < variables; ++i) {
    network.addVariable(1 + random() % 3);
    for (int value = 0; value < network.getSize(i); ++value)
      network.addCost(i, value, random() % 10);
  }
  for (unsigned tables = random() % 12; tables > 0; --tables) {
    int first = random() % variables, second = random() % variables;
    if (first == second)
      continue;
    network.addCosts(first, second,
                     [&](int, int) { return random() % 4 == 0 ? kInfeasible : static_cast<int64_t>(random() % 10); });
  }
  return network;
}

TEST(CostNetwork, AgreesWithBruteForce) {
  std::mt19937 random(1);
  int feasible = 0;
  for (int round = 0; round < 500; ++round) {
    CostNetwork network = makeRandom(random);
    int64_t best = findBest(network);
    auto solution = network.solve();
    ASSERT_EQ(succeeded(solution), best < kInfeasible);
    if (failed(solution))
      continue;
    ++feasible;
    EXPECT_EQ(solution->cost, best);
    EXPECT_EQ(network.evaluate(solution->values), best);
  }
  EXPECT_GT(feasible, 100);
}

TEST(CostNetwork, RefusesTablesThatAreTooLarge) {
  CostNetwork network;
  for (int i = 0; i < 6; ++i)
    network.addVariable(10);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < i; ++j)
      network.addCosts(i, j, [](int a, int b) { return a * b; });
  EXPECT_TRUE(failed(network.solve(/*maxTableSize=*/1000)));
  EXPECT_TRUE(succeeded(network.solve()));
}

TEST(CostNetwork, IsLinearInTheLengthOfAChain) {
  CostNetwork network;
  for (int i = 0; i < 4000; ++i) {
    network.addVariable(6);
    if (i > 0)
      network.addCosts(i - 1, i, [&](int a, int b) { return (a * 7 + b * 3 + i) % 11; });
    if (i > 1)
      network.addCosts(i - 2, i, [&](int a, int b) { return (a * 5 + b + i) % 13; });
  }
  auto solution = network.solve(/*maxTableSize=*/1000);
  ASSERT_TRUE(succeeded(solution));
  EXPECT_EQ(network.evaluate(solution->values), solution->cost);
}

} // namespace
