//===-- MinimumCutTest.cpp - the flow against brute force ---------------------------------------------------------===//

#include "shardc/Pipeline/MinimumCut.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace shardc::pipeline;

namespace {

struct TestEdge {
  int from, to;
  int64_t capacity;
};

int64_t sumCut(const std::vector<TestEdge> &edges, const std::vector<bool> &sinkSide) {
  int64_t sum = 0;
  for (const TestEdge &edge : edges)
    if (!sinkSide[edge.from] && sinkSide[edge.to])
      sum += edge.capacity;
  return sum;
}

TEST(MinimumCut, AgreesWithBruteForce) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    int nodes = 2 + random() % 7;
    std::vector<TestEdge> edges;
    for (int i = random() % 20; i > 0; --i)
      edges.push_back({int(random() % nodes), int(random() % nodes), int64_t(random() % 6)});
    FlowGraph graph;
    for (int i = 0; i < nodes; ++i)
      graph.addNode();
    for (const TestEdge &edge : edges)
      graph.addEdge(edge.from, edge.to, edge.capacity);
    std::vector<bool> found = graph.findSinkSide(0, 1);

    int64_t best = INT64_MAX;
    int fewest = 0;
    for (int mask = 0; mask < (1 << nodes); ++mask) {
      if ((mask & 1) || !(mask & 2))
        continue;
      std::vector<bool> side;
      for (int i = 0; i < nodes; ++i)
        side.push_back(mask >> i & 1);
      int64_t sum = sumCut(edges, side);
      int size = std::count(side.begin(), side.end(), true);
      if (sum < best || (sum == best && size < fewest))
        best = sum, fewest = size;
    }
    ASSERT_FALSE(found[0]);
    ASSERT_TRUE(found[1]);
    EXPECT_EQ(sumCut(edges, found), best);
    EXPECT_EQ(std::count(found.begin(), found.end(), true), fewest);
  }
}

TEST(MinimumCut, NodesWithoutPathToTheSinkStayWithTheSource) {
  FlowGraph graph;
  for (int i = 0; i < 3; ++i)
    graph.addNode();
  graph.addEdge(0, 2, 5);
  EXPECT_EQ(graph.findSinkSide(0, 1), (std::vector<bool>{false, true, false}));
}

} // namespace
