//===-- CutStages.cpp - gives each op of @accumulate its pipeline stage -------------------------------------------===//

#include "StageGraph.h"
#include "shardc/Pipeline/BalanceStages.h"
#include "shardc/Pipeline/Passes.h"

#include <map>

namespace shardc::pipeline {
#define GEN_PASS_DEF_CUTSTAGESPASS
#include "shardc/Pipeline/Passes.h.inc"
} // namespace shardc::pipeline

using namespace mlir;
using namespace shardc;
using namespace shardc::pipeline;

namespace {

/// Time in picoseconds on a roofline of 50 GFLOP/s and 10 GB/s of memory, 5 GB/s between ranks. Stages are compared
/// with one another only, so that the ratios alone matter.
constexpr int64_t kTimeOfFlop = 20;
constexpr int64_t kTimeOfByte = 100;
constexpr int64_t kTimeOfSentByte = 200;

int64_t estimateTime(Operation *op) {
  if (isCollective(op))
    return getBytes(op->getResult(0)) * kTimeOfSentByte;
  auto cost = dyn_cast<nn::CostOpInterface>(op);
  return cost ? std::max(cost.getFlops() * kTimeOfFlop, cost.getBytes() * kTimeOfByte) : 0;
}

/// The ops of @accumulate as a row of items, one for each `nn.origin`.
class Cutter {
public:
  Cutter(func::FuncOp function, int64_t stages) : function(function), stages(stages), free(findFreeOps(function)) {}

  LogicalResult run() {
    if (failed(numberOrigins()))
      return failure();
    StageProblem problem = buildProblem();
    std::optional<std::vector<int64_t>> firsts = balanceStages(problem);
    if (!firsts) {
      InFlightDiagnostic error = function.emitError("axis 'pp': ")
                                 << stages << " pipeline stages, but the model has " << items.size()
                                 << " ops that could begin one [stage-count]";
      if (items.empty())
        error.attachNote() << "every op is computed where it is used; a model that uses an input can be cut";
      else
        error.attachNote() << "--pp from 1 to " << items.size() << " works";
      return error;
    }
    assign(*firsts);
    return success();
  }

private:
  auto ops() { return function.getBody().front().without_terminator(); }

  LogicalResult numberOrigins() {
    for (Operation &op : ops()) {
      op.removeAttr(kStageAttr);
      if (free.contains(&op))
        continue;
      if (getOrigin(&op) < 0)
        return op.emitError("internal error: op without '") << nn::kOriginAttr << "'";
      if (!isBackward(&op))
        items.try_emplace(getOrigin(&op), 0);
    }
    int64_t next = 0;
    for (auto &[origin, item] : items)
      item = next++;
    return success();
  }

  /// Backward ops whose forward op is free go with the forward op before it.
  int64_t getItem(Operation *op) {
    auto after = items.upper_bound(getOrigin(op));
    return after == items.begin() ? 0 : std::prev(after)->second;
  }

  StageProblem buildProblem() {
    StageProblem problem;
    problem.stages = stages;
    problem.costs.assign(items.size(), 0);
    problem.cuts.assign(items.empty() ? 0 : items.size() - 1, {0, 0});
    for (Operation &op : ops()) {
      if (free.contains(&op))
        continue;
      problem.costs[getItem(&op)] += estimateTime(&op);
      if (!isBackward(&op))
        for (Value result : op.getResults())
          addCrossings(problem, result);
    }
    return problem;
  }

  /// A forward value crosses every cut up to its last use, and its gradient comes back the same way.
  void addCrossings(StageProblem &problem, Value value) {
    int64_t first = getItem(value.getDefiningOp());
    int64_t last = first;
    for (Operation *user : value.getUsers())
      last = std::max(last,
                      user->hasTrait<OpTrait::IsTerminator>() ? static_cast<int64_t>(items.size()) - 1 : getItem(user));
    for (int64_t cut = first; cut < last; ++cut) {
      problem.cuts[cut].values += 1;
      problem.cuts[cut].cost += 2 * getBytes(value) * kTimeOfSentByte;
    }
  }

  /// A forward op stands at least in its operands' stages, a backward op at most (where imported ids alone would send a
  /// value against its direction).
  void assign(ArrayRef<int64_t> firsts) {
    for (Operation &op : ops()) {
      if (free.contains(&op))
        continue;
      int64_t stage = llvm::upper_bound(firsts, getItem(&op)) - firsts.begin() - 1;
      for (Value operand : op.getOperands()) {
        Operation *source = operand.getDefiningOp();
        if (!source || free.contains(source) || isBackward(source) != isBackward(&op))
          continue;
        stage = isBackward(&op) ? std::min(stage, getStage(source)) : std::max(stage, getStage(source));
      }
      setStage(&op, stage);
    }
  }

  func::FuncOp function;
  int64_t stages;
  llvm::DenseSet<Operation *> free;
  std::map<int64_t, int64_t> items; ///< origin to position
};

class CutStagesPass : public shardc::pipeline::impl::CutStagesPassBase<CutStagesPass> {
  void runOnOperation() override {
    FailureOr<dist::MeshAttr> mesh = findMesh(getOperation());
    FailureOr<func::FuncOp> function = findFunction(getOperation(), kAccumulate);
    if (failed(mesh) || failed(function) || failed(Cutter(*function, mesh->getSize("pp")).run()))
      signalPassFailure();
  }
};

} // namespace
