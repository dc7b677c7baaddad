//===-- StageFunction.cpp - building the function of one stage ----------------------------------------------------===//

#include "StageFunction.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::pipeline;

std::string shardc::pipeline::getStageFunctionName(int64_t stage, StringRef action) {
  return ("pp" + Twine(stage) + "_" + action).str();
}

std::string shardc::pipeline::getGradientName(StringRef parameter) { return (parameter + "/grad").str(); }

NamedAttrList shardc::pipeline::bindTo(MLIRContext *context, exec::Region region, StringRef name,
                                       dist::ShardingAttr sharding) {
  NamedAttrList attributes;
  attributes.set(exec::kBindAttr, exec::BindAttr::get(context, region, name));
  if (sharding)
    attributes.set(dist::kShardingAttr, sharding);
  return attributes;
}

StageFunction::StageFunction(func::FuncOp source, StringRef name, Dropout dropout)
    : builder(source.getContext()), dropout(dropout) {
  builder.setInsertionPointToEnd(source->getParentOfType<ModuleOp>().getBody());
  function = func::FuncOp::create(builder, source.getLoc(), name, builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
}

Value StageFunction::addArgument(Value value, const NamedAttrList &attributes) {
  Value argument = addArgument(value.getType(), value.getLoc(), attributes);
  mapping.map(value, argument);
  return argument;
}

Value StageFunction::addArgument(Type type, Location loc, const NamedAttrList &attributes) {
  argumentAttributes.push_back(attributes.getDictionary(builder.getContext()));
  return function.getBody().addArgument(type, loc);
}

/// What an op of a Dropout is without it: see nn::kDropoutAttr.
Value StageFunction::passDropout(Operation *op) {
  if (auto select = dyn_cast<nn::SelectOp>(op))
    return get(select.getOnTrue());
  if (isa<nn::MulOp>(op))
    return get(op->getOperand(0));
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  auto all = nn::ConstantOp::create(builder, op->getLoc(), DenseElementsAttr::get(type, true));
  nn::copyOrigin(op, all);
  if (dist::ShardingAttr sharding = dist::getSharding(op->getResult(0)))
    dist::setSharding(all, sharding);
  return all;
}

void StageFunction::clone(Operation *op) {
  if (dropout == Dropout::Off && op->hasAttr(nn::kDropoutAttr))
    return set(op->getResult(0), passDropout(op));
  for (Value operand : op->getOperands())
    get(operand);
  builder.clone(*op, mapping)->removeAttr(kStageAttr);
}

Value StageFunction::get(Value value) {
  if (Value here = mapping.lookupOrNull(value))
    return here;
  Operation *op = value.getDefiningOp();
  assert(op && getStage(op) < 0 && "only free ops are cloned on demand");
  clone(op);
  return mapping.lookup(value);
}

void StageFunction::addResult(Value value, const NamedAttrList &attributes) {
  results.push_back(value);
  resultAttributes.push_back(attributes.getDictionary(builder.getContext()));
}

func::FuncOp StageFunction::finish() {
  func::ReturnOp::create(builder, function.getLoc(), results);
  function.setFunctionType(
      builder.getFunctionType(function.getBody().getArgumentTypes(), TypeRange(ValueRange(results))));
  function.setArgAttrsAttr(builder.getArrayAttr(argumentAttributes));
  function.setResAttrsAttr(builder.getArrayAttr(resultAttributes));
  return function;
}
