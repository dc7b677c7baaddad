//===-- Graph.h - the nodes of a model, flat ----------------------------------------------------------------------===//
//
// The graph as the importer works on it: model-local functions are inlined, nodes are sorted, every value has one
// producer. Names of values inside of inlined calls are prefixed by the call's name.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_LIB_IMPORT_GRAPH_H
#define SHARDC_LIB_IMPORT_GRAPH_H

#include "Diagnostics.h"
#include "OnnxFile.h"

#include "llvm/ADT/StringMap.h"

#include <deque>

namespace shardc::importer {

struct Node {
  /// What diagnostics call it: its name, or `Op#index → first output`; inlined: `call/name`.
  std::string name;
  std::string opType, domain;
  /// The version of the opset that its meaning follows: the graph's, or the enclosing function's.
  int64_t opset = 0;
  std::vector<std::string> inputs, outputs;
  /// References to attributes of functions are resolved.
  std::vector<const onnx::AttributeProto *> attributes;
  /// Index among the graph's nodes, or -1 where the node stems from a function.
  int64_t indexInFile = -1;

  const onnx::AttributeProto *getAttribute(mlir::StringRef attribute) const;
  bool isStandard() const { return domain.empty(); }
  /// The name of the op, with the domain if it is not ONNX's.
  std::string getOpName() const { return isStandard() ? opType : domain + "::" + opType; }
};

struct Graph {
  std::vector<Node> nodes;
  /// Owns the attributes that inlining made; addresses are stable.
  std::deque<onnx::AttributeProto> ownedAttributes;
};

/// The opsets of ONNX's own domain that the importer knows.
inline constexpr int64_t kMinOpset = 9, kMaxOpset = 23;

/// ONNX's own domain has two spellings.
inline std::string normalizeDomain(const std::string &domain) { return domain == "ai.onnx" ? std::string() : domain; }

/// Checks what the file says about itself: opsets, names, initializers, inputs and outputs [file-7 … graph-19].
mlir::LogicalResult checkGraph(Diagnostics &diagnostics, const OnnxFile &file);
/// Makes the flat list of nodes: inlines functions by (domain, name, overload), with recursion refused [graph-28 …
/// graph-31].
mlir::FailureOr<Graph> inlineFunctions(Diagnostics &diagnostics, const OnnxFile &file);
/// Checks the nodes against the operator table: unknown ops (all at once), versions, arity, attributes [graph-20 …
/// graph-27].
mlir::LogicalResult checkNodes(Diagnostics &diagnostics, const Graph &graph);
/// Sorts the nodes by their uses, keeping the order of the file where it is sorted; cycles, undefined and doubly
/// defined values are errors [graph-13 … graph-19]. Returns whether the order of the file was another.
mlir::FailureOr<bool> sortNodes(Diagnostics &diagnostics, const OnnxFile &file, Graph &graph);

} // namespace shardc::importer

#endif
