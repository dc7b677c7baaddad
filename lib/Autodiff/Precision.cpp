//===-- Precision.cpp - the setting of mixed precision ------------------------------------------------------------===//

#include "Precision.h"

#include "dialects/nn/NN.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::autodiff;

static FailureOr<LossScaling> readLossScaling(ModuleOp module, DictionaryAttr training) {
  LossScaling scaling;
  std::pair<StringRef, double *> numbers[] = {{"loss_scale_init", &scaling.initial},
                                              {"loss_scale_growth_interval", &scaling.growthInterval},
                                              {"loss_scale_growth_factor", &scaling.growthFactor},
                                              {"loss_scale_backoff_factor", &scaling.backoffFactor}};
  for (auto [name, target] : numbers) {
    auto number = training.getAs<FloatAttr>(name);
    if (!number)
      return module.emitError("'nn.training' has precision fp16, but no number '") << name << "'";
    *target = number.getValueAsDouble();
  }
  return scaling;
}

FailureOr<Precision> Precision::read(ModuleOp module) {
  auto training = module->getAttrOfType<DictionaryAttr>("nn.training");
  auto name = training ? training.getAs<StringAttr>("precision") : StringAttr();
  Precision precision;
  if (!name || name == "fp32")
    return precision;
  if (name == "bf16") {
    precision.low = BFloat16Type::get(module.getContext());
    return precision;
  }
  if (name != "fp16")
    return module.emitError("unknown precision ") << name << ", expected fp32, bf16 or fp16";
  precision.low = Float16Type::get(module.getContext());
  FailureOr<LossScaling> scaling = readLossScaling(module, training);
  if (failed(scaling))
    return failure();
  precision.lossScaling = *scaling;
  return precision;
}

void autodiff::assignOrigins(Block &block) {
  auto ops = block.without_terminator();
  if (llvm::all_of(ops, [](Operation &op) { return op.hasAttr(nn::kOriginAttr); }))
    return;
  Builder builder(block.getParentOp()->getContext());
  for (auto [index, op] : llvm::enumerate(ops))
    op.setAttr(nn::kOriginAttr, builder.getI64IntegerAttr(index));
}
