//===-- Boundary.cpp - which values live in which stage, and how they get there -----------------------------------===//

#include "Boundary.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::pipeline;

namespace {

bool isInput(Value value) { return isa<BlockArgument>(value) && !isParameter(value); }
bool isGradient(Value value) { return value.getDefiningOp() && isBackward(value.getDefiningOp()); }
bool isForwardValue(Value value) { return value.getDefiningOp() && !isBackward(value.getDefiningOp()); }

int64_t getBegin(Value value) { return getStage(value.getDefiningOp()); }

} // namespace

FailureOr<Boundary> Boundary::analyze(func::FuncOp accumulate, const Results &results, int64_t stages) {
  Boundary boundary;
  for (Value argument : accumulate.getArguments())
    boundary.uses.insert({argument, {}});
  for (Operation &op : accumulate.getBody().front().without_terminator())
    if (getStage(&op) >= 0)
      for (Value result : op.getResults())
        boundary.uses.insert({result, {}});
  for (Operation &op : accumulate.getBody().front().without_terminator())
    if (getStage(&op) >= 0)
      for (Value operand : op.getOperands())
        if (failed(boundary.addUse(&op, operand, getStage(&op), isBackward(&op))))
          return failure();
  for (const Gradient &gradient : results.gradients)
    for (const auto &[stage, part] : gradient.parts)
      if (failed(boundary.addUse(accumulate, part, stage, /*backward=*/true)))
        return failure();
  for (Value loss : {results.lossSum, results.lossWeight})
    if (failed(boundary.addUse(accumulate, loss, stages - 1, /*backward=*/true)))
      return failure();
  if (failed(boundary.checkPartial(stages - 1, results)))
    return failure();
  return boundary;
}

LogicalResult Boundary::addUse(Operation *user, Value value, int64_t stage, bool backward) {
  auto found = uses.find(value);
  if (found == uses.end())
    return success(); // free: cloned where it is used
  (backward ? found->second.backward : found->second.forward).insert(stage);
  if (isa<BlockArgument>(value))
    return success();
  if (isGradient(value) && !backward)
    return user->emitError("internal error: forward op reads the backward value of ") << value.getLoc();
  bool against = isGradient(value) ? getBegin(value) < stage : getBegin(value) > stage;
  if (against)
    return user->emitError("internal error: op in pipeline stage ")
           << stage << " reads a " << (isGradient(value) ? "gradient" : "forward value") << " of stage "
           << getBegin(value) << ", " << value.getLoc();
  return success();
}

/// S and W may be partial: they are summed over ranks at the end of the step.
LogicalResult Boundary::checkPartial(int64_t lastStage, const Results &results) const {
  for (int64_t stage = 0; stage <= lastStage; ++stage)
    for (bool gradients : {false, true})
      for (Value value : getSent(stage, gradients)) {
        dist::ShardingAttr sharding = dist::getSharding(value);
        if (sharding && !sharding.getPartial().empty() && value != results.lossSum && value != results.lossWeight)
          return value.getDefiningOp()->emitError("internal error: value crosses from pipeline stage ")
                 << stage << " while partial over '" << sharding.getPartial().front().getAxis().getValue() << "'";
      }
  return success();
}

int64_t Boundary::getEnd(Value value) const {
  const Uses &stages = uses.find(value)->second;
  int64_t end = getBegin(value);
  if (isGradient(value))
    return stages.backward.empty() ? end : *stages.backward.begin();
  for (const std::set<int64_t> *set : {&stages.forward, &stages.backward})
    if (!set->empty())
      end = std::max(end, *set->rbegin());
  return end;
}

SmallVector<Value> Boundary::getInputs(int64_t stage) const {
  SmallVector<Value> values;
  for (const auto &[value, stages] : uses)
    if (isInput(value) && (stages.inForward(stage) || stages.inBackward(stage)))
      values.push_back(value);
  return values;
}

SmallVector<Value> Boundary::getParameters(int64_t stage, bool backward) const {
  SmallVector<Value> values;
  for (const auto &[value, stages] : uses)
    if (isParameter(value) && (backward ? stages.inBackward(stage) : stages.inForward(stage)))
      values.push_back(value);
  return values;
}

SmallVector<Value> Boundary::getReceived(int64_t stage, bool gradients) const {
  SmallVector<Value> values;
  for (const auto &[value, stages] : uses) {
    if (gradients && isGradient(value) && getEnd(value) <= stage && stage < getBegin(value))
      values.push_back(value);
    if (!gradients && isForwardValue(value) && getBegin(value) < stage && stage <= getEnd(value))
      values.push_back(value);
  }
  return values;
}

SmallVector<Value> Boundary::getSent(int64_t stage, bool gradients) const {
  return getReceived(gradients ? stage - 1 : stage + 1, gradients);
}

SmallVector<Value> Boundary::getForwardResults(int64_t stage) const {
  SmallVector<Value> values;
  for (const auto &[value, stages] : uses)
    if (isForwardValue(value) && getBegin(value) == stage && (stages.inBackward(stage) || getEnd(value) > stage))
      values.push_back(value);
  return values;
}

SmallVector<Value> Boundary::getBackwardResults(int64_t stage) const {
  SmallVector<Value> values;
  for (const auto &[value, stages] : uses)
    if (isGradient(value) && getBegin(value) == stage && getEnd(value) < stage)
      values.push_back(value);
  return values;
}

SmallVector<Value> Boundary::getStashed(int64_t stage) const {
  SmallVector<Value> values;
  for (const auto &[value, stages] : uses)
    if ((isInput(value) || isForwardValue(value)) && stages.inBackward(stage))
      values.push_back(value);
  return values;
}

exec::Region Boundary::getRegion(Value value, int64_t stage) const {
  const Uses &stages = uses.find(value)->second;
  if (isInput(value))
    return stages.inBackward(stage) ? exec::Region::Stash : exec::Region::Input;
  bool handedOn = stage != getBegin(value) && stage != getEnd(value);
  if (handedOn || (isForwardValue(value) && stages.inBackward(stage)))
    return exec::Region::Stash;
  return exec::Region::Message;
}
