//===-- ModelMessages.cpp - mesh, training settings, parameters and inputs of the plan ----------------------------===//

#include "PlanBuilder.h"

using namespace mlir;
using namespace shardc;

namespace {

/// Typed reads of a dictionary; what is absent reads as the default.
struct Entries {
  DictionaryAttr dictionary;

  std::string getString(StringRef name) const {
    auto attribute = dictionary.getAs<StringAttr>(name);
    return attribute ? attribute.str() : std::string();
  }
  int64_t getInteger(StringRef name) const {
    auto attribute = dictionary.getAs<IntegerAttr>(name);
    return attribute ? attribute.getInt() : 0;
  }
  double getFloat(StringRef name) const {
    auto attribute = dictionary.getAs<FloatAttr>(name);
    return attribute ? attribute.getValueAsDouble() : 0;
  }
  bool getBool(StringRef name) const {
    auto attribute = dictionary.getAs<BoolAttr>(name);
    return attribute && attribute.getValue();
  }
};

plan::Input::Role getRole(StringRef role) {
  return role == "tokens" ? plan::Input::TOKENS : role == "labels" ? plan::Input::LABELS : plan::Input::DATA;
}

} // namespace

void plan::PlanBuilder::addMesh() {
  for (dist::AxisAttr axis : mesh.getAxes()) {
    auto *message = plan.mutable_mesh()->add_axes();
    message->set_name(axis.getName().str());
    message->set_size(axis.getSize());
  }
}

void plan::PlanBuilder::addTraining() {
  auto dictionary = module->getAttrOfType<DictionaryAttr>("nn.training");
  Entries training{dictionary ? dictionary : DictionaryAttr::get(module.getContext())};
  auto *message = plan.mutable_training();
  message->set_micro_batch(training.getInteger("micro_batch"));
  message->set_micro_batches(training.getInteger("micro_batches"));
  message->set_global_batch(training.getInteger("global_batch"));
  message->set_schedule(training.getString("schedule"));
  message->set_recompute(training.getString("recompute"));
  message->set_optimizer(training.getString("optimizer"));
  message->set_learning_rate(training.getFloat("learning_rate"));
  message->set_lr_schedule(training.getString("lr_schedule"));
  message->set_warmup_steps(training.getInteger("warmup_steps"));
  message->set_total_steps(training.getInteger("total_steps"));
  message->set_clip_norm(training.getFloat("clip_norm"));
  message->set_dropout(training.getFloat("dropout"));
  message->set_precision(training.getString("precision"));
  message->set_loss_seed(training.getFloat("loss_seed"));
}

void plan::PlanBuilder::addSharding(dist::ShardingAttr sharding, plan::Sharding &message) {
  for (dist::DimAttr dim : sharding.getDims()) {
    auto *dimMessage = message.add_dims();
    for (dist::SubDimAttr sub : dim.getSubDims()) {
      auto *subMessage = dimMessage->add_sub_dims();
      subMessage->set_size(sub.getSize());
      for (StringAttr axis : sub.getAxes())
        subMessage->add_axes(mesh.getIndex(axis));
    }
  }
}

LogicalResult plan::PlanBuilder::addParameters() {
  if (auto files = module->getAttrOfType<ArrayAttr>("nn.weight_files"))
    for (auto file : files.getAsRange<DictionaryAttr>()) {
      auto *message = plan.add_weight_files();
      message->set_path(Entries{file}.getString("path"));
      message->set_bytes(Entries{file}.getInteger("bytes"));
    }
  auto parameters = module->getAttrOfType<ArrayAttr>("nn.parameters");
  if (!parameters)
    return module.emitError("has no 'nn.parameters'; run plan-collect-model before the pipeline");
  for (auto dictionary : parameters.getAsRange<DictionaryAttr>()) {
    Entries entries{dictionary};
    auto *message = plan.add_parameters();
    message->set_name(entries.getString("name"));
    message->set_type(getElementType(dictionary.getAs<TypeAttr>("type").getValue()));
    for (int64_t size : dictionary.getAs<DenseI64ArrayAttr>("shape").asArrayRef())
      message->add_shape(size);
    message->set_weight_file(entries.getInteger("file"));
    message->set_file_offset(entries.getInteger("offset"));
    message->set_trainable(entries.getBool("trainable"));
    message->set_decays(entries.getBool("decays"));
    addSharding(dictionary.getAs<dist::ShardingAttr>("sharding"), *message->mutable_sharding());
    parameterIndices[message->name()] = plan.parameters_size() - 1;
  }
  return success();
}

void plan::PlanBuilder::addInputs() {
  auto inputs = module->getAttrOfType<ArrayAttr>("nn.inputs");
  if (!inputs)
    return;
  for (auto dictionary : inputs.getAsRange<DictionaryAttr>()) {
    Entries entries{dictionary};
    auto *message = plan.add_inputs();
    message->set_name(entries.getString("name"));
    message->set_type(getElementType(dictionary.getAs<TypeAttr>("type").getValue()));
    for (int64_t size : dictionary.getAs<DenseI64ArrayAttr>("sample_shape").asArrayRef())
      message->add_sample_shape(size);
    message->set_index_bound(entries.getInteger("index_bound"));
    message->set_ignore_value(entries.getInteger("ignore_value"));
    message->set_has_ignore_value(dictionary.contains("ignore_value"));
    message->set_padding(entries.getInteger("padding"));
    message->set_has_padding(dictionary.contains("padding"));
    message->set_role(getRole(entries.getString("role")));
    inputIndices[message->name()] = plan.inputs_size() - 1;
  }
}

void plan::PlanBuilder::addNotes() {
  if (auto notes = module->getAttrOfType<ArrayAttr>("nn.notes"))
    for (StringRef note : notes.getAsValueRange<StringAttr>())
      plan.add_notes(note.str());
}
