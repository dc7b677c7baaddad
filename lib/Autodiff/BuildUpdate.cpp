//===-- BuildUpdate.cpp - adds @update ----------------------------------------------------------------------------===//

#include "Optimizers.h"
#include "Precision.h"
#include "Provenance.h"

#include "shardc/Autodiff/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::autodiff {
#define GEN_PASS_DEF_BUILDUPDATEPASS
#include "shardc/Autodiff/Passes.h.inc"
} // namespace shardc::autodiff

using namespace mlir;
using namespace shardc;
using namespace shardc::autodiff;

namespace {

/// A trainable parameter: its type and its `nn.parameter`.
struct Parameter {
  RankedTensorType type;
  DictionaryAttr attribute;

  StringAttr getName() const { return attribute.getAs<StringAttr>("name"); }
  bool decays() const {
    auto decays = attribute.getAs<BoolAttr>("decays");
    return decays && decays.getValue();
  }
};

/// The trainable parameters, in the order of the gradients.
SmallVector<Parameter> collectParameters(func::FuncOp accumulate) {
  SmallVector<Parameter> parameters;
  for (auto [index, type] : llvm::enumerate(accumulate.getArgumentTypes())) {
    auto attribute = accumulate.getArgAttrOfType<DictionaryAttr>(index, nn::kParameterAttr);
    auto trainable = attribute ? attribute.getAs<BoolAttr>("trainable") : BoolAttr();
    if (trainable && trainable.getValue())
      parameters.push_back({cast<RankedTensorType>(type), attribute});
  }
  return parameters;
}

/// Arguments or results with their attributes.
struct Signature {
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;

  void add(Type type, StringRef name, Attribute attribute) {
    types.push_back(type);
    attributes.push_back(
        DictionaryAttr::get(type.getContext(), NamedAttribute(StringAttr::get(type.getContext(), name), attribute)));
  }
};

constexpr StringLiteral kStateAttr = "nn.state";
constexpr StringLiteral kScalarAttr = "nn.scalar";

class UpdateBuilder {
public:
  UpdateBuilder(Optimizer &optimizer, ArrayRef<Parameter> parameters, std::optional<LossScaling> scaling,
                MLIRContext *context)
      : optimizer(optimizer), parameters(parameters), scaling(scaling), provenance(context),
        builder(context, &provenance) {}

  func::FuncOp build(OpBuilder &moduleBuilder, Location loc);

private:
  void addStates(Signature &signature);
  DictionaryAttr getState(const Twine &name, StringAttr parameter, double initial);
  /// The arguments: parameters, gradients, states of each parameter, the optimizer's scalar states, those of the loss
  /// scale, scale, skip, and with a loss scale overflow.
  Value getParameter(size_t index) { return body->getArgument(index); }
  Value getGradient(size_t index) { return body->getArgument(parameters.size() + index); }
  ValueRange getStates(size_t index) {
    size_t count = optimizer.getStates().size();
    return body->getArguments().slice(2 * parameters.size() + index * count, count);
  }
  ValueRange getScalarStates() {
    size_t count = optimizer.getScalarStates().size();
    return body->getArguments().slice(firstScalar - (scaling ? 2 : 0) - count, count);
  }
  Value getLossScale() { return body->getArgument(firstScalar - 2); }
  Value getGoodSteps() { return body->getArgument(firstScalar - 1); }
  Value getScale() { return body->getArgument(firstScalar); }
  Value getSkip() { return body->getArgument(firstScalar + 1); }
  Value getOverflow() { return body->getArgument(firstScalar + 2); }

  void buildBody();
  /// The next loss scale and number of good steps.
  SmallVector<Value> buildLossScale(nn::TensorBuilder build);
  /// `updated`, or `old` where the step is skipped.
  Value keepIfSkipped(nn::TensorBuilder build, Value old, Value updated);

  Optimizer &optimizer;
  ArrayRef<Parameter> parameters;
  std::optional<LossScaling> scaling;
  Provenance provenance;
  OpBuilder builder;
  Block *body = nullptr;
  unsigned firstScalar = 0; // argument `scale`
};

DictionaryAttr UpdateBuilder::getState(const Twine &name, StringAttr parameter, double initial) {
  NamedAttrList state;
  state.set("name", builder.getStringAttr(name));
  if (parameter)
    state.set("parameter", parameter);
  state.set("initial", builder.getF64FloatAttr(initial));
  return state.getDictionary(builder.getContext());
}

void UpdateBuilder::addStates(Signature &signature) {
  for (const Parameter &parameter : parameters)
    for (StringRef state : optimizer.getStates()) {
      StringAttr name = parameter.getName();
      signature.add(parameter.type, kStateAttr, getState(name.getValue() + "/" + state, name, 0));
    }
  for (const ScalarState &state : optimizer.getScalarStates())
    signature.add(RankedTensorType::get({}, builder.getF64Type()), kStateAttr, getState(state.name, {}, state.initial));
  if (!scaling)
    return;
  auto scalar = RankedTensorType::get({}, builder.getF32Type());
  signature.add(scalar, kStateAttr, getState("next_loss_scale", {}, scaling->initial));
  signature.add(scalar, kStateAttr, getState("good_steps", {}, 0));
}

func::FuncOp UpdateBuilder::build(OpBuilder &moduleBuilder, Location loc) {
  Signature arguments, results;
  for (const Parameter &parameter : parameters) {
    arguments.add(parameter.type, nn::kParameterAttr, parameter.attribute);
    results.add(parameter.type, nn::kParameterAttr, parameter.attribute);
  }
  for (const Parameter &parameter : parameters)
    arguments.add(parameter.type, nn::kGradientAttr, parameter.getName());
  addStates(arguments);
  addStates(results);
  auto scalar = RankedTensorType::get({}, builder.getF32Type());
  firstScalar = arguments.types.size();
  arguments.add(scalar, kScalarAttr, builder.getStringAttr("scale"));
  arguments.add(scalar.clone(builder.getI1Type()), kScalarAttr, builder.getStringAttr("skip"));
  if (scaling)
    arguments.add(scalar.clone(builder.getI1Type()), kScalarAttr, builder.getStringAttr("overflow"));

  auto type = FunctionType::get(builder.getContext(), arguments.types, results.types);
  auto function = func::FuncOp::create(moduleBuilder, loc, "update", type);
  function.setAllArgAttrs(arguments.attributes);
  function.setAllResultAttrs(results.attributes);
  body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  buildBody();
  return function;
}

Value UpdateBuilder::keepIfSkipped(nn::TensorBuilder build, Value old, Value updated) {
  return build.select(build.broadcastScalar(getSkip(), nn::getTensorType(old).getShape()), old, updated);
}

/// The bounds keep the scale from becoming 0 or infinite, from where no factor leads back.
constexpr double kLeastLossScale = 0x1p-24, kLargestLossScale = 0x1p24;

SmallVector<Value> UpdateBuilder::buildLossScale(nn::TensorBuilder build) {
  Value scale = getLossScale(), zero = build.splatLike(scale, 0);
  Value smaller = nn::MaxOp::create(builder, build.loc, build.mul(scale, scaling->backoffFactor),
                                    build.splatLike(scale, kLeastLossScale));
  Value larger = nn::MinOp::create(builder, build.loc, build.mul(scale, scaling->growthFactor),
                                   build.splatLike(scale, kLargestLossScale));
  Value steps = build.add(getGoodSteps(), 1);
  Value grows = build.compare(nn::CompareDirection::GE, steps, scaling->growthInterval);
  Value nextScale = build.select(grows, larger, scale), nextSteps = build.select(grows, zero, steps);
  // A step without labels is no evidence.
  nextScale = build.select(getSkip(), scale, nextScale);
  nextSteps = build.select(getSkip(), getGoodSteps(), nextSteps);
  return {build.select(getOverflow(), smaller, nextScale), build.select(getOverflow(), zero, nextSteps)};
}

void UpdateBuilder::buildBody() {
  nn::TensorBuilder build(builder, UnknownLoc::get(builder.getContext()));
  SmallVector<Value> newParameters, newStates, newScalars;
  provenance.setUpdateOf("all parameters");
  for (auto [old, updated] : llvm::zip(getScalarStates(), optimizer.buildStep(build, getScalarStates())))
    newScalars.push_back(keepIfSkipped(build, old, updated));
  if (scaling)
    llvm::append_range(newScalars, buildLossScale(build));
  for (auto [index, parameter] : llvm::enumerate(parameters)) {
    provenance.setUpdateOf(parameter.getName().getValue());
    Value old = getParameter(index), gradient = getGradient(index);
    Value scale = build.convert(getScale(), parameter.type.getElementType());
    Value mean = build.mul(gradient, build.broadcastScalar(scale, parameter.type.getShape()));
    SmallVector<Value> updated = optimizer.buildUpdate(build, old, mean, getStates(index), parameter.decays());
    newParameters.push_back(keepIfSkipped(build, old, updated.front()));
    for (auto [state, newState] : llvm::zip(getStates(index), ArrayRef<Value>(updated).drop_front()))
      newStates.push_back(keepIfSkipped(build, state, newState));
  }
  SmallVector<Value> results = newParameters;
  llvm::append_range(results, newStates);
  llvm::append_range(results, newScalars);
  provenance.setUpdateOf("all parameters");
  func::ReturnOp::create(builder, build.loc, results);
}

struct BuildUpdatePass : autodiff::impl::BuildUpdatePassBase<BuildUpdatePass> {
  using BuildUpdatePassBase::BuildUpdatePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto accumulate = module.lookupSymbol<func::FuncOp>("accumulate");
    if (!accumulate) {
      module.emitError("has no function '@accumulate'");
      return signalPassFailure();
    }
    FailureOr<std::unique_ptr<Optimizer>> optimizer = Optimizer::create(module);
    if (failed(optimizer))
      return signalPassFailure();
    FailureOr<Precision> precision = Precision::read(module);
    if (failed(precision))
      return signalPassFailure();
    SmallVector<Parameter> parameters = collectParameters(accumulate);
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    UpdateBuilder(**optimizer, parameters, precision->lossScaling, &getContext()).build(builder, accumulate.getLoc());
  }
};

} // namespace
