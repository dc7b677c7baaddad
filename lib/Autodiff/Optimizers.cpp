//===-- Optimizers.cpp - SGD with momentum, AdamW -----------------------------------------------------------------===//

#include "Optimizers.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::autodiff;

FailureOr<OptimizerSettings> OptimizerSettings::read(Operation *module) {
  auto training = module->getAttrOfType<DictionaryAttr>("nn.training");
  if (!training)
    return module->emitError("has no 'nn.training'");
  OptimizerSettings settings;
  auto optimizer = training.getAs<StringAttr>("optimizer");
  if (!optimizer)
    return module->emitError("'nn.training' has no string 'optimizer'");
  settings.optimizer = optimizer.str();
  std::pair<StringRef, double *> numbers[] = {{"momentum", &settings.momentum},
                                              {"beta1", &settings.beta1},
                                              {"beta2", &settings.beta2},
                                              {"epsilon", &settings.epsilon},
                                              {"weight_decay", &settings.weightDecay}};
  for (auto [name, target] : numbers) {
    auto number = training.getAs<FloatAttr>(name);
    if (!number)
      return module->emitError("'nn.training' has no number '") << name << "'";
    *target = number.getValueAsDouble();
  }
  return settings;
}

namespace {

/// The learning rate of the step, in f64.
Value buildLearningRate(nn::TensorBuilder build) {
  auto type = RankedTensorType::get({}, build.builder.getF32Type());
  Value rate = nn::ControlOp::create(build.builder, build.loc, type, nn::ControlField::LearningRate);
  return build.convert(rate, build.builder.getF64Type());
}

/// A scalar in the type of `like`.
Value spread(nn::TensorBuilder build, Value scalar, Value like) {
  auto type = nn::getTensorType(like);
  return build.broadcastScalar(build.convert(scalar, type.getElementType()), type.getShape());
}

/// buf ← momentum · buf + g, p ← p − η · buf. PyTorch begins with buf = g, which is the same as beginning with 0.
class SGD : public Optimizer {
public:
  explicit SGD(const OptimizerSettings &settings) : settings(settings) {}

  SmallVector<StringRef> getStates() const override {
    return settings.momentum == 0 ? SmallVector<StringRef>{} : SmallVector<StringRef>{"momentum_buffer"};
  }

  SmallVector<Value> buildStep(nn::TensorBuilder build, ValueRange) override {
    learningRate = buildLearningRate(build);
    return {};
  }

  SmallVector<Value> buildUpdate(nn::TensorBuilder build, Value parameter, Value gradient, ValueRange states,
                                 bool decays) override {
    if (decays && settings.weightDecay != 0)
      gradient = build.add(gradient, build.mul(parameter, settings.weightDecay));
    if (!states.empty())
      gradient = build.add(build.mul(states[0], settings.momentum), gradient);
    SmallVector<Value> result{build.sub(parameter, build.mul(spread(build, learningRate, parameter), gradient))};
    if (!states.empty())
      result.push_back(gradient);
    return result;
  }

private:
  OptimizerSettings settings;
  Value learningRate;
};

/// Loshchilov and Hutter 2019 with decoupled decay. Scalars are computed in f64 and rounded once.
class AdamW : public Optimizer {
public:
  explicit AdamW(const OptimizerSettings &settings) : settings(settings) {}

  SmallVector<StringRef> getStates() const override { return {"exp_avg", "exp_avg_sq"}; }
  SmallVector<ScalarState> getScalarStates() const override { return {{"beta1_power", 1}, {"beta2_power", 1}}; }

  SmallVector<Value> buildStep(nn::TensorBuilder build, ValueRange scalars) override {
    Value power1 = build.mul(scalars[0], settings.beta1), power2 = build.mul(scalars[1], settings.beta2);
    Value one = build.splatLike(power1, 1), learningRate = buildLearningRate(build);
    stepSize = build.div(learningRate, build.sub(one, power1));
    correction = build.sqrt(build.sub(one, power2));
    decay = build.sub(one, build.mul(learningRate, settings.weightDecay));
    return {power1, power2};
  }

  SmallVector<Value> buildUpdate(nn::TensorBuilder build, Value parameter, Value gradient, ValueRange states,
                                 bool decays) override {
    if (decays && settings.weightDecay != 0)
      parameter = build.mul(parameter, spread(build, decay, parameter));
    Value mean = build.add(states[0], build.mul(build.sub(gradient, states[0]), 1 - settings.beta1));
    Value square = build.mul(build.mul(gradient, 1 - settings.beta2), gradient);
    Value variance = build.add(build.mul(states[1], settings.beta2), square);
    Value root = build.div(build.sqrt(variance), spread(build, correction, parameter));
    Value denominator = build.add(root, settings.epsilon);
    Value step = build.div(build.mul(spread(build, stepSize, parameter), mean), denominator);
    return {build.sub(parameter, step), mean, variance};
  }

private:
  OptimizerSettings settings;
  Value stepSize, correction, decay;
};

} // namespace

FailureOr<std::unique_ptr<Optimizer>> Optimizer::create(Operation *module) {
  FailureOr<OptimizerSettings> settings = OptimizerSettings::read(module);
  if (failed(settings))
    return failure();
  if (settings->optimizer == "sgd")
    return std::unique_ptr<Optimizer>(std::make_unique<SGD>(*settings));
  if (settings->optimizer == "adamw")
    return std::unique_ptr<Optimizer>(std::make_unique<AdamW>(*settings));
  return module->emitError("unknown optimizer '") << settings->optimizer << "', expected 'sgd' or 'adamw'";
}
