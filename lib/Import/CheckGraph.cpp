//===-- CheckGraph.cpp - what the file says about itself ----------------------------------------------------------===//

#include "Graph.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/ConvertUTF.h"

using namespace mlir;
using namespace shardc::importer;

namespace {

bool isUtf8(const std::string &text) {
  const auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.data());
  return llvm::isLegalUTF8String(&begin, begin + text.size());
}

/// Checks the header and the names of one model.
class GraphChecker {
public:
  GraphChecker(Diagnostics &diagnostics, const OnnxFile &file)
      : diagnostics(diagnostics), file(file), model(*file.model), graph(file.model->graph()) {}

  LogicalResult run() {
    checkOpsets();
    checkNames();
    checkInitializers();
    checkTypes();
    return success(!diagnostics.hasErrors());
  }

private:
  void fail(StringRef label, StringRef kind, StringRef name, const Twine &what, const Twine &remedy = {}) {
    (void)diagnostics.error(label, kind, name, what, remedy);
  }

  void checkOpsets() {
    llvm::StringSet<> domains;
    bool hasDefault = false;
    for (const onnx::OperatorSetIdProto &entry : model.opset_import()) {
      std::string domain = normalizeDomain(entry.domain());
      if (!domains.insert(domain).second)
        fail("file-8", "model", file.path, Twine("imports the domain '") + domain + "' twice");
      if (!domain.empty())
        continue;
      hasDefault = true;
      if (entry.version() < kMinOpset || entry.version() > kMaxOpset)
        fail("file-9", "model", file.path,
             Twine("has opset ") + Twine(entry.version()) + ", expected " + Twine(kMinOpset) + " to " +
                 Twine(kMaxOpset),
             "export with opset_version=17 (TorchScript) or 18 (dynamo)");
    }
    if (!hasDefault)
      fail("file-7", "model", file.path, "imports no opset of ONNX's own domain");
  }

  void checkName(StringRef kind, const std::string &name) {
    if (!isUtf8(name))
      fail("file-12", kind, name, "its name is no valid UTF-8");
  }

  void checkNames(const google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes) {
    for (const onnx::NodeProto &node : nodes) {
      checkName("node", node.name());
      checkName("operator", node.op_type());
      checkName("domain", node.domain());
      for (const std::string &value : node.input())
        checkName("value", value);
      for (const std::string &value : node.output())
        checkName("value", value);
      for (const onnx::AttributeProto &attribute : node.attribute())
        checkName("attribute", attribute.name());
    }
  }

  void checkName(StringRef kind, const onnx::ValueInfoProto &info) {
    checkName(kind, info.name());
    for (const onnx::TensorShapeProto::Dimension &dim : info.type().tensor_type().shape().dim())
      checkName("dimension", dim.dim_param());
  }

  /// Names go into the IR and the plan, whose strings are UTF-8.
  void checkNames() {
    checkNames(graph.node());
    for (const onnx::TensorProto &tensor : graph.initializer())
      checkName("tensor", tensor.name());
    for (const onnx::ValueInfoProto &info : graph.input())
      checkName("input", info);
    for (const onnx::ValueInfoProto &info : graph.output())
      checkName("output", info);
    for (const onnx::FunctionProto &function : model.functions()) {
      checkName("function", function.name());
      checkName("domain", function.domain());
      for (const std::string &value : function.input())
        checkName("value", value);
      for (const std::string &value : function.output())
        checkName("value", value);
      checkNames(function.node());
    }
  }

  void checkInitializers() {
    llvm::StringSet<> names;
    for (const onnx::TensorProto &tensor : graph.initializer()) {
      if (tensor.name().empty())
        fail("graph-18", "model", file.path, "an initializer has no name");
      else if (!names.insert(tensor.name()).second)
        fail("graph-18", "tensor", tensor.name(), "there are two initializers of this name");
    }
    for (const onnx::SparseTensorProto &tensor : graph.sparse_initializer())
      fail("tensor-39", "tensor", tensor.values().name(), "is a sparse initializer, expected a dense one");
    for (const onnx::NodeProto &node : graph.node())
      for (const std::string &output : node.output())
        if (!output.empty() && names.contains(output))
          fail("graph-19", "tensor", output, "is an initializer and the output of a node");
  }

  void checkTypes() {
    llvm::StringSet<> names;
    for (const onnx::ValueInfoProto &input : graph.input()) {
      if (!names.insert(input.name()).second)
        fail("graph-14", "input", input.name(), "there are two inputs of this name");
      if (!input.type().has_tensor_type())
        fail("shape-66", "input", input.name(), "is no tensor", "sequences, maps and optionals cannot be trained on");
    }
    if (graph.output_size() == 0)
      fail("graph-16", "model", file.path, "has no output");
    for (const onnx::ValueInfoProto &output : graph.output())
      if (output.has_type() && output.type().value_case() != onnx::TypeProto::VALUE_NOT_SET &&
          !output.type().has_tensor_type())
        fail("shape-66", "output", output.name(), "is no tensor", "sequences, maps and optionals cannot be trained on");
  }

  Diagnostics &diagnostics;
  const OnnxFile &file;
  const onnx::ModelProto &model;
  const onnx::GraphProto &graph;
};

} // namespace

const onnx::AttributeProto *Node::getAttribute(StringRef attribute) const {
  for (const onnx::AttributeProto *candidate : attributes)
    if (candidate->name() == attribute)
      return candidate;
  return nullptr;
}

LogicalResult shardc::importer::checkGraph(Diagnostics &diagnostics, const OnnxFile &file) {
  return GraphChecker(diagnostics, file).run();
}
