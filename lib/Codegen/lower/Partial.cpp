//===-- Partial.cpp - over which axes the values of a function are partial ----------------------------------------===//

#include "Partial.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

ArrayAttr toArray(MLIRContext *context, ArrayRef<dist::PartialAttr> axes) {
  return ArrayAttr::get(context, SmallVector<Attribute>(axes.begin(), axes.end()));
}

/// For each output of a kernel, the inputs that it depends on.
SmallVector<SmallVector<Value>> getDependences(exec::FusionOp fusion) {
  llvm::DenseMap<Value, llvm::BitVector> inputs;
  Block &body = fusion.getBody().front();
  unsigned numInputs = body.getNumArguments();
  for (BlockArgument argument : body.getArguments()) {
    llvm::BitVector bits(numInputs);
    bits.set(argument.getArgNumber());
    inputs[argument] = bits;
  }
  for (Operation &op : body.without_terminator()) {
    llvm::BitVector bits(numInputs);
    for (Value operand : op.getOperands())
      bits |= inputs[operand];
    for (Value result : op.getResults())
      inputs[result] = bits;
  }
  SmallVector<SmallVector<Value>> dependences;
  for (Value yielded : cast<exec::YieldOp>(body.back()).getValues()) {
    SmallVector<Value> &values = dependences.emplace_back();
    for (unsigned input : inputs[yielded].set_bits())
      values.push_back(fusion.getInputs()[input]);
  }
  return dependences;
}

/// The axes along which an op combines summands.
bool isCombined(Operation *op, StringRef axis) {
  if (auto reduce = dyn_cast<dist::AllReduceOp>(op))
    return !reduce.getMembers() && llvm::is_contained(reduce.getAxes().getAsValueRange<StringAttr>(), axis);
  if (auto scatter = dyn_cast<dist::ReduceScatterOp>(op))
    return scatter.getAxis() == axis;
  return false;
}

} // namespace

PartialAxes::PartialAxes(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    dist::ShardingAttr sharding = dist::getSharding(argument);
    partial[argument] =
        toArray(function.getContext(), sharding ? sharding.getPartial() : ArrayRef<dist::PartialAttr>());
  }
  for (Operation &op : function.getBody().front().without_terminator())
    visit(&op);
}

void PartialAxes::visit(Operation *op) {
  SmallVector<SmallVector<Value>> dependences;
  if (auto fusion = dyn_cast<exec::FusionOp>(op))
    dependences = getDependences(fusion);
  else
    dependences.assign(op->getNumResults(), SmallVector<Value>(op->getOperands()));
  for (auto [result, values] : llvm::zip(op->getResults(), dependences)) {
    dist::ShardingAttr sharding = dist::getSharding(result);
    if (sharding) {
      partial[result] = toArray(op->getContext(), sharding.getPartial());
      continue;
    }
    SmallVector<dist::PartialAttr> rest;
    for (auto axis : unite(op->getContext(), values).getAsRange<dist::PartialAttr>())
      if (!isCombined(op, axis.getAxis()))
        rest.push_back(axis);
    partial[result] = toArray(op->getContext(), rest);
  }
}

ArrayAttr PartialAxes::unite(MLIRContext *context, ArrayRef<Value> values) const {
  llvm::SetVector<dist::PartialAttr> axes;
  for (Value value : values)
    for (auto axis : partial.lookup(value).getAsRange<dist::PartialAttr>())
      axes.insert(axis);
  return toArray(context, axes.getArrayRef());
}
