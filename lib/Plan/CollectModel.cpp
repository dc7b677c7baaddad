//===-- CollectModel.cpp - what the plan says about parameters and inputs -----------------------------------------===//

#include "shardc/Plan/Passes.h"

#include "dialects/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseSet.h"

#include <set>

using namespace mlir;

namespace shardc::plan {
#define GEN_PASS_DEF_COLLECTMODELPASS
#include "shardc/Plan/Passes.h.inc"
} // namespace shardc::plan

namespace {

/// The logical global shape: what the sharding's sub-dimensions multiply to, or what padding left on record.
SmallVector<int64_t> getLogicalShape(DictionaryAttr parameter, RankedTensorType type,
                                     shardc::dist::ShardingAttr sharding) {
  if (auto logical = parameter.getAs<DenseI64ArrayAttr>("logical_shape"))
    return SmallVector<int64_t>(logical.asArrayRef());
  if (!sharding)
    return SmallVector<int64_t>(type.getShape());
  SmallVector<int64_t> shape;
  for (shardc::dist::DimAttr dim : sharding.getDims()) {
    int64_t size = 1;
    for (shardc::dist::SubDimAttr sub : dim.getSubDims())
      size *= sub.getSize();
    shape.push_back(size);
  }
  return shape;
}

/// `dictionary` with more entries.
DictionaryAttr extend(DictionaryAttr dictionary, ArrayRef<NamedAttribute> more) {
  NamedAttrList list(dictionary);
  for (NamedAttribute attribute : more)
    list.set(attribute.getName(), attribute.getValue());
  return list.getDictionary(dictionary.getContext());
}

struct CollectModelPass : shardc::plan::impl::CollectModelPassBase<CollectModelPass> {
  void runOnOperation() override {
    auto accumulate = getOperation().lookupSymbol<func::FuncOp>("accumulate");
    if (!accumulate) {
      getOperation().emitError("there is no function 'accumulate'");
      return signalPassFailure();
    }
    collectParameters(accumulate);
    collectInputs(accumulate);
    collectOps(accumulate);
  }

  void collectParameters(func::FuncOp accumulate) {
    Builder builder(&getContext());
    SmallVector<Attribute> parameters;
    for (BlockArgument argument : accumulate.getArguments()) {
      auto parameter = accumulate.getArgAttrOfType<DictionaryAttr>(argument.getArgNumber(), shardc::nn::kParameterAttr);
      if (!parameter)
        continue;
      auto type = cast<RankedTensorType>(argument.getType());
      auto sharding = shardc::dist::getSharding(argument);
      if (!sharding)
        sharding = shardc::dist::ShardingAttr::getReplicated(&getContext(), type.getShape());
      parameters.push_back(extend(
          parameter,
          {builder.getNamedAttr("type", TypeAttr::get(type.getElementType())),
           builder.getNamedAttr("shape", builder.getDenseI64ArrayAttr(getLogicalShape(parameter, type, sharding))),
           builder.getNamedAttr("sharding", sharding)}));
    }
    getOperation()->setAttr("nn.parameters", builder.getArrayAttr(parameters));
  }

  void collectInputs(func::FuncOp accumulate) {
    Builder builder(&getContext());
    SmallVector<Attribute> inputs;
    for (BlockArgument argument : accumulate.getArguments()) {
      auto name = accumulate.getArgAttrOfType<StringAttr>(argument.getArgNumber(), shardc::nn::kInputAttr);
      if (!name)
        continue;
      auto type = cast<RankedTensorType>(argument.getType());
      inputs.push_back(
          extend(lookUpInput(name),
                 {builder.getNamedAttr("type", TypeAttr::get(type.getElementType())),
                  builder.getNamedAttr("sample_shape", builder.getDenseI64ArrayAttr(type.getShape().drop_front()))}));
    }
    getOperation()->setAttr("nn.inputs", builder.getArrayAttr(inputs));
  }

  /// The forward ops that a result needs and that need an argument, by their origin.
  void collectOps(func::FuncOp accumulate) {
    Block &body = accumulate.getBody().front();
    llvm::DenseSet<Operation *> needed, dependent;
    for (Operation &op : body)
      if (llvm::any_of(op.getOperands(), [&](Value operand) {
            return !operand.getDefiningOp() || dependent.contains(operand.getDefiningOp());
          }))
        dependent.insert(&op);
    std::set<int64_t> origins;
    for (Operation &op : llvm::reverse(body)) {
      if (!op.hasTrait<OpTrait::IsTerminator>() && !needed.contains(&op))
        continue;
      for (Value operand : op.getOperands())
        needed.insert(operand.getDefiningOp());
      auto origin = op.getAttrOfType<IntegerAttr>(shardc::nn::kOriginAttr);
      if (origin && dependent.contains(&op) && !op.hasAttr(shardc::nn::kBackwardAttr))
        origins.insert(origin.getInt());
    }
    SmallVector<int64_t> ascending(origins.begin(), origins.end());
    getOperation()->setAttr("nn.ops", DenseI64ArrayAttr::get(&getContext(), ascending));
  }

  DictionaryAttr lookUpInput(StringAttr name) {
    if (auto inputs = getOperation()->getAttrOfType<ArrayAttr>("nn.inputs"))
      for (auto input : inputs.getAsRange<DictionaryAttr>())
        if (input.getAs<StringAttr>("name") == name)
          return input;
    return DictionaryAttr::get(&getContext(), NamedAttribute(StringAttr::get(&getContext(), "name"), name));
  }
};

} // namespace
