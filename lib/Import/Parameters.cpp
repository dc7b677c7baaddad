//===-- Parameters.cpp - which tensors of the file are parameters -------------------------------------------------===//

#include "Parameters.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/GlobPattern.h"

#include <map>

using namespace mlir;
using namespace shardc::importer;

namespace {

enum class Slot { None, Matrix, Table, Scale, Bias };

/// One use of a tensor by an op that computes; `views` are the nodes in between that only show it otherwise.
struct Use {
  size_t node, operand;
  Slot slot;
  std::vector<size_t> views;
};

/// What is known of a value while walking the nodes in order.
struct ValueFacts {
  std::string root; // the tensor that it is, seen through views
  std::vector<size_t> views;
  bool isProduct = false, isEmbedding = false, isNormalised = false, isScaled = false;
};

bool isView(const Node &node) {
  static const llvm::StringSet<> kViews{"Identity", "Transpose", "Reshape", "Squeeze", "Unsqueeze",
                                        "Cast",     "Flatten",   "Split",   "Slice"};
  return node.isStandard() && kViews.contains(node.opType);
}

/// Nodes behind which a product is still a product, an embedding still one.
bool keepsMeaning(const Node &node) { return isView(node) || node.opType == "Dropout" || node.opType == "Concat"; }

/// Walks the nodes and collects the uses of tensors with their slots.
class UseCollector {
public:
  UseCollector(const std::vector<Tensor> &tensors, const Graph &graph) : graph(graph) {
    for (const Tensor &tensor : tensors) {
      byName[tensor.name] = &tensor;
      facts[tensor.name].root = tensor.name;
    }
  }

  llvm::StringMap<std::vector<Use>> run() {
    for (auto [index, node] : llvm::enumerate(graph.nodes))
      visit(index, node);
    return std::move(uses);
  }

private:
  const Tensor *getTensor(const std::string &value) const {
    auto found = facts.find(value);
    return found == facts.end() || found->second.root.empty() ? nullptr : byName.lookup(found->second.root);
  }

  ValueFacts getFacts(const std::string &value) const { return facts.lookup(value); }

  /// A vector once leading dimensions of 1 are left out, with more than one element.
  static bool isVector(const Tensor &tensor) {
    return !tensor.shape.empty() && tensor.getNumElements() > 1 && tensor.shape.back() == tensor.getNumElements();
  }

  /// Sum of two: what is added to a product or scaled values is a bias, to an embedding a table of positions.
  Slot classifyAddend(const Tensor &tensor, const ValueFacts &other) const {
    if (isVector(tensor) && (other.isProduct || other.isScaled))
      return Slot::Bias;
    return other.isEmbedding && tensor.shape.size() >= 2 && tensor.getNumElements() > 1 ? Slot::Table : Slot::None;
  }

  Slot classify(const Node &node, size_t operand, const Tensor &tensor) const {
    if (!node.isStandard())
      return Slot::None;
    StringRef op = node.opType;
    if (op == "MatMul")
      return Slot::Matrix;
    if (op == "Gemm")
      return operand == 2 ? Slot::Bias : Slot::Matrix;
    if (op == "LayerNormalization" || op == "RMSNormalization")
      return operand == 1 ? Slot::Scale : operand == 2 ? Slot::Bias : Slot::None;
    if (op == "Gather")
      return operand == 0 && tensor.shape.size() >= 2 ? Slot::Table : Slot::None;
    if (node.inputs.size() != 2)
      return Slot::None;
    ValueFacts other = getFacts(node.inputs[1 - operand]);
    if (op == "Add")
      return classifyAddend(tensor, other);
    if (op == "Mul" && isVector(tensor) && other.isNormalised)
      return Slot::Scale;
    return Slot::None;
  }

  void visit(size_t index, const Node &node) {
    if (isView(node) && !node.inputs.empty() && getTensor(node.inputs[0])) {
      ValueFacts seen = getFacts(node.inputs[0]);
      seen.views.push_back(index);
      for (const std::string &output : node.outputs)
        facts[output] = seen;
      return;
    }
    for (auto [operand, input] : llvm::enumerate(node.inputs))
      if (const Tensor *tensor = getTensor(input))
        uses[tensor->name].push_back({index, operand, classify(node, operand, *tensor), getFacts(input).views});
    derive(node);
  }

  bool hasTensorOperand(const Node &node) const {
    return llvm::any_of(node.inputs, [&](const std::string &input) { return getTensor(input) != nullptr; });
  }

  /// What follows for the outputs of a node.
  void derive(const Node &node) {
    if (node.inputs.empty())
      return; // a constant is its own root
    ValueFacts result;
    bool readsTensor = hasTensorOperand(node);
    result.isProduct = (node.opType == "MatMul" || node.opType == "Gemm") && readsTensor;
    result.isEmbedding = node.opType == "Gather" && !node.inputs.empty() && getTensor(node.inputs[0]);
    for (const std::string &input : node.inputs) {
      ValueFacts from = getFacts(input);
      result.isProduct |= from.isProduct && keepsMeaning(node);
      result.isEmbedding |= from.isEmbedding && (keepsMeaning(node) || node.opType == "Add" || node.opType == "Mul");
      result.isScaled |= from.isNormalised && node.opType == "Mul" && readsTensor;
    }
    // x / √… and x · (1 / √…) are normalised; sums keep what leads to the root.
    result.isNormalised = (node.opType == "Div" || node.opType == "Mul" || node.opType == "Cast") && !readsTensor &&
                          llvm::any_of(node.inputs, [&](const std::string &input) { return roots.contains(input); });
    result.isNormalised |= node.opType == "Cast" && getFacts(node.inputs[0]).isNormalised;
    bool isRoot = node.opType == "Sqrt" || (node.opType == "Reciprocal" && roots.contains(node.inputs[0])) ||
                  (node.opType == "Div" && node.inputs.size() == 2 && roots.contains(node.inputs[1]) &&
                   getTensor(node.inputs[0]));
    for (const std::string &output : node.outputs) {
      facts[output] = result;
      if (isRoot)
        roots.insert(output);
    }
  }

  const Graph &graph;
  llvm::StringMap<const Tensor *> byName;
  llvm::StringMap<ValueFacts> facts;
  llvm::StringSet<> roots;
  llvm::StringMap<std::vector<Use>> uses;
};

/// Globs of one option; each must match something.
class Globs {
public:
  LogicalResult parse(Diagnostics &diagnostics, StringRef option, const std::vector<std::string> &texts) {
    for (const std::string &text : texts) {
      llvm::Expected<llvm::GlobPattern> pattern = llvm::GlobPattern::create(text);
      if (!pattern) {
        std::string message = llvm::toString(pattern.takeError());
        return diagnostics.error("training-69", "option", option,
                                 Twine("the pattern '") + text + "' is malformed: " + message);
      }
      patterns.emplace_back(text, std::move(*pattern));
    }
    matched.assign(patterns.size(), false);
    return success();
  }

  bool match(StringRef name) {
    bool found = false;
    for (auto [index, entry] : llvm::enumerate(patterns))
      if (entry.first == name || entry.second.match(name))
        found = matched[index] = true;
    return found;
  }

  void reportUnmatched(Diagnostics &diagnostics, StringRef option) {
    for (auto [index, entry] : llvm::enumerate(patterns))
      if (!matched[index])
        (void)diagnostics.error("training-69", "option", option,
                                Twine("no floating tensor of the model matches '") + entry.first + "'",
                                "the names are those of the file's initializers");
  }

private:
  std::vector<std::pair<std::string, llvm::GlobPattern>> patterns;
  std::vector<bool> matched;
};

/// Decides for each tensor, and rewrites the graph where one tensor becomes several parameters.
class ParameterFinder {
public:
  ParameterFinder(Diagnostics &diagnostics, const ImportOptions &options, const std::vector<Tensor> &tensors,
                  Graph &graph, std::vector<std::string> &notes)
      : diagnostics(diagnostics), options(options), tensors(tensors), graph(graph), notes(notes) {}

  FailureOr<std::vector<Parameter>> run() {
    if (failed(trainable.parse(diagnostics, "--trainable", options.trainable)) ||
        failed(freeze.parse(diagnostics, "--freeze", options.freeze)) ||
        failed(tie.parse(diagnostics, "--tie", options.tie)) ||
        failed(untie.parse(diagnostics, "--untie", options.untie)))
      return failure();
    uses = UseCollector(tensors, graph).run();
    for (const Tensor &tensor : tensors)
      decide(tensor);
    trainable.reportUnmatched(diagnostics, "--trainable");
    freeze.reportUnmatched(diagnostics, "--freeze");
    tie.reportUnmatched(diagnostics, "--tie");
    untie.reportUnmatched(diagnostics, "--untie");
    if (diagnostics.hasErrors())
      return failure();
    insertClones();
    describe();
    return std::move(parameters);
  }

private:
  void decide(const Tensor &tensor) {
    auto found = uses.find(tensor.name);
    if (found == uses.end())
      return;
    const std::vector<Use> &all = found->second;
    if (!isFloatType(tensor.type)) {
      if (trainable.match(tensor.name))
        (void)diagnostics.error("training-69", "tensor", tensor.name,
                                Twine("is to be trainable, but has element type ") + getTypeName(tensor.type));
      return;
    }
    bool inSlot = llvm::any_of(all, [](const Use &use) { return use.slot != Slot::None; }) && !tensor.shape.empty();
    bool wanted = trainable.match(tensor.name), frozen = freeze.match(tensor.name);
    bool keepTie = tie.match(tensor.name), breakTie = untie.match(tensor.name);
    if (wanted && frozen)
      return (void)diagnostics.error("training-69", "tensor", tensor.name, "is to be trainable and frozen");
    if (keepTie && breakTie)
      return (void)diagnostics.error("training-69", "tensor", tensor.name, "is to be tied and untied");
    if (!inSlot && !wanted) {
      if (!tensor.shape.empty() && tensor.getNumElements() > 1)
        constants.push_back(tensor.name);
      return;
    }
    if (tensor.place.bytes < 0)
      return (void)diagnostics.error("tensor-37", "tensor", tensor.name,
                                     "is a parameter, but its elements do not lie in one piece of the file",
                                     "write it as raw_data");
    auto merged = llvm::count_if(all, [](const Use &use) { return use.slot == Slot::Scale || use.slot == Slot::Bias; });
    bool split = all.size() > 1 && !keepTie && (breakTie || merged >= 2);
    if (!split) {
      parameters.push_back({tensor.name, &tensor, !frozen});
      if (all.size() > 1)
        notes.push_back("tied: " + tensor.name + " is one parameter with " + std::to_string(all.size()) + " uses (" +
                        listUsers(all) + ")");
      return;
    }
    for (auto [k, use] : llvm::enumerate(all)) {
      std::string name = tensor.name + "#" + std::to_string(k);
      parameters.push_back({name, &tensor, !frozen});
      redirect(use, name);
    }
    notes.push_back("untied: " + tensor.name + " becomes " + std::to_string(all.size()) + " parameters " + tensor.name +
                    "#0 … #" + std::to_string(all.size() - 1) + " (" + listUsers(all) + ")");
  }

  std::string listUsers(const std::vector<Use> &all) const {
    constexpr size_t kShown = 3;
    std::string text;
    for (size_t i = 0; i < std::min(kShown, all.size()); ++i)
      text += (i ? ", " : "") + graph.nodes[all[i].node].name;
    return all.size() > kShown ? text + ", …" : text;
  }

  /// Lets one use read `name`; the views in between are cloned for it.
  void redirect(const Use &use, const std::string &name) {
    std::string value = name;
    for (size_t view : use.views) {
      const Node original = graph.nodes[view];
      Node clone = original;
      clone.indexInFile = -1;
      clone.inputs[0] = value;
      std::string next = findNext(use, view);
      value = next;
      value.append("@").append(name);
      for (std::string &output : clone.outputs)
        output = output == next ? value : std::string();
      clones[use.node].push_back(std::move(clone));
    }
    graph.nodes[use.node].inputs[use.operand] = value;
  }

  /// The output of a view that the next view, or the use, reads.
  std::string findNext(const Use &use, size_t view) const {
    auto at = llvm::find(use.views, view);
    return std::next(at) == use.views.end() ? graph.nodes[use.node].inputs[use.operand]
                                            : graph.nodes[*std::next(at)].inputs[0];
  }

  void insertClones() {
    if (clones.empty())
      return;
    std::vector<Node> nodes;
    for (auto [index, node] : llvm::enumerate(graph.nodes)) {
      if (auto before = clones.find(index); before != clones.end())
        for (Node &clone : before->second)
          nodes.push_back(std::move(clone));
      nodes.push_back(std::move(node));
    }
    graph.nodes = std::move(nodes);
  }

  void describe() {
    auto count = llvm::count_if(parameters, [](const Parameter &parameter) { return parameter.isTrainable; });
    std::string text = "trainable: " + std::to_string(count) + (count == 1 ? " parameter" : " parameters");
    if (auto frozen = static_cast<int64_t>(parameters.size()) - count)
      text += "; frozen: " + std::to_string(frozen);
    notes.insert(notes.begin(), text);
    if (constants.empty())
      return;
    std::string list;
    for (const std::string &name : constants)
      list += (list.empty() ? "" : ", ") + name;
    notes.insert(notes.begin() + 1, "not trainable (in no weight slot): " + list);
  }

  Diagnostics &diagnostics;
  const ImportOptions &options;
  const std::vector<Tensor> &tensors;
  Graph &graph;
  std::vector<std::string> &notes;
  Globs trainable, freeze, tie, untie;
  llvm::StringMap<std::vector<Use>> uses;
  std::vector<Parameter> parameters;
  std::vector<std::string> constants;
  std::map<size_t, std::vector<Node>> clones; // by the node that they come before
};

} // namespace

FailureOr<std::vector<Parameter>> shardc::importer::findParameters(Diagnostics &diagnostics,
                                                                   const ImportOptions &options,
                                                                   const std::vector<Tensor> &tensors, Graph &graph,
                                                                   std::vector<std::string> &notes) {
  return ParameterFinder(diagnostics, options, tensors, graph, notes).run();
}
