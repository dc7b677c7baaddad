//===-- ImportLoss.cpp - which output is the loss, and its parts --------------------------------------------------===//

#include "Importer.h"
#include "ListNames.h"
#include "Loss.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::importer;
using onnx::TensorProto;

namespace {
constexpr StringLiteral kLabels = "labels";
constexpr StringLiteral kRemedy = "add the loss: --loss cross_entropy for logits, or --loss output:NAME";
} // namespace

/// The names of the outputs, each once.
std::vector<std::string> Importer::getOutputs() const {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto &output : file.model->graph().output())
    if (!output.name().empty() && !llvm::is_contained(names, output.name()))
      names.push_back(output.name());
  return names;
}

/// The outputs that may be the loss.
std::vector<std::string> Importer::getScalarOutputs() const {
  std::vector<std::string> scalars;
  for (const std::string &name : getOutputs())
    if (Operand value = state.values.lookup(name); value && value.isFloat() && value.getNumElements() == 1)
      scalars.push_back(name);
  return scalars;
}

FailureOr<std::string> Importer::chooseLossOutput() {
  std::vector<std::string> scalars = getScalarOutputs();
  if (scalars.size() == 1)
    return scalars.front();
  if (llvm::is_contained(scalars, "loss"))
    return std::string("loss");
  if (scalars.empty())
    return diagnostics.error("training-67", "model", file.path, "no output is a float scalar that could be the loss",
                             kRemedy);
  return diagnostics.error("training-67", "model", file.path, "several outputs are scalars, and none is called 'loss'",
                           "say which: --loss output:NAME");
}

FailureOr<std::string> Importer::chooseLogits() {
  std::vector<std::string> candidates;
  for (const std::string &name : getOutputs())
    if (Operand value = state.values.lookup(name); value && value.isFloat() && value.getRank() >= 2)
      candidates.push_back(name);
  if (candidates.empty())
    return diagnostics.error("training-67", "model", file.path,
                             "no output is logits: floats of [batch, …, classes], as --loss cross_entropy needs",
                             getScalarOutputs().empty() ? "export the model with its logits as an output"
                                                        : "the model has its loss in the graph: leave --loss out");
  if (candidates.size() > 1)
    state.notes.push_back("the loss is that of the output '" +
                          (llvm::is_contained(candidates, "logits") ? "logits" : candidates.front()) + "'");
  return llvm::is_contained(candidates, "logits") ? std::string("logits") : candidates.front();
}

/// Adds the input `labels` behind the model's.
Value Importer::addLabels(ArrayRef<int64_t> shape) {
  auto index = static_cast<unsigned>(inputs.size());
  inputs.push_back({kLabels.str(), TensorProto::INT64, Shape(shape)});
  auto type = RankedTensorType::get(shape, IntegerType::get(context, 64));
  return body->insertArgument(index, type, getLocation(kLabels));
}

FailureOr<MeanParts> Importer::buildCrossEntropyLoss(NodeBuilder &builder) {
  FailureOr<std::string> output = chooseLogits();
  if (failed(output))
    return failure();
  for (const ModelInput &input : inputs)
    if (input.name == kLabels)
      return diagnostics.error("training-72", "input", input.name,
                               "exists in the model, but --loss cross_entropy adds an input of this name",
                               "rename the model's input, or use the loss of the graph");
  Operand logits = state.values.lookup(*output);
  if (logits.isConstant())
    return diagnostics.error("training-68", "output", *output, "does not depend on any parameter");
  if (logits.getShape().front() != state.batch)
    return diagnostics.error("training-67", "output", *output,
                             Twine("has shape ") + formatShape(logits.getShape()) +
                                 ", expected dimension 0 to be the "
                                 "batch " +
                                 Twine(state.batch));
  Value labels = addLabels(logits.getShape().drop_back());
  CrossEntropy loss = buildCrossEntropy(builder, logits, labels, kDefaultIgnore, Operand());
  return MeanParts{sumRows(builder, loss.rows), loss.weight};
}

FailureOr<MeanParts> Importer::takeLossOutput(NodeBuilder &builder, StringRef output) {
  Operand value = state.values.lookup(output);
  if (!value.isFloat() || value.getNumElements() != 1)
    return diagnostics.error("training-67", "output", output,
                             Twine("is ") + getTypeName(value.getType()) + " of shape " +
                                 formatShape(value.getShape()) + ", expected a float scalar",
                             kRemedy);
  if (value.isConstant())
    return diagnostics.error("training-68", "output", output, "does not depend on any parameter");
  if (auto mean = state.means.find(output); mean != state.means.end())
    return mean->second;
  state.notes.push_back("micro-batch-dependent: the loss '" + output.str() +
                        "' is no mean that shardc recognises; the step's loss is the mean over micro-batches");
  Operand weight = builder.makeScalar(value.getType(), 1);
  return MeanParts{builder.materialize(builder.reshape(value, {})), builder.materialize(weight)};
}

FailureOr<MeanParts> Importer::buildLoss() {
  Node node;
  node.name = "loss";
  NodeBuilder builder(state, node, getLocation(node.name));
  StringRef loss = options.loss;
  if (loss == "cross_entropy")
    return buildCrossEntropyLoss(builder);
  if (loss.consume_front("output:")) {
    if (!llvm::is_contained(getOutputs(), loss.str()))
      return diagnostics.error("training-67", "option", "--loss", Twine("the model has no output '") + loss + "'",
                               "its outputs are " + listNames(getOutputs()));
    return takeLossOutput(builder, loss);
  }
  if (!loss.empty())
    return diagnostics.error("training-67", "option", "--loss",
                             Twine("the loss '") + loss +
                                 "' is unknown, expected cross_entropy or "
                                 "output:NAME");
  FailureOr<std::string> output = chooseLossOutput();
  return failed(output) ? FailureOr<MeanParts>() : takeLossOutput(builder, *output);
}
