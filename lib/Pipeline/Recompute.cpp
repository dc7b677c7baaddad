//===-- Recompute.cpp - decides what a stage keeps and what its backward computes again ---------------------------===//

#include "ActivationProducts.h"
#include "Layers.h"
#include "StashCut.h"
#include "shardc/Pipeline/Passes.h"

namespace shardc::pipeline {
#define GEN_PASS_DEF_RECOMPUTEPASS
#include "shardc/Pipeline/Passes.h.inc"
} // namespace shardc::pipeline

using namespace mlir;
using namespace shardc;
using namespace shardc::pipeline;

namespace {

/// The rules of `nn.training`'s `recompute`, or an error where it is unknown.
FailureOr<RecomputeRules> buildRules(ModuleOp module, func::FuncOp accumulate) {
  FailureOr<StringRef> mode = readTrainingString(module, "recompute");
  if (failed(mode))
    return failure();
  RecomputeRules rules;
  // S and W are read by the last stage's backward, which sums them up.
  for (OpOperand &result : accumulate.getBody().front().getTerminator()->getOpOperands())
    if (accumulate.getResultAttr(result.getOperandNumber(), nn::kLossAttr))
      rules.kept.insert(result.get());
  if (*mode == "none") {
    rules.mayRepeat = isCheap;
  } else if (*mode == "selective") {
    rules.mayRepeat = [between = findBetweenActivationProducts(accumulate)](Operation *op) {
      return isCheap(op) || between.contains(op);
    };
  } else if (*mode == "full") {
    rules.mayRepeat = [](Operation *) { return true; };
    rules.kept.insert_range(findLayerInputs(accumulate));
  } else {
    InFlightDiagnostic error = module.emitError("recompute '") << *mode << "': not known";
    error.attachNote() << "none, selective and full are";
    return error;
  }
  return rules;
}

/// Clones forward ops into the backward of their stage.
class Repeater {
public:
  Repeater(func::FuncOp accumulate, int64_t stage, llvm::DenseSet<Operation *> repeated)
      : accumulate(accumulate), stage(stage), repeated(std::move(repeated)) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(accumulate.getBody().front().without_terminator()))
      if (getStage(&op) == stage && isBackward(&op))
        for (OpOperand &operand : op.getOpOperands())
          if (isRepeated(operand.get()))
            operand.set(repeat(operand.get(), &op));
  }

private:
  bool isRepeated(Value value) { return repeated.contains(value.getDefiningOp()); }

  /// Clones what `value` needs and is not there yet, in forward order, in front of `user`.
  Value repeat(Value value, Operation *user) {
    SmallVector<Operation *> missing;
    SmallVector<Operation *> stack{value.getDefiningOp()};
    llvm::DenseSet<Operation *> seen;
    while (!stack.empty()) {
      Operation *op = stack.pop_back_val();
      if (mapping.contains(op->getResult(0)) || !seen.insert(op).second)
        continue;
      missing.push_back(op);
      for (Value operand : op->getOperands())
        if (isRepeated(operand))
          stack.push_back(operand.getDefiningOp());
    }
    llvm::sort(missing, [](Operation *lhs, Operation *rhs) { return lhs->isBeforeInBlock(rhs); });
    OpBuilder builder(user);
    for (Operation *op : missing) {
      Operation *clone = builder.clone(*op, mapping);
      clone->setAttr(nn::kBackwardAttr, builder.getUnitAttr());
      clone->setAttr(kRecomputedAttr, builder.getUnitAttr());
    }
    return mapping.lookup(value);
  }

  func::FuncOp accumulate;
  int64_t stage;
  llvm::DenseSet<Operation *> repeated;
  IRMapping mapping;
};

LogicalResult recompute(ModuleOp module) {
  FailureOr<dist::MeshAttr> mesh = findMesh(module);
  FailureOr<func::FuncOp> accumulate = findFunction(module, kAccumulate);
  if (failed(mesh) || failed(accumulate))
    return failure();
  FailureOr<RecomputeRules> rules = buildRules(module, *accumulate);
  if (failed(rules))
    return failure();
  for (int64_t stage = 0; stage < mesh->getSize("pp"); ++stage)
    Repeater(*accumulate, stage, chooseRecomputed(*accumulate, stage, *rules)).run();
  // Forward ops that only the backward read are not needed in the forward any more.
  eraseUnusedOps(*accumulate, [](Operation *) { return false; });
  return success();
}

class RecomputePass : public shardc::pipeline::impl::RecomputePassBase<RecomputePass> {
  void runOnOperation() override {
    if (failed(recompute(getOperation())))
      signalPassFailure();
  }
};

} // namespace
