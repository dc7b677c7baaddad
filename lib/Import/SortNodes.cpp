//===-- SortNodes.cpp - puts producers before uses ----------------------------------------------------------------===//

#include "Graph.h"

#include "llvm/ADT/StringSet.h"

#include <queue>

using namespace mlir;
using namespace shardc::importer;

namespace {

/// Kahn's algorithm with the file's order as priority, so that a sorted file keeps its order.
class NodeSorter {
public:
  NodeSorter(Diagnostics &diagnostics, const OnnxFile &file, Graph &graph)
      : diagnostics(diagnostics), file(file), graph(graph) {}

  FailureOr<bool> run() {
    if (failed(collectProducers()) || failed(checkUses()))
      return failure();
    std::vector<int64_t> order = sort();
    if (order.size() != graph.nodes.size())
      return failCycle(order);
    bool changed = !llvm::is_sorted(order);
    std::vector<Node> sorted;
    sorted.reserve(order.size());
    for (int64_t index : order)
      sorted.push_back(std::move(graph.nodes[index]));
    graph.nodes = std::move(sorted);
    return changed;
  }

private:
  LogicalResult collectProducers() {
    for (const onnx::ValueInfoProto &input : file.model->graph().input())
      available.insert(input.name());
    for (const onnx::TensorProto &tensor : file.model->graph().initializer())
      available.insert(tensor.name());
    for (auto [index, node] : llvm::enumerate(graph.nodes))
      for (const std::string &output : node.outputs) {
        if (output.empty())
          continue;
        if (available.contains(output))
          (void)diagnostics.error("graph-14", "node", node.name,
                                  Twine("its output '") + output + "' has the name of an input or initializer");
        else if (!producers.try_emplace(output, static_cast<int64_t>(index)).second)
          (void)diagnostics.error("graph-14", "node", node.name,
                                  Twine("its output '") + output + "' is also an output of node '" +
                                      graph.nodes[producers[output]].name + "'");
      }
    return success(!diagnostics.hasErrors());
  }

  LogicalResult checkUses() {
    for (const Node &node : graph.nodes)
      for (const std::string &input : node.inputs)
        if (!input.empty() && !available.contains(input) && !producers.contains(input))
          (void)diagnostics.error("graph-15", "node", node.name, Twine("its input '") + input + "' is not defined");
    for (const onnx::ValueInfoProto &output : file.model->graph().output())
      if (!available.contains(output.name()) && !producers.contains(output.name()))
        (void)diagnostics.error("graph-16", "output", output.name(), "no node produces it");
    return success(!diagnostics.hasErrors());
  }

  std::vector<int64_t> sort() {
    std::vector<int64_t> missing(graph.nodes.size(), 0), order;
    std::vector<std::vector<int64_t>> users(graph.nodes.size());
    std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> ready;
    for (auto [index, node] : llvm::enumerate(graph.nodes)) {
      for (const std::string &input : node.inputs)
        if (auto producer = producers.find(input); producer != producers.end()) {
          users[producer->second].push_back(static_cast<int64_t>(index));
          ++missing[index];
        }
      if (missing[index] == 0)
        ready.push(static_cast<int64_t>(index));
    }
    while (!ready.empty()) {
      int64_t index = ready.top();
      ready.pop();
      order.push_back(index);
      for (int64_t user : users[index])
        if (--missing[user] == 0)
          ready.push(user);
    }
    return order;
  }

  LogicalResult failCycle(const std::vector<int64_t> &order) {
    std::vector<bool> done(graph.nodes.size(), false);
    for (int64_t index : order)
      done[index] = true;
    for (auto [index, node] : llvm::enumerate(graph.nodes))
      if (!done[index])
        return diagnostics.error("graph-13", "node", node.name, "lies on or behind a cycle of the graph");
    return failure();
  }

  Diagnostics &diagnostics;
  const OnnxFile &file;
  Graph &graph;
  llvm::StringSet<> available;
  llvm::StringMap<int64_t> producers;
};

} // namespace

FailureOr<bool> shardc::importer::sortNodes(Diagnostics &diagnostics, const OnnxFile &file, Graph &graph) {
  return NodeSorter(diagnostics, file, graph).run();
}
