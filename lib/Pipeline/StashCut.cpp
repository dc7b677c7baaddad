//===-- StashCut.cpp - what a stage keeps, what it computes again -------------------------------------------------===//

#include "StashCut.h"
#include "shardc/Pipeline/MinimumCut.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::pipeline;

namespace {

class StashCut {
public:
  StashCut(func::FuncOp accumulate, int64_t stage, const RecomputeRules &rules)
      : accumulate(accumulate), stage(stage), rules(rules) {
    source = graph.addNode();
    sink = graph.addNode();
    // Bytes outweigh all ops and views together.
    unit = 2 * static_cast<int64_t>(accumulate.getBody().front().getOperations().size()) + 1;
  }

  llvm::DenseSet<Operation *> run() {
    for (Operation &op : accumulate.getBody().front().without_terminator()) {
      if (getStage(&op) != stage)
        continue;
      if (isBackward(&op))
        for (Value operand : op.getOperands())
          addNeed(operand);
      else
        for (Value result : op.getResults())
          getVertex(result);
    }
    std::vector<bool> repeated = graph.findSinkSide(source, sink);
    llvm::DenseSet<Operation *> ops;
    for (auto [value, vertex] : vertices)
      if (repeated[vertex.in])
        ops.insert(value.getDefiningOp());
    return ops;
  }

private:
  /// Capacity lies on the edge between the two nodes of a vertex.
  struct Vertex {
    int in;
    int out;
  };

  /// Parameters and free values are at hand; gradients are no business of the forward.
  static bool isVertex(Value value) {
    Operation *op = value.getDefiningOp();
    return op ? getStage(op) >= 0 && !isBackward(op) : !isParameter(value);
  }

  bool canRepeat(Value value) {
    Operation *op = value.getDefiningOp();
    return op && getStage(op) == stage && rules.mayRepeat(op) && !rules.kept.contains(value);
  }

  Vertex getVertex(Value value) {
    auto found = vertices.find(value);
    if (found != vertices.end())
      return found->second;
    Vertex vertex{graph.addNode(), graph.addNode()};
    vertices[value] = vertex;
    Operation *op = value.getDefiningOp();
    bool view = op && isView(op);
    graph.addEdge(vertex.in, vertex.out, rules.kept.contains(value) ? 0 : getBytes(value) * unit + view);
    if (!canRepeat(value)) {
      graph.addEdge(source, vertex.in, FlowGraph::kUnlimited);
      return vertex;
    }
    if (!view)
      graph.addEdge(source, vertex.in, 1);
    for (Value operand : op->getOperands())
      if (isVertex(operand))
        graph.addEdge(getVertex(operand).out, vertex.in, FlowGraph::kUnlimited);
    return vertex;
  }

  void addNeed(Value value) {
    if (isVertex(value))
      graph.addEdge(getVertex(value).out, sink, FlowGraph::kUnlimited);
  }

  func::FuncOp accumulate;
  int64_t stage;
  const RecomputeRules &rules;
  FlowGraph graph;
  int source;
  int sink;
  int64_t unit;
  llvm::DenseMap<Value, Vertex> vertices;
};

} // namespace

llvm::DenseSet<Operation *> shardc::pipeline::chooseRecomputed(func::FuncOp accumulate, int64_t stage,
                                                               const RecomputeRules &rules) {
  return StashCut(accumulate, stage, rules).run();
}
