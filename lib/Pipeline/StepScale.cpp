//===-- StepScale.cpp - norm, clipping and skipping ---------------------------------------------------------------===//

#include "StepScale.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::pipeline;

namespace {

/// Scalars at the insertion point.
class Scalars {
public:
  explicit Scalars(OpBuilder &builder) : builder(builder), loc(NameLoc::get(builder.getStringAttr("step scale"))) {}

  Value constant(double value) {
    return nn::ConstantOp::create(builder, loc, DenseElementsAttr::get(scalar(builder.getF64Type()), value));
  }
  template <typename OpTy> Value compute(Value lhs, Value rhs) { return OpTy::create(builder, loc, lhs, rhs); }
  Value sqrt(Value value) { return nn::SqrtOp::create(builder, loc, value); }
  Value compare(nn::CompareDirection direction, Value lhs, Value rhs) {
    return nn::CompareOp::create(builder, loc, direction, lhs, rhs);
  }
  Value select(Value predicate, Value onTrue, Value onFalse) {
    return nn::SelectOp::create(builder, loc, predicate, onTrue, onFalse);
  }
  /// `nn.control loss_scale` in f64.
  Value lossScale() {
    Value scale = nn::ControlOp::create(builder, loc, scalar(builder.getF32Type()), nn::ControlField::LossScale);
    return nn::ConvertOp::create(builder, loc, scalar(builder.getF64Type()), scale);
  }
  Value toF32(Value value) { return nn::ConvertOp::create(builder, loc, scalar(builder.getF32Type()), value); }

  /// x − x is 0 for finite x and NaN, which compares unequal, for others.
  Value isFinite(Value value) {
    Value difference = compute<nn::SubOp>(value, value);
    return compare(nn::CompareDirection::EQ, difference, constant(0.0));
  }
  Value negate(Value predicate) {
    Value yes = nn::ConstantOp::create(builder, loc, DenseElementsAttr::get(scalar(builder.getI1Type()), true));
    return nn::XorOp::create(builder, loc, predicate, yes);
  }

private:
  RankedTensorType scalar(Type type) { return RankedTensorType::get({}, type); }

  OpBuilder &builder;
  Location loc;
};

} // namespace

StepScale shardc::pipeline::computeStepScale(OpBuilder &builder, const WorldSums &sums,
                                             const StepScaleOptions &options) {
  Scalars scalars(builder);
  Value all = scalars.compute<nn::AddOp>(scalars.compute<nn::AddOp>(sums.lossSum, sums.lossWeight), sums.squares);
  Value weighted = scalars.compare(nn::CompareDirection::NE, sums.lossWeight, scalars.constant(0.0));
  Value finite = scalars.isFinite(all);
  Value valid = scalars.compute<nn::AndOp>(weighted, finite);
  Value divisor = scalars.select(weighted, sums.lossWeight, scalars.constant(1.0));
  Value lossScale = options.hasLossScale ? scalars.lossScale() : Value();
  Value gradientDivisor = lossScale ? scalars.compute<nn::MulOp>(divisor, lossScale) : divisor;
  Value mean = scalars.compute<nn::DivOp>(scalars.constant(options.lossSeed), gradientDivisor);
  Value norm = scalars.compute<nn::MulOp>(scalars.sqrt(sums.squares), mean);
  Value scale = mean;
  if (options.clipNorm > 0) {
    Value limit = scalars.constant(options.clipNorm);
    Value ratio = scalars.compute<nn::DivOp>(limit, scalars.compute<nn::AddOp>(norm, scalars.constant(1e-6)));
    scale = scalars.compute<nn::MulOp>(mean, scalars.compute<nn::MinOp>(ratio, scalars.constant(1.0)));
  }
  StepScale step;
  step.scale = scalars.toF32(scale);
  step.skip = scalars.negate(valid);
  step.overflow = options.hasLossScale ? scalars.negate(finite) : Value();
  step.outputs = {{"loss", scalars.toF32(scalars.compute<nn::DivOp>(sums.lossSum, divisor))},
                  {"grad_norm", scalars.toF32(norm)},
                  {"loss_weight", scalars.toF32(sums.lossWeight)},
                  {"gradient_scale", scalars.toF32(mean)},
                  {"skipped", scalars.toF32(step.skip)}};
  if (lossScale)
    step.outputs.push_back({"loss_scale", scalars.toF32(lossScale)});
  return step;
}
