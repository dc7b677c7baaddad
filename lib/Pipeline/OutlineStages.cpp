//===-- OutlineStages.cpp - splits @accumulate into the functions of each pp coordinate ---------------------------===//

#include "Boundary.h"
#include "StageFunction.h"
#include "ValueNames.h"
#include "shardc/Pipeline/Passes.h"

#include <map>
#include <set>

namespace shardc::pipeline {
#define GEN_PASS_DEF_OUTLINESTAGESPASS
#include "shardc/Pipeline/Passes.h.inc"
} // namespace shardc::pipeline

using namespace mlir;
using namespace shardc;
using namespace shardc::pipeline;

namespace {

class Outliner {
public:
  Outliner(func::FuncOp accumulate, Results results, Boundary boundary, int64_t stages)
      : accumulate(accumulate), context(accumulate.getContext()), results(std::move(results)),
        boundary(std::move(boundary)), stages(stages) {
    reserveNames();
  }

  void run() {
    for (int64_t stage = 0; stage < stages; ++stage) {
      buildForward(stage);
      buildBackward(stage, /*first=*/true);
      buildBackward(stage, /*first=*/false);
      if (stage == stages - 1)
        buildEvaluation(stage, "evaluate_first", /*first=*/true);
      buildEvaluation(stage, "evaluate", /*first=*/false);
    }
    auto module = accumulate->getParentOfType<ModuleOp>();
    module->setAttr(exec::kMessagesAttr, buildMessages());
    module->setAttr(kOpsAttr, buildOps());
    accumulate.erase();
  }

private:
  //===-- Names and attributes ------------------------------------------------------------------------------------===//

  /// Inputs and parameters have names already; buffers of the update must not meet those of values.
  void reserveNames() {
    for (BlockArgument argument : accumulate.getArguments()) {
      unsigned index = argument.getArgNumber();
      if (auto parameter = accumulate.getArgAttrOfType<DictionaryAttr>(index, nn::kParameterAttr))
        names.assign(argument, parameter.getAs<StringAttr>("name"));
      else if (auto input = accumulate.getArgAttrOfType<StringAttr>(index, nn::kInputAttr))
        names.assign(argument, input);
    }
    for (const Gradient &gradient : results.gradients)
      names.reserve(getGradientName(gradient.parameter));
    for (StringRef name : {"loss.sum", "loss.weight", "loss", "grad_norm", "loss_weight", "gradient_scale", "skipped",
                           "loss_scale", "evaluation_sum", "evaluation_weight"})
      names.reserve(name);
    auto update = accumulate->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(kUpdate);
    for (unsigned i = 0, e = update ? update.getNumArguments() : 0; i < e; ++i)
      if (auto state = update.getArgAttrOfType<DictionaryAttr>(i, "nn.state"))
        names.reserve(state.getAs<StringAttr>("name"));
  }

  /// The attributes of an argument or result that stands for a value of @accumulate.
  NamedAttrList bind(exec::Region region, Value value) {
    NamedAttrList attributes = bindTo(context, region, names.get(value), dist::getSharding(value));
    if (auto argument = dyn_cast<BlockArgument>(value))
      for (StringRef name : {StringRef(nn::kInputAttr), StringRef(nn::kParameterAttr)})
        if (Attribute attribute = accumulate.getArgAttr(argument.getArgNumber(), name))
          attributes.set(name, attribute);
    return attributes;
  }

  //===-- Functions -----------------------------------------------------------------------------------------------===//

  void cloneOps(StageFunction &function, int64_t stage, bool backward) {
    for (Operation &op : accumulate.getBody().front().without_terminator())
      if (getStage(&op) == stage && isBackward(&op) == backward) {
        function.clone(&op);
        if (!backward || op.hasAttr(kRecomputedAttr))
          opsOfStage[stage].insert(getOrigin(&op));
      }
  }

  void cloneForward(StageFunction &function, int64_t stage) {
    for (Value value : boundary.getInputs(stage))
      function.addArgument(value, bind(boundary.getRegion(value, stage), value));
    for (Value value : boundary.getReceived(stage, /*gradients=*/false))
      function.addArgument(value, bind(boundary.getRegion(value, stage), value));
    for (Value value : boundary.getParameters(stage, /*backward=*/false))
      function.addArgument(value, bind(exec::Region::Parameter, value));
    cloneOps(function, stage, /*backward=*/false);
  }

  void buildForward(int64_t stage) {
    StageFunction function(accumulate, getStageFunctionName(stage, "forward"));
    cloneForward(function, stage);
    for (Value value : boundary.getForwardResults(stage))
      function.addResult(function.get(value), bind(boundary.getRegion(value, stage), value));
    function.finish();
  }

  /// The forward without dropout, of which only the messages are kept, in the buffers that training has for them. The
  /// last stage sums up S and W.
  void buildEvaluation(int64_t stage, StringRef name, bool first) {
    StageFunction function(accumulate, getStageFunctionName(stage, name), Dropout::Off);
    cloneForward(function, stage);
    for (Value value : boundary.getSent(stage, /*gradients=*/false))
      if (value.getDefiningOp() && getStage(value.getDefiningOp()) == stage)
        function.addResult(function.get(value), bind(boundary.getRegion(value, stage), value));
    if (stage == stages - 1)
      addLosses(function, first);
    eraseUnusedOps(function.finish(), [](Operation *) { return false; });
  }

  void buildBackward(int64_t stage, bool first) {
    StageFunction function(accumulate, getStageFunctionName(stage, first ? "backward_first" : "backward"));
    for (Value value : boundary.getStashed(stage))
      function.addArgument(value, bind(boundary.getRegion(value, stage), value));
    for (Value value : boundary.getReceived(stage, /*gradients=*/true))
      function.addArgument(value, bind(boundary.getRegion(value, stage), value));
    for (Value value : boundary.getParameters(stage, /*backward=*/true))
      function.addArgument(value, bind(exec::Region::Parameter, value));
    cloneOps(function, stage, /*backward=*/true);
    for (Value value : boundary.getBackwardResults(stage))
      function.addResult(function.get(value), bind(boundary.getRegion(value, stage), value));
    addGradients(function, stage, first);
    function.finish();
  }

  /// The sums over micro-batches: of the parameters' gradients and, in the last stage, of S and W.
  void addGradients(StageFunction &function, int64_t stage, bool first) {
    for (const Gradient &gradient : results.gradients) {
      auto part = gradient.parts.find(stage);
      if (part == gradient.parts.end())
        continue;
      NamedAttrList attributes =
          bindTo(context, exec::Region::Gradient, getGradientName(gradient.parameter), gradient.sharding);
      attributes.set(nn::kGradientAttr, gradient.parameter);
      Operation *model = part->second.getDefiningOp();
      addSum(function, part->second, attributes, first, model ? getOrigin(model) : -1);
    }
    if (stage == stages - 1)
      addLosses(function, first);
  }

  void addLosses(StageFunction &function, bool first) {
    addLoss(function, results.lossSum, results.lossSumSharding, "sum", first);
    addLoss(function, results.lossWeight, results.lossWeightSharding, "weight", first);
  }

  void addLoss(StageFunction &function, Value loss, dist::ShardingAttr sharding, StringRef kind, bool first) {
    NamedAttrList attributes = bindTo(context, exec::Region::Gradient, ("loss." + kind).str(), sharding);
    attributes.set(nn::kLossAttr, StringAttr::get(context, kind));
    // No op of the model: S may be another stage's, which it was handed on from.
    addSum(function, loss, attributes, first, /*origin=*/-1);
  }

  void addSum(StageFunction &function, Value value, const NamedAttrList &attributes, bool first, int64_t origin) {
    Value sum = function.get(value);
    if (!first) {
      Value old = function.addArgument(value.getType(), value.getLoc(), attributes);
      sum = nn::AddOp::create(function.getBuilder(), value.getLoc(), old, sum);
      Operation *op = sum.getDefiningOp();
      op->setAttr(nn::kOriginAttr, IntegerAttr::get(IntegerType::get(context, 64), origin));
      op->setAttr(nn::kBackwardAttr, UnitAttr::get(context));
      if (Attribute sharding = attributes.get(dist::kShardingAttr))
        dist::setSharding(sum, cast<dist::ShardingAttr>(sharding));
    }
    function.addResult(sum, attributes);
  }

  //===-- Messages ------------------------------------------------------------------------------------------------===//

  ArrayAttr buildMessages() {
    SmallVector<Attribute> messages;
    for (int64_t stage = 0; stage < stages; ++stage)
      for (bool gradients : {false, true})
        for (Value value : boundary.getSent(stage, gradients))
          messages.push_back(exec::MessageAttr::get(
              context, names.get(value), stage, gradients ? exec::ActionKind::Backward : exec::ActionKind::Forward));
    return ArrayAttr::get(context, messages);
  }

  /// What each stage has taken over of the model, for the verifier.
  ArrayAttr buildOps() {
    SmallVector<Attribute> lists;
    for (int64_t stage = 0; stage < stages; ++stage) {
      SmallVector<int64_t> ops(opsOfStage[stage].begin(), opsOfStage[stage].end());
      lists.push_back(DenseI64ArrayAttr::get(context, ops));
    }
    return ArrayAttr::get(context, lists);
  }

  func::FuncOp accumulate;
  MLIRContext *context;
  Results results;
  Boundary boundary;
  int64_t stages;
  std::map<int64_t, std::set<int64_t>> opsOfStage; ///< origins of forward ops, those computed again included
  ValueNames names;
};

/// Every op has a stage of the mesh or is free.
LogicalResult checkStages(func::FuncOp accumulate, int64_t stages) {
  llvm::DenseSet<Operation *> free = findFreeOps(accumulate);
  for (Operation &op : accumulate.getBody().front().without_terminator())
    if (!free.contains(&op) && (getStage(&op) < 0 || getStage(&op) >= stages))
      return op.emitError("internal error: expected '")
             << kStageAttr << "' in [0, " << stages << "), got " << getStage(&op);
  return success();
}

LogicalResult outlineStages(ModuleOp module) {
  FailureOr<dist::MeshAttr> mesh = findMesh(module);
  FailureOr<func::FuncOp> accumulate = findFunction(module, kAccumulate);
  if (failed(mesh) || failed(accumulate))
    return failure();
  int64_t stages = mesh->getSize("pp");
  if (failed(checkStages(*accumulate, stages)))
    return failure();
  FailureOr<Results> results = splitGradients(*accumulate);
  if (failed(results))
    return failure();
  FailureOr<Boundary> boundary = Boundary::analyze(*accumulate, *results, stages);
  if (failed(boundary))
    return failure();
  Outliner(*accumulate, std::move(*results), std::move(*boundary), stages).run();
  return success();
}

class OutlineStagesPass : public shardc::pipeline::impl::OutlineStagesPassBase<OutlineStagesPass> {
  void runOnOperation() override {
    if (failed(outlineStages(getOperation())))
      signalPassFailure();
  }
};

} // namespace
