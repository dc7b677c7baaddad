//===-- Importer.cpp - from a checked file to a function ----------------------------------------------------------===//

#include "Importer.h"

#include "OpTable.h"

#include "mlir/IR/Verifier.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::importer;

namespace {

std::string getExternalRoot(const ImportOptions &options, const OnnxFile &file) {
  return options.externalDataRoot.empty() ? llvm::sys::path::parent_path(file.path).str() : options.externalDataRoot;
}

/// The tensor in the attribute `value` of Constant and ConstantOfShape; null elsewhere.
const onnx::TensorProto *getValueTensor(const Node &node) {
  if (!node.isStandard() || (node.opType != "Constant" && node.opType != "ConstantOfShape"))
    return nullptr;
  const onnx::AttributeProto *attribute = node.getAttribute("value");
  return attribute ? &attribute->t() : nullptr;
}

} // namespace

int64_t WeightFiles::getIndex(const std::string &path, int64_t bytes) {
  for (auto [index, entry] : llvm::enumerate(files))
    if (entry.first == path)
      return static_cast<int64_t>(index);
  files.emplace_back(path, bytes);
  return static_cast<int64_t>(files.size()) - 1;
}

Importer::Importer(Diagnostics &diagnostics, const ImportOptions &options, OnnxFile &file)
    : diagnostics(diagnostics), options(options), file(file), context(diagnostics.getContext()),
      externalData(diagnostics, getExternalRoot(options, file)), state(diagnostics),
      binding(diagnostics, options, file) {
  state.batch = binding.getBatch();
  state.dropout = options.dropout;
}

FailureOr<OwningOpRef<ModuleOp>> Importer::run() {
  if (const std::string &root = options.externalDataRoot; !root.empty() && !llvm::sys::fs::is_directory(root))
    return diagnostics.error("option-folder", "option", "--external-data-root",
                             Twine("'") + root + "' is no folder that exists");
  if (failed(readGraph()) || failed(checkTensors()))
    return failure();
  FailureOr<std::vector<ModelInput>> bound = binding.bind();
  FailureOr<std::vector<Parameter>> found = findParameters(diagnostics, options, tensors, graph, state.notes);
  if (failed(bound) || failed(found))
    return failure();
  inputs = *bound;
  parameters = *found;
  startFunction();
  addParameters();
  countUses();
  if (failed(readConstants()) || failed(buildNodes()))
    return failure();
  FailureOr<MeanParts> loss = buildLoss();
  if (failed(loss) || failed(finish(*loss)))
    return failure();
  return std::move(module);
}

LogicalResult Importer::readGraph() {
  if (failed(checkGraph(diagnostics, file)))
    return failure();
  FailureOr<Graph> flat = inlineFunctions(diagnostics, file);
  if (failed(flat))
    return failure();
  graph = std::move(*flat);
  if (failed(checkNodes(diagnostics, graph)))
    return failure();
  FailureOr<bool> wasUnsorted = sortNodes(diagnostics, file, graph);
  if (failed(wasUnsorted))
    return failure();
  if (*wasUnsorted)
    state.notes.push_back("warning: the nodes of the file were not sorted by their uses");
  return success();
}

LogicalResult Importer::checkTensors() {
  const onnx::GraphProto &proto = file.model->graph();
  for (auto [index, tensor] : llvm::enumerate(proto.initializer())) {
    TensorPlace place = index < file.initializers.size() ? file.initializers[index] : TensorPlace();
    if (FailureOr<Tensor> checked = checkTensor(diagnostics, externalData, file, tensor, place, tensor.name());
        succeeded(checked))
      tensors.push_back(std::move(*checked));
  }
  for (const Node &node : graph.nodes) {
    const onnx::TensorProto *tensor = getValueTensor(node);
    if (!tensor)
      continue;
    TensorPlace place;
    if (node.indexInFile >= 0)
      for (auto [index, attribute] : llvm::enumerate(proto.node(static_cast<int>(node.indexInFile)).attribute()))
        if (&attribute.t() == tensor)
          place = file.attributes.lookup({node.indexInFile, static_cast<int64_t>(index)});
    FailureOr<Tensor> checked = checkTensor(diagnostics, externalData, file, *tensor, place, node.outputs[0]);
    if (succeeded(checked))
      tensors.push_back(std::move(*checked));
  }
  return checkExternalRoot();
}

/// The folder that the user names must be one, and have a use.
LogicalResult Importer::checkExternalRoot() {
  const std::string &root = options.externalDataRoot;
  if (root.empty() || diagnostics.hasErrors())
    return success(!diagnostics.hasErrors());
  if (llvm::none_of(tensors, [](const Tensor &tensor) { return tensor.external != nullptr; }))
    return diagnostics.error("option-unused", "option", "--external-data-root",
                             "has no effect, as the model has no external data");
  return success();
}

void Importer::countUses() {
  for (const Node &node : graph.nodes)
    for (const std::string &input : node.inputs)
      ++state.useCounts[input];
  for (const onnx::ValueInfoProto &output : file.model->graph().output())
    ++state.useCounts[output.name()];
}

/// Reads what is no parameter and is used.
LogicalResult Importer::readConstants() {
  llvm::StringSet<> names;
  for (const Parameter &parameter : parameters)
    names.insert(parameter.tensor->name);
  for (const Tensor &tensor : tensors) {
    if (names.contains(tensor.name))
      continue;
    if (FailureOr<Constant> constant = readTensor(diagnostics, tensor); succeeded(constant))
      state.values[tensor.name] = std::move(*constant);
  }
  return success(!diagnostics.hasErrors());
}

Location Importer::getLocation(StringRef name) { return NameLoc::get(StringAttr::get(context, name)); }

void Importer::startFunction() {
  for (const auto &info : file.model->graph().value_info())
    declared[info.name()] = &info;
  for (const auto &info : file.model->graph().output())
    declared[info.name()] = &info;
  // No name: names are those of nodes.
  Location loc = FileLineColLoc::get(context, file.path, 0, 0);
  module = ModuleOp::create(loc);
  state.builder.setInsertionPointToEnd(module->getBody());
  function = func::FuncOp::create(state.builder, loc, "forward", FunctionType::get(context, {}, {}));
  body = function.addEntryBlock();
  state.builder.setInsertionPointToEnd(body);
  for (const ModelInput &input : inputs)
    state.values[input.name] = Value(body->addArgument(
        RankedTensorType::get(input.shape, getElementType(context, input.type)), getLocation(input.name)));
}

void Importer::addParameters() {
  for (const Parameter &parameter : parameters) {
    const Tensor &tensor = *parameter.tensor;
    Type element = getElementType(context, tensor.type);
    if (!element) {
      (void)diagnostics.error("tensor-40", "tensor", tensor.name,
                              Twine("is a parameter of element type ") + getTypeName(tensor.type) +
                                  ", which is not supported",
                              "export the model in float32");
      state.poisoned[parameter.name] = true;
      continue;
    }
    Value value = body->addArgument(RankedTensorType::get(tensor.shape, element), getLocation(parameter.name));
    state.values[parameter.name] = value;
    // Views that no use reads any more, and outputs of the graph, keep the name of a tensor that became several.
    state.values.try_emplace(tensor.name, value);
  }
}

bool Importer::isPoisoned(const Node &node) {
  return llvm::any_of(node.inputs, [&](const std::string &input) { return state.poisoned.lookup(input); });
}

/// Element types that the nn dialect lacks live in constants alone, and only what converts or measures them may read
/// them.
LogicalResult Importer::checkForeignTypes(NodeBuilder &builder) {
  static const llvm::StringSet<> kReaders{"Cast", "CastLike", "Identity", "Shape", "Size"};
  if (kReaders.contains(builder.getNode().opType))
    return success();
  for (int64_t i = 0; i < builder.getNumInputs(); ++i)
    if (Operand input = builder.getInput(i); input && !getElementType(context, input.getType()))
      return builder.fail("tensor-40",
                          Twine("its input ") + Twine(i) + " has element type " + getTypeName(input.getType()) +
                              ", which is not supported",
                          "export the model in float32, with int32, int64 or bool for indices and masks");
  return success();
}

/// An output that the op's builder does not make must not be read.
LogicalResult Importer::checkOutputs(NodeBuilder &builder) {
  for (int64_t i = 0; i < builder.getNumOutputs(); ++i)
    if (builder.isOutputUsed(i) && !state.values.lookup(builder.getNode().outputs[i]))
      return builder.fail("graph-23", Twine("its output ") + Twine(i) + " is used, which is not supported");
  return success();
}

void Importer::checkDeclared(const Node &node) {
  for (const std::string &output : node.outputs)
    if (const onnx::ValueInfoProto *info = declared.lookup(output))
      if (Operand value = state.values.lookup(output); value && failed(binding.checkDeclared(*info, value)))
        state.poisoned[output] = true;
}

void Importer::buildNode(const Node &node) {
  const OpInfo *info = getOpTable().lookup(node.opType);
  NodeBuilder builder(state, node, getLocation(node.name));
  if (!isPoisoned(node) && succeeded(checkForeignTypes(builder)) && succeeded(info->build(builder)) &&
      succeeded(checkOutputs(builder)))
    return checkDeclared(node);
  for (const std::string &output : node.outputs)
    state.poisoned[output] = !output.empty();
}

LogicalResult Importer::buildNodes() {
  llvm::StringSet<> inFile;
  for (const Parameter &parameter : parameters)
    inFile.insert(parameter.tensor->name);
  for (const Node &node : graph.nodes)
    if (node.opType != "Constant" || !inFile.contains(node.outputs[0]))
      buildNode(node);
  return success(!diagnostics.hasErrors());
}

FailureOr<OwningOpRef<ModuleOp>> shardc::importer::importOnnx(MLIRContext *context, StringRef path,
                                                              const ImportOptions &options) {
  context->loadDialect<func::FuncDialect, nn::NNDialect>();
  Diagnostics diagnostics(context);
  FailureOr<OnnxFile> file = readOnnxFile(diagnostics, path);
  if (failed(file))
    return failure();
  FailureOr<OwningOpRef<ModuleOp>> module = Importer(diagnostics, options, *file).run();
  if (diagnostics.hasErrors() || failed(module) || failed(verify(**module)))
    return failure();
  return module;
}
