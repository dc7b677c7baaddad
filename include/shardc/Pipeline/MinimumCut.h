//===-- MinimumCut.h - maximum flow, minimum cut ------------------------------------------------------------------===//
//
// Dinic's algorithm (1970) on a small graph with integer capacities.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_PIPELINE_MINIMUMCUT_H
#define SHARDC_PIPELINE_MINIMUMCUT_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardc::pipeline {

/// A directed graph with capacities on edges.
class FlowGraph {
public:
  /// A capacity that no cut pays.
  static constexpr int64_t kUnlimited = int64_t(1) << 62;

  int addNode();
  void addEdge(int from, int to, int64_t capacity);

  /// Finds a cut of least capacity between two nodes and returns, for each node, whether it is on the side of `sink`:
  /// the nodes from which `sink` can still be reached. Of all least cuts it is the one with the fewest nodes on that
  /// side, which is unique. Nodes that have no path to `sink` are never on its side. May be called once.
  std::vector<bool> findSinkSide(int source, int sink);

private:
  struct Edge {
    int to;
    int64_t capacity; ///< what is left
  };

  bool buildLevels(int source, int sink);
  int64_t push(int node, int sink, int64_t limit);

  std::vector<Edge> edges; ///< edge 2i and its reverse 2i + 1
  std::vector<std::vector<int>> outgoing;
  std::vector<int> levels;
  std::vector<size_t> next;
};

} // namespace shardc::pipeline

#endif
