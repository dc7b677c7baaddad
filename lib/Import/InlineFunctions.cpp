//===-- InlineFunctions.cpp - replaces calls of model-local functions by their bodies -----------------------------===//

#include "Graph.h"

#include "llvm/ADT/StringSet.h"

#include <map>

using namespace mlir;
using namespace shardc::importer;

namespace {

constexpr int64_t kMaxNodes = 1 << 18;
constexpr size_t kMaxDepth = 100;

using FunctionId = std::tuple<std::string, std::string, std::string>;
using Opsets = std::map<std::string, int64_t>;

Opsets getOpsets(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto> &imports) {
  Opsets opsets;
  for (const onnx::OperatorSetIdProto &entry : imports)
    opsets[normalizeDomain(entry.domain())] = entry.version();
  return opsets;
}

/// The surroundings that a node is read in: what its value names, attribute references and op versions mean.
struct Scope {
  std::string prefix;
  const Opsets *opsets = nullptr;
  /// Names of a function's values, where it was called; null in the graph itself.
  const llvm::StringMap<std::string> *values = nullptr;
  const llvm::StringMap<const onnx::AttributeProto *> *attributes = nullptr;
};

/// Walks the graph and the functions that it calls.
class Inliner {
public:
  Inliner(Diagnostics &diagnostics, const OnnxFile &file)
      : diagnostics(diagnostics), model(*file.model), path(file.path) {}

  FailureOr<Graph> run() {
    Opsets opsets = getOpsets(model.opset_import());
    for (const onnx::FunctionProto &function : model.functions()) {
      FunctionId id{normalizeDomain(function.domain()), function.name(), getOverload(function)};
      if (!functions.emplace(id, &function).second)
        return diagnostics.error("graph-30", "function", function.name(), "there are two functions of this name");
    }
    if (FailureOr<int64_t> count = countNodes(model.graph().node()); failed(count))
      return failure();
    collectNames();
    Scope scope{"", &opsets, nullptr, nullptr};
    for (auto [index, node] : llvm::enumerate(model.graph().node()))
      if (failed(visit(node, scope, static_cast<int64_t>(index))))
        return failure();
    return std::move(graph);
  }

private:
  using NodeList = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

  const onnx::FunctionProto *findFunction(const onnx::NodeProto &node) const {
    auto found = functions.find({normalizeDomain(node.domain()), node.op_type(), getOverload(node)});
    return found == functions.end() ? nullptr : found->second;
  }

  /// How many nodes a list becomes, told before any of them is made: few functions that call one another can be more
  /// than any memory holds. Also refuses recursion, and what is nested too deep [graph-29, graph-31].
  FailureOr<int64_t> countNodes(const NodeList &nodes) {
    int64_t count = 0;
    for (const onnx::NodeProto &node : nodes) {
      const onnx::FunctionProto *function = findFunction(node);
      FailureOr<int64_t> size = function ? countNodes(*function) : FailureOr<int64_t>(1);
      if (failed(size))
        return failure();
      count += *size;
      if (count > kMaxNodes)
        return diagnostics.error("graph-31", "model", path,
                                 Twine("has more than ") + Twine(kMaxNodes) + " nodes after inlining its functions");
    }
    return count;
  }

  FailureOr<int64_t> countNodes(const onnx::FunctionProto &function) {
    if (auto known = sizes.find(&function); known != sizes.end())
      return known->second;
    if (llvm::is_contained(stack, &function))
      return diagnostics.error("graph-29", "function", function.name(), "calls itself");
    if (stack.size() >= kMaxDepth)
      return diagnostics.error("graph-31", "function", function.name(),
                               Twine("is called through more than ") + Twine(kMaxDepth) + " functions");
    stack.push_back(&function);
    FailureOr<int64_t> count = countNodes(function.node());
    stack.pop_back();
    if (succeeded(count))
      sizes[&function] = *count;
    return count;
  }

  void collectNames() {
    for (const onnx::NodeProto &node : model.graph().node()) {
      for (const std::string &name : node.input())
        taken.insert(name);
      for (const std::string &name : node.output())
        taken.insert(name);
    }
    for (const onnx::TensorProto &tensor : model.graph().initializer())
      taken.insert(tensor.name());
    for (const onnx::ValueInfoProto &input : model.graph().input())
      taken.insert(input.name());
  }

  std::string makeUnique(std::string name) {
    while (!taken.insert(name).second)
      name += "'";
    return name;
  }

  std::string nameNode(const onnx::NodeProto &node, const Scope &scope, int64_t index) {
    if (!node.name().empty())
      return scope.prefix + node.name();
    std::string output = node.output_size() ? node.output(0) : std::string();
    return scope.prefix + node.op_type() + "#" + std::to_string(index) + " → " + output;
  }

  static std::string resolveValue(const std::string &name, const Scope &scope) {
    if (!scope.values || name.empty())
      return name;
    auto found = scope.values->find(name);
    return found == scope.values->end() ? scope.prefix + name : found->second;
  }

  LogicalResult resolveAttributes(const onnx::NodeProto &node, const Scope &scope, Node &flat) {
    llvm::StringSet<> seen;
    for (const onnx::AttributeProto &attribute : node.attribute()) {
      if (!seen.insert(attribute.name()).second)
        return diagnostics.error("graph-25", "node", flat.name,
                                 Twine("has the attribute '") + attribute.name() + "' twice");
      if (attribute.ref_attr_name().empty()) {
        flat.attributes.push_back(&attribute);
        continue;
      }
      if (!scope.attributes)
        return diagnostics.error("graph-28", "node", flat.name,
                                 Twine("its attribute '") + attribute.name() +
                                     "' refers to an attribute of a function, but it "
                                     "is in none");
      auto found = scope.attributes->find(attribute.ref_attr_name());
      if (found == scope.attributes->end())
        continue; // the call leaves it out, so that the op's default holds
      onnx::AttributeProto copy = *found->second;
      copy.set_name(attribute.name());
      graph.ownedAttributes.push_back(std::move(copy));
      flat.attributes.push_back(&graph.ownedAttributes.back());
    }
    return success();
  }

  LogicalResult visit(const onnx::NodeProto &node, const Scope &scope, int64_t index) {
    Node flat;
    flat.name = nameNode(node, scope, index);
    flat.opType = node.op_type();
    flat.domain = normalizeDomain(node.domain());
    flat.indexInFile = scope.values ? -1 : index;
    if (auto found = scope.opsets->find(flat.domain); found != scope.opsets->end())
      flat.opset = found->second;
    for (const std::string &name : node.input())
      flat.inputs.push_back(resolveValue(name, scope));
    for (const std::string &name : node.output())
      flat.outputs.push_back(resolveValue(name, scope));
    if (failed(resolveAttributes(node, scope, flat)))
      return failure();
    if (const onnx::FunctionProto *function = findFunction(node))
      return inlineCall(flat, *function);
    graph.nodes.push_back(std::move(flat));
    return success();
  }

  LogicalResult inlineCall(const Node &call, const onnx::FunctionProto &function) {
    if (static_cast<int>(call.inputs.size()) > function.input_size() ||
        static_cast<int>(call.outputs.size()) > function.output_size())
      return diagnostics.error("graph-23", "node", call.name,
                               Twine("calls the function '") + function.name() + "' with " + Twine(call.inputs.size()) +
                                   " inputs and " + Twine(call.outputs.size()) + " outputs, expected " +
                                   Twine(function.input_size()) + " and " + Twine(function.output_size()));
    llvm::StringMap<const onnx::AttributeProto *> attributes;
    std::vector<onnx::AttributeProto> defaults = getDefaultAttributes(function);
    for (onnx::AttributeProto &attribute : defaults) {
      graph.ownedAttributes.push_back(std::move(attribute));
      attributes[graph.ownedAttributes.back().name()] = &graph.ownedAttributes.back();
    }
    for (const onnx::AttributeProto *attribute : call.attributes) {
      if (!attributes.contains(attribute->name()) && !llvm::is_contained(function.attribute(), attribute->name()))
        return diagnostics.error("graph-25", "node", call.name,
                                 Twine("has the attribute '") + attribute->name() + "', which the function '" +
                                     function.name() + "' has not");
      attributes[attribute->name()] = attribute;
    }
    llvm::StringMap<std::string> values;
    mapValues(call, function, values);
    Opsets opsets = getOpsets(function.opset_import());
    Scope scope{call.name + "/", &opsets, &values, &attributes};
    for (auto [index, node] : llvm::enumerate(function.node()))
      if (failed(visit(node, scope, static_cast<int64_t>(index))))
        return failure();
    return success();
  }

  /// Gives every value of the function its name in the flat graph.
  void mapValues(const Node &call, const onnx::FunctionProto &function, llvm::StringMap<std::string> &values) {
    for (int i = 0; i < function.input_size(); ++i)
      values[function.input(i)] = i < static_cast<int>(call.inputs.size()) ? call.inputs[i] : std::string();
    llvm::StringMap<std::string> passedOn;
    for (int i = 0; i < function.output_size(); ++i) {
      const std::string &name = function.output(i);
      std::string outer = i < static_cast<int>(call.outputs.size()) ? call.outputs[i] : std::string();
      if (outer.empty())
        continue;
      // An output that is an input too, or that is returned twice, needs a node of its own.
      if (values.contains(name))
        addIdentity(call, values[name], outer);
      else
        values[name] = outer;
    }
    for (const onnx::NodeProto &node : function.node())
      for (const std::string &output : node.output())
        if (!output.empty() && !values.contains(output))
          values[output] = makeUnique(call.name + "/" + output);
  }

  void addIdentity(const Node &call, const std::string &from, const std::string &to) {
    Node identity;
    identity.name = call.name;
    identity.opType = "Identity";
    identity.opset = kIdentityOpset;
    identity.inputs = {from};
    identity.outputs = {to};
    graph.nodes.push_back(std::move(identity));
  }

  static constexpr int64_t kIdentityOpset = 14;

  Diagnostics &diagnostics;
  const onnx::ModelProto &model;
  std::string path;
  std::map<FunctionId, const onnx::FunctionProto *> functions;
  std::vector<const onnx::FunctionProto *> stack;
  llvm::DenseMap<const onnx::FunctionProto *, int64_t> sizes;
  llvm::StringSet<> taken;
  Graph graph;
};

} // namespace

FailureOr<Graph> shardc::importer::inlineFunctions(Diagnostics &diagnostics, const OnnxFile &file) {
  return Inliner(diagnostics, file).run();
}
