//===-- ReduceStep.cpp - builds the update of each pp coordinate --------------------------------------------------===//

#include "StageFunction.h"
#include "StepScale.h"
#include "WorldExchange.h"
#include "shardc/Pipeline/Passes.h"

#include "llvm/ADT/StringMap.h"

namespace shardc::pipeline {
#define GEN_PASS_DEF_REDUCESTEPPASS
#include "shardc/Pipeline/Passes.h.inc"
} // namespace shardc::pipeline

using namespace mlir;
using namespace shardc;
using namespace shardc::pipeline;

namespace {

/// A sum over the micro-batches of a step, as a stage's backward leaves it.
struct GradientSum {
  RankedTensorType type;
  NamedAttrList attributes;

  dist::ShardingAttr getSharding() const {
    return dyn_cast_or_null<dist::ShardingAttr>(attributes.get(dist::kShardingAttr));
  }
};

/// A trainable parameter: its gradient's argument in @update, and its sum in each stage that has it.
struct Parameter {
  BlockArgument gradient;
  dist::ShardingAttr sharding; ///< of the reduced gradient
  std::map<int64_t, GradientSum> sums;
};

class StepReducer {
public:
  StepReducer(ModuleOp module, func::FuncOp update, dist::MeshAttr mesh, StepScaleOptions options)
      : module(module), update(update), mesh(mesh), options(options) {}

  LogicalResult run() {
    if (failed(readUpdate()))
      return failure();
    options.hasLossScale = overflow != nullptr;
    for (int64_t stage = 0; stage < getNumStages(); ++stage)
      if (failed(readSums(stage)))
        return failure();
    if (failed(check()))
      return failure();
    layOut();
    for (int64_t stage = 0; stage < getNumStages(); ++stage) {
      buildUpdate(stage);
      buildReport(stage);
    }
    update.erase();
    return success();
  }

private:
  int64_t getNumStages() const { return mesh.getSize("pp"); }
  MLIRContext *getContext() { return module.getContext(); }

  //===-- Reading -------------------------------------------------------------------------------------------------===//

  /// Numbers the parameters in the order of @update's gradients.
  LogicalResult readUpdate() {
    for (BlockArgument argument : update.getArguments()) {
      unsigned index = argument.getArgNumber();
      if (auto scalar = update.getArgAttrOfType<StringAttr>(index, "nn.scalar"))
        (scalar == "scale" ? scale : scalar == "overflow" ? overflow : skip) = argument;
      auto name = update.getArgAttrOfType<StringAttr>(index, nn::kGradientAttr);
      if (!name)
        continue;
      numbers[name] = parameters.size();
      parameters.push_back({argument, dist::getSharding(argument), {}});
    }
    if (!scale || !skip)
      return update.emitError("function '") << kUpdate << "': expected arguments with nn.scalar \"scale\" and \"skip\"";
    return success();
  }

  /// Reads what a stage's backward sums up.
  LogicalResult readSums(int64_t stage) {
    FailureOr<func::FuncOp> backward = findFunction(module, getStageFunctionName(stage, "backward_first"));
    if (failed(backward))
      return failure();
    for (auto [index, type] : llvm::enumerate(backward->getResultTypes())) {
      auto bind = backward->getResultAttrOfType<exec::BindAttr>(index, exec::kBindAttr);
      if (!bind || bind.getRegion() != exec::Region::Gradient)
        continue;
      GradientSum sum{cast<RankedTensorType>(type), backward->getResultAttrDict(index)};
      if (auto loss = backward->getResultAttrOfType<StringAttr>(index, nn::kLossAttr)) {
        (loss == "sum" ? lossSum : lossWeight) = sum;
        continue;
      }
      auto name = backward->getResultAttrOfType<StringAttr>(index, nn::kGradientAttr);
      auto number = name ? numbers.find(name) : numbers.end();
      if (number == numbers.end())
        return backward->emitError("internal error: result ")
               << index << " is the gradient of no parameter of @" << kUpdate;
      parameters[number->second].sums[stage] = sum;
    }
    return success();
  }

  LogicalResult check() {
    if (!lossSum.type || !lossWeight.type)
      return module.emitError("internal error: no stage sums the loss and its weight");
    for (const Parameter &parameter : parameters) {
      StringRef name = getName(parameter);
      if (parameter.sums.empty())
        return update.emitError("internal error: no stage has the gradient of '") << name << "'";
      for (const auto &[stage, sum] : parameter.sums) {
        if (sum.type != parameter.gradient.getType())
          return update.emitError("internal error: gradient of '")
                 << name << "': expected " << parameter.gradient.getType() << ", got " << sum.type << " from stage "
                 << stage;
        if (dist::ShardingAttr sharding = sum.getSharding())
          for (dist::PartialAttr partial : sharding.getPartial())
            if (partial.getKind() != dist::ReductionKind::Sum)
              return update.emitError("internal error: gradient of '") << name << "' is partial, but not a summand";
      }
    }
    return success();
  }

  StringRef getName(const Parameter &parameter) {
    return update.getArgAttrOfType<StringAttr>(parameter.gradient.getArgNumber(), nn::kGradientAttr);
  }

  //===-- Layout --------------------------------------------------------------------------------------------------===//

  void layOut() {
    layout.lossSum = layOutLoss(lossSum);
    layout.lossWeight = layOutLoss(lossWeight);
    for (const Parameter &parameter : parameters) {
      int64_t elements = cast<RankedTensorType>(parameter.gradient.getType()).getNumElements();
      auto axes = filterAxes(mesh, [&](dist::AxisAttr axis) {
        return parameter.sharding && parameter.sharding.isSplitOver(axis.getName());
      });
      layout.addParameter(elements, axes);
    }
  }

  Section layOutLoss(const GradientSum &sum) {
    dist::ShardingAttr sharding = sum.getSharding();
    return {filterAxes(mesh, [&](dist::AxisAttr axis) { return sharding && sharding.getPartial(axis.getName()); }), 1};
  }

  //===-- Building ------------------------------------------------------------------------------------------------===//

  void buildUpdate(int64_t stage) {
    StageFunction function(update, getStageFunctionName(stage, "update"));
    for (const Parameter &parameter : parameters)
      if (auto sum = parameter.sums.find(stage); sum != parameter.sums.end())
        function.addArgument(parameter.gradient, sum->second.attributes);
    auto [sum, weight] = addLossSums(function, stage);
    addParametersAndStates(function, stage);

    SmallVector<Value> squares = reduceGradients(function, stage);
    WorldSums sums = exchange(function.getBuilder(), mesh, layout, sum, weight, squares);
    StepScale step = computeStepScale(function.getBuilder(), sums, options);
    function.set(scale, step.scale);
    function.set(skip, step.skip);
    if (overflow)
      function.set(overflow, step.overflow);

    SmallVector<unsigned> results = findResults(stage);
    cloneOptimizer(function, results);
    addResults(function, stage, results);
    for (auto [name, value] : step.outputs)
      function.addResult(value, bindTo(getContext(), exec::Region::Output, name, getReplicated(value)));
    finish(function.finish());
  }

  /// Brings an evaluation's ΣS and ΣW to all ranks.
  void buildReport(int64_t stage) {
    StageFunction function(update, getStageFunctionName(stage, "report"));
    WorldLayout losses;
    losses.lossSum = layout.lossSum;
    losses.lossWeight = layout.lossWeight;
    auto [sum, weight] = addLossSums(function, stage);
    WorldSums sums = exchange(function.getBuilder(), mesh, losses, sum, weight, {});
    for (auto [name, value] : {std::pair("evaluation_sum", sums.lossSum), {"evaluation_weight", sums.lossWeight}})
      function.addResult(value, bindTo(getContext(), exec::Region::Output, name, getReplicated(value)));
    func::FuncOp report = function.finish();
    eraseUnusedOps(report, [](Operation *) { return false; });
    finish(report);
  }

  /// ΣS and ΣW of the stage's micro-batches; null where it is not the last one.
  std::pair<Value, Value> addLossSums(StageFunction &function, int64_t stage) {
    if (stage != getNumStages() - 1)
      return {};
    Value sum = function.addArgument(lossSum.type, update.getLoc(), lossSum.attributes);
    Value weight = function.addArgument(lossWeight.type, update.getLoc(), lossWeight.attributes);
    return {sum, weight};
  }

  /// The parameter that a name belongs to, if the stage has it.
  bool hasParameter(StringAttr name, int64_t stage) {
    auto number = name ? numbers.find(name) : numbers.end();
    return number != numbers.end() && parameters[number->second].sums.contains(stage);
  }

  /// The binding of an argument or result of @update that the stage has: parameters with a gradient here, their states,
  /// and scalar states. Empty for others.
  NamedAttrList bind(DictionaryAttr attributes, int64_t stage) {
    auto parameter = attributes.getAs<DictionaryAttr>(nn::kParameterAttr);
    auto state = attributes.getAs<DictionaryAttr>("nn.state");
    DictionaryAttr description = parameter ? parameter : state;
    if (!description)
      return {};
    auto owner = description.getAs<StringAttr>(parameter ? "name" : "parameter");
    if ((parameter || owner) && !hasParameter(owner, stage))
      return {};
    NamedAttrList list(attributes);
    list.set(exec::kBindAttr,
             exec::BindAttr::get(getContext(), parameter ? exec::Region::Parameter : exec::Region::State,
                                 description.getAs<StringAttr>("name").getValue()));
    return list;
  }

  void addParametersAndStates(StageFunction &function, int64_t stage) {
    for (BlockArgument argument : update.getArguments())
      if (DictionaryAttr attributes = update.getArgAttrDict(argument.getArgNumber()))
        if (NamedAttrList list = bind(attributes, stage); !list.empty())
          function.addArgument(argument, list);
  }

  /// Reduces the stage's gradients. Returns, for each parameter, the gradient whose squares this stage contributes.
  SmallVector<Value> reduceGradients(StageFunction &function, int64_t stage) {
    SmallVector<Value> squares;
    for (const Parameter &parameter : parameters) {
      auto sum = parameter.sums.find(stage);
      if (sum == parameter.sums.end()) {
        squares.push_back({});
        continue;
      }
      Value reduced = reduceGradient(function, parameter, sum->second);
      function.set(parameter.gradient, reduced);
      squares.push_back(parameter.sums.begin()->first == stage ? reduced : Value());
    }
    return squares;
  }

  /// Over the axes on which it is partial, then over the stages that share it.
  Value reduceGradient(StageFunction &function, const Parameter &parameter, const GradientSum &sum) {
    OpBuilder &builder = function.getBuilder();
    Location loc = NameLoc::get(builder.getStringAttr("gradient of " + getName(parameter)));
    Value value = function.get(parameter.gradient);
    auto reduce = [&](ArrayRef<Attribute> axes, DenseI64ArrayAttr members, dist::ShardingAttr sharding) {
      value = dist::AllReduceOp::create(builder, loc, value.getType(), value, builder.getArrayAttr(axes),
                                        dist::ReductionKind::Sum, members);
      if (sharding)
        dist::setSharding(value, sharding);
    };
    dist::ShardingAttr sharding = sum.getSharding();
    SmallVector<Attribute> axes;
    for (dist::AxisAttr axis : mesh.getAxes())
      if (axis.getSize() > 1 && sharding && sharding.getPartial(axis.getName())) {
        axes.push_back(builder.getStringAttr(axis.getName()));
        sharding = sharding.withoutPartial(axis.getName());
      }
    if (!axes.empty())
      reduce(axes, nullptr, sharding);
    SmallVector<int64_t> members;
    for (const auto &[stage, part] : parameter.sums)
      members.push_back(stage);
    if (members.size() > 1)
      reduce({builder.getStringAttr("pp")}, builder.getDenseI64ArrayAttr(members), sharding);
    return value;
  }

  /// The results of @update that the stage has.
  SmallVector<unsigned> findResults(int64_t stage) {
    SmallVector<unsigned> results;
    for (unsigned i = 0, e = update.getNumResults(); i < e; ++i)
      if (DictionaryAttr attributes = update.getResultAttrDict(i); attributes && !bind(attributes, stage).empty())
        results.push_back(i);
    return results;
  }

  Value getReturned(unsigned result) { return update.getBody().front().getTerminator()->getOperand(result); }

  /// Clones, in order, the ops of @update that the results depend on.
  void cloneOptimizer(StageFunction &function, ArrayRef<unsigned> results) {
    llvm::DenseSet<Operation *> needed;
    for (unsigned result : results)
      if (Operation *op = getReturned(result).getDefiningOp())
        needed.insert(op);
    Block &block = update.getBody().front();
    for (Operation &op : llvm::reverse(block.without_terminator()))
      if (needed.contains(&op))
        for (Value operand : op.getOperands())
          if (operand.getDefiningOp())
            needed.insert(operand.getDefiningOp());
    for (Operation &op : block.without_terminator())
      if (needed.contains(&op))
        function.clone(&op);
  }

  /// Reduced gradients replace the sums in their buffers: after a step these hold what the optimizer saw.
  void addResults(StageFunction &function, int64_t stage, ArrayRef<unsigned> results) {
    for (const Parameter &parameter : parameters) {
      auto sum = parameter.sums.find(stage);
      Value reduced = sum == parameter.sums.end() ? Value() : function.get(parameter.gradient);
      if (!reduced || !reduced.getDefiningOp())
        continue;
      NamedAttrList attributes = sum->second.attributes;
      if (dist::ShardingAttr sharding = dist::getSharding(reduced))
        attributes.set(dist::kShardingAttr, sharding);
      function.addResult(reduced, attributes);
    }
    for (unsigned result : results)
      function.addResult(function.get(getReturned(result)), bind(update.getResultAttrDict(result), stage));
  }

  dist::ShardingAttr getReplicated(Value value) {
    return dist::ShardingAttr::getReplicated(getContext(), cast<RankedTensorType>(value.getType()).getShape());
  }

  /// The update stems from no imported op; what has no sharding yet is equal on all ranks.
  void finish(func::FuncOp function) {
    for (Operation &op : function.getBody().front().without_terminator()) {
      if (!op.hasAttr(nn::kOriginAttr))
        op.setAttr(nn::kOriginAttr, IntegerAttr::get(IntegerType::get(getContext(), 64), -1));
      if (!op.hasAttr(dist::kShardingsAttr))
        for (Value result : op.getResults())
          dist::setSharding(result, getReplicated(result));
    }
  }

  ModuleOp module;
  func::FuncOp update;
  dist::MeshAttr mesh;
  StepScaleOptions options;
  BlockArgument scale;
  BlockArgument skip;
  BlockArgument overflow; ///< with a loss scale only
  SmallVector<Parameter> parameters;
  llvm::DenseMap<StringAttr, size_t> numbers;
  GradientSum lossSum;
  GradientSum lossWeight;
  WorldLayout layout;
};

class ReduceStepPass : public shardc::pipeline::impl::ReduceStepPassBase<ReduceStepPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<dist::MeshAttr> mesh = findMesh(module);
    FailureOr<func::FuncOp> update = findFunction(module, kUpdate);
    FailureOr<double> seed = readTrainingFloat(module, "loss_seed");
    FailureOr<double> clip = readTrainingFloat(module, "clip_norm");
    if (failed(mesh) || failed(update) || failed(seed) || failed(clip) ||
        failed(StepReducer(module, *update, *mesh, {*seed, *clip, /*hasLossScale=*/false}).run()))
      signalPassFailure();
  }
};

} // namespace
