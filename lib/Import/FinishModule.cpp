//===-- FinishModule.cpp - the signature and attributes of what was imported --------------------------------------===//

#include "Importer.h"
#include "Loss.h"

#include "llvm/Support/Path.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::importer;

namespace {

/// The argument that indices are read from, through ops that only move or convert them.
BlockArgument findInput(Value indices) {
  while (Operation *op = indices.getDefiningOp()) {
    if (!isa<nn::ReshapeOp, nn::TransposeOp, nn::SliceOp, nn::ConvertOp, nn::BroadcastInDimOp>(op))
      return {};
    indices = op->getOperand(0);
  }
  return cast<BlockArgument>(indices);
}

} // namespace

LogicalResult Importer::finish(MeanParts loss) {
  auto toFloat = [&](Value value) -> Value {
    auto type = RankedTensorType::get({}, Float32Type::get(context));
    return value.getType() == type ? value
                                   : nn::ConvertOp::create(state.builder, value.getLoc(), type, value).getResult();
  };
  setModuleAttributes(loss.weight);
  loss = {toFloat(loss.sum), toFloat(loss.weight)};
  func::ReturnOp::create(state.builder, getLocation("loss"), ValueRange{loss.sum, loss.weight});
  eraseDeadOps();
  if (failed(checkDropout()) || failed(eraseUnusedParameters()))
    return failure();
  setFunctionType(loss);
  return success();
}

/// Erases what the loss does not depend on and numbers the rest.
void Importer::eraseDeadOps() {
  for (Operation *op = body->getTerminator()->getPrevNode(); op;) {
    Operation *previous = op->getPrevNode();
    if (op->use_empty())
      op->erase();
    op = previous;
  }
  int64_t origin = 0;
  for (Operation &op : body->without_terminator())
    op.setAttr(nn::kOriginAttr, IntegerAttr::get(IntegerType::get(context, 64), origin++));
}

/// A probability that is given must be that of something; none is what a model without Dropout has.
LogicalResult Importer::checkDropout() {
  if (options.dropout <= 0 || llvm::any_of(*body, [](Operation &op) { return isa<nn::RngUniformOp>(op); }))
    return success();
  return diagnostics.error("option-unused", "option", "--dropout",
                           "has no effect, as the loss depends on no Dropout in training mode",
                           "export with training=TrainingMode.TRAINING, or leave it out");
}

LogicalResult Importer::eraseUnusedParameters() {
  std::vector<Parameter> used;
  std::string unused;
  bool anyTrainable = false;
  for (const Parameter &parameter : parameters) {
    BlockArgument argument = body->getArgument(static_cast<unsigned>(inputs.size() + used.size()));
    if (!argument.use_empty()) {
      anyTrainable |= parameter.isTrainable;
      used.push_back(parameter);
      continue;
    }
    unused += (unused.empty() ? "" : ", ") + parameter.name;
    body->eraseArgument(argument.getArgNumber());
  }
  if (!unused.empty())
    state.notes.push_back("left out, as the loss does not depend on it: " + unused);
  parameters = std::move(used);
  if (!anyTrainable)
    return diagnostics.error("training-68", "model", file.path, "the loss does not depend on any trainable parameter",
                             "name the trainable initializers: --trainable GLOB");
  return success();
}

DictionaryAttr Importer::describeParameter(const Parameter &parameter) {
  Builder builder(context);
  const Tensor &tensor = *parameter.tensor;
  int64_t index = weightFiles.getIndex(tensor.path, tensor.external ? tensor.external->bytes : file.bytes);
  return builder.getDictionaryAttr({
      builder.getNamedAttr("name", builder.getStringAttr(parameter.name)),
      builder.getNamedAttr("file", builder.getI64IntegerAttr(index)),
      builder.getNamedAttr("offset", builder.getI64IntegerAttr(tensor.place.offset)),
      builder.getNamedAttr("bytes", builder.getI64IntegerAttr(tensor.place.bytes)),
      builder.getNamedAttr("trainable", builder.getBoolAttr(parameter.isTrainable)),
      builder.getNamedAttr("decays", builder.getBoolAttr(tensor.shape.size() >= 2)),
  });
}

void Importer::setFunctionType(MeanParts loss) {
  Builder builder(context);
  function.setFunctionType(
      builder.getFunctionType(body->getArgumentTypes(), {loss.sum.getType(), loss.weight.getType()}));
  for (auto [index, input] : llvm::enumerate(inputs))
    function.setArgAttr(static_cast<unsigned>(index), nn::kInputAttr, builder.getStringAttr(input.name));
  for (auto [index, parameter] : llvm::enumerate(parameters))
    function.setArgAttr(static_cast<unsigned>(inputs.size() + index), nn::kParameterAttr, describeParameter(parameter));
  function.setResultAttr(0, nn::kLossAttr, builder.getStringAttr("sum"));
  function.setResultAttr(1, nn::kLossAttr, builder.getStringAttr("weight"));
  SmallVector<Attribute> files;
  for (auto &[path, bytes] : weightFiles.files)
    files.push_back(builder.getDictionaryAttr({builder.getNamedAttr("path", builder.getStringAttr(path)),
                                               builder.getNamedAttr("bytes", builder.getI64IntegerAttr(bytes))}));
  (*module)->setAttr("nn.weight_files", builder.getArrayAttr(files));
  SmallVector<Attribute> notes;
  for (const std::string &note : state.notes)
    notes.push_back(builder.getStringAttr(note));
  (*module)->setAttr("nn.notes", builder.getArrayAttr(notes));
}

/// The role of an input follows from what it indexes: a table (tokens) or classes (labels). Where W is that of the
/// labels, samples can be padded with labels that add nothing to it.
Attribute Importer::describeInput(const ModelInput &input, BlockArgument argument, Value lossWeight) {
  Builder builder(context);
  const IndexUse *table = nullptr, *label = nullptr;
  int64_t bound = 0;
  for (const IndexUse &use : state.indexUses) {
    if (findInput(use.indices) != argument)
      continue;
    (use.isLabel ? label : table) = &use;
    bound = bound == 0 ? use.bound : std::min(bound, use.bound);
  }
  SmallVector<NamedAttribute> entries{builder.getNamedAttr("name", builder.getStringAttr(input.name)),
                                      builder.getNamedAttr("role", builder.getStringAttr(table   ? "tokens"
                                                                                         : label ? "labels"
                                                                                                 : "data"))};
  if (bound)
    entries.push_back(builder.getNamedAttr("index_bound", builder.getI64IntegerAttr(bound)));
  if (label && !table && label->ignored)
    entries.push_back(builder.getNamedAttr("ignore_value", builder.getI64IntegerAttr(*label->ignored)));
  if (label && !table && label->weight == lossWeight)
    entries.push_back(
        builder.getNamedAttr("padding", builder.getI64IntegerAttr(label->ignored.value_or(kDefaultIgnore))));
  return builder.getDictionaryAttr(entries);
}

void Importer::setModuleAttributes(Value lossWeight) {
  Builder builder(context);
  SmallVector<Attribute> described;
  for (auto [index, input] : llvm::enumerate(inputs))
    described.push_back(describeInput(input, body->getArgument(static_cast<unsigned>(index)), lossWeight));
  (*module)->setAttr("nn.inputs", builder.getArrayAttr(described));
  (*module)->setAttr("nn.model", builder.getStringAttr(llvm::sys::path::filename(file.path)));
}
