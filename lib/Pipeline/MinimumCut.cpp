//===-- MinimumCut.cpp - maximum flow, minimum cut ----------------------------------------------------------------===//

#include "shardc/Pipeline/MinimumCut.h"

#include <algorithm>

using namespace shardc::pipeline;

int FlowGraph::addNode() {
  outgoing.emplace_back();
  return outgoing.size() - 1;
}

void FlowGraph::addEdge(int from, int to, int64_t capacity) {
  outgoing[from].push_back(edges.size());
  edges.push_back({to, capacity});
  outgoing[to].push_back(edges.size());
  edges.push_back({from, 0});
}

/// Numbers the nodes by their distance from the source over edges with capacity left.
bool FlowGraph::buildLevels(int source, int sink) {
  levels.assign(outgoing.size(), -1);
  levels[source] = 0;
  std::vector<int> queue{source};
  for (size_t i = 0; i < queue.size(); ++i)
    for (int edge : outgoing[queue[i]])
      if (edges[edge].capacity > 0 && levels[edges[edge].to] < 0) {
        levels[edges[edge].to] = levels[queue[i]] + 1;
        queue.push_back(edges[edge].to);
      }
  return levels[sink] >= 0;
}

/// Pushes flow along ascending levels; depth-first without recursion, since paths are as long as the model is deep.
int64_t FlowGraph::push(int source, int sink, int64_t limit) {
  std::vector<int> path;
  int node = source;
  while (true) {
    if (node == sink) {
      int64_t amount = limit;
      for (int edge : path)
        amount = std::min(amount, edges[edge].capacity);
      for (int edge : path) {
        edges[edge].capacity -= amount;
        edges[edge ^ 1].capacity += amount;
      }
      return amount;
    }
    bool advanced = false;
    for (size_t &i = next[node]; i < outgoing[node].size(); ++i) {
      int edge = outgoing[node][i];
      if (edges[edge].capacity > 0 && levels[edges[edge].to] == levels[node] + 1) {
        path.push_back(edge);
        node = edges[edge].to;
        advanced = true;
        break;
      }
    }
    if (advanced)
      continue;
    if (path.empty())
      return 0;
    node = edges[path.back() ^ 1].to;
    path.pop_back();
    ++next[node];
  }
}

std::vector<bool> FlowGraph::findSinkSide(int source, int sink) {
  while (buildLevels(source, sink)) {
    next.assign(outgoing.size(), 0);
    while (push(source, sink, kUnlimited) > 0) {
    }
  }
  std::vector<bool> reaches(outgoing.size(), false);
  reaches[sink] = true;
  std::vector<int> queue{sink};
  for (size_t i = 0; i < queue.size(); ++i)
    for (int edge : outgoing[queue[i]]) {
      int from = edges[edge].to;
      if (edges[edge ^ 1].capacity > 0 && !reaches[from]) {
        reaches[from] = true;
        queue.push_back(from);
      }
    }
  return reaches;
}
