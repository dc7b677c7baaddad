//===-- OpTable.cpp - the operators that the importer knows, and the checks against their rows --------------------===//

#include "OpTable.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace shardc::importer;

const OpTable &shardc::importer::getOpTable() {
  static const OpTable table = [] {
    OpTable rows;
    for (ArrayRef<OpInfo> family :
         {getConstantOps(), getElementwiseOps(), getActivationOps(), getShapeOps(), getIndexingOps(),
          getContractionOps(), getReductionOps(), getNormalizationOps(), getRandomOps(), getLossOps()})
      for (const OpInfo &info : family)
        rows[info.name] = &info;
    return rows;
  }();
  return table;
}

namespace {

/// What the table says about one attribute.
struct AttributeInfo {
  StringRef name, type;
  bool isRequired;
};

SmallVector<AttributeInfo> parseAttributes(const OpInfo &info) {
  SmallVector<AttributeInfo> attributes;
  SmallVector<StringRef> entries;
  StringRef(info.attributes).split(entries, ' ', -1, /*KeepEmpty=*/false);
  for (StringRef entry : entries) {
    auto [name, type] = entry.split(':');
    bool isRequired = type.consume_back("!");
    attributes.push_back({name, type, isRequired});
  }
  return attributes;
}

StringRef getTypeCode(const onnx::AttributeProto &attribute) {
  switch (attribute.type()) {
  case onnx::AttributeProto::INT:
    return "i";
  case onnx::AttributeProto::FLOAT:
    return "f";
  case onnx::AttributeProto::STRING:
    return "s";
  case onnx::AttributeProto::TENSOR:
    return "t";
  case onnx::AttributeProto::INTS:
    return "is";
  case onnx::AttributeProto::FLOATS:
    return "fs";
  case onnx::AttributeProto::STRINGS:
    return "ss";
  case onnx::AttributeProto::SPARSE_TENSOR:
    return "sparse tensor";
  case onnx::AttributeProto::GRAPH:
    return "graph";
  default:
    return "undefined";
  }
}

StringRef spellType(StringRef code) {
  return llvm::StringSwitch<StringRef>(code)
      .Case("i", "an integer")
      .Case("f", "a float")
      .Case("s", "a string")
      .Case("t", "a tensor")
      .Case("is", "integers")
      .Case("fs", "floats")
      .Case("ss", "strings")
      .Default(code);
}

std::string spellRange(int64_t least, int64_t most) {
  if (least == most)
    return std::to_string(least);
  return std::to_string(least) + (most == kManyInputs ? std::string(" or more") : " to " + std::to_string(most));
}

/// Checks nodes against the table.
class NodeChecker {
public:
  explicit NodeChecker(Diagnostics &diagnostics) : diagnostics(diagnostics) {}

  void check(const Node &node) {
    const OpInfo *info = node.isStandard() ? getOpTable().lookup(node.opType) : nullptr;
    if (!info) {
      unknown[node.getOpName()].push_back(node.name);
      return;
    }
    if (node.opset < kMinOpset || node.opset > kMaxOpset)
      return fail("file-9", node,
                  Twine("has opset ") + Twine(node.opset) + " by its function, expected " + Twine(kMinOpset) + " to " +
                      Twine(kMaxOpset));
    if (node.opset < info->since)
      return fail("graph-22", node,
                  Twine("needs opset ") + Twine(info->since) + ", the model imports " + Twine(node.opset));
    checkArity(node, *info);
    checkAttributes(node, *info);
  }

  void reportUnknown() {
    if (unknown.empty())
      return;
    std::string list, first = unknown.front().second.front();
    for (auto &[op, nodes] : unknown)
      list += (list.empty() ? "" : ", ") + op + " (" + std::to_string(nodes.size()) +
              (nodes.size() == 1 ? " node: '" : " nodes, first '") + nodes.front() + "')";
    (void)diagnostics.error("graph-20", "node", first, Twine("operators that shardc does not know: ") + list,
                            "write them with known operators, or give them as model-local functions; docs/errors.md "
                            "lists what is known");
  }

private:
  void fail(StringRef label, const Node &node, const Twine &what) {
    (void)diagnostics.error(label, "node", node.name, Twine("(") + node.getOpName() + ") " + what);
  }

  void checkArity(const Node &node, const OpInfo &info) {
    auto inputs = static_cast<int64_t>(node.inputs.size()), outputs = static_cast<int64_t>(node.outputs.size());
    if (inputs < info.minInputs || inputs > info.maxInputs)
      return fail("graph-23", node,
                  Twine("has ") + Twine(inputs) + " inputs, expected " + spellRange(info.minInputs, info.maxInputs));
    if (outputs < 1 || outputs > info.maxOutputs)
      return fail("graph-23", node,
                  Twine("has ") + Twine(outputs) + " outputs, expected " + spellRange(1, info.maxOutputs));
    for (int64_t i = 0; i < info.minInputs; ++i)
      if (node.inputs[i].empty())
        return fail("graph-24", node, Twine("its input ") + Twine(i) + " is empty, but required");
  }

  void checkAttributes(const Node &node, const OpInfo &info) {
    SmallVector<AttributeInfo> known = parseAttributes(info);
    for (const onnx::AttributeProto *attribute : node.attributes) {
      const auto *found =
          llvm::find_if(known, [&](const AttributeInfo &entry) { return entry.name == attribute->name(); });
      if (found == known.end()) {
        fail("graph-25", node, Twine("has the unknown attribute '") + attribute->name() + "'");
        continue;
      }
      StringRef type = getTypeCode(*attribute);
      if (type != found->type)
        fail("graph-26", node,
             Twine("its attribute '") + attribute->name() + "' is " + spellType(type) + ", expected " +
                 spellType(found->type));
    }
    for (const AttributeInfo &entry : known)
      if (entry.isRequired && !node.getAttribute(entry.name))
        fail("graph-27", node, Twine("its attribute '") + entry.name + "' is missing");
  }

  Diagnostics &diagnostics;
  llvm::MapVector<std::string, std::vector<std::string>, std::map<std::string, unsigned>> unknown;
};

} // namespace

LogicalResult shardc::importer::checkNodes(Diagnostics &diagnostics, const Graph &graph) {
  NodeChecker checker(diagnostics);
  for (const Node &node : graph.nodes)
    checker.check(node);
  checker.reportUnknown();
  return success(!diagnostics.hasErrors());
}
