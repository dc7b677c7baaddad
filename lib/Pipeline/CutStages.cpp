//===-- CutStages.cpp - gives each op of @accumulate its pipeline stage -------------------------------------------===//

#include "StageGraph.h"
#include "ValueNames.h"
#include "WorkTimes.h"
#include "shardc/Pipeline/BalanceStages.h"
#include "shardc/Pipeline/Passes.h"

#include "mlir/IR/IRMapping.h"

#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <numeric>

namespace shardc::pipeline {
#define GEN_PASS_DEF_CUTSTAGESPASS
#include "shardc/Pipeline/Passes.h.inc"
} // namespace shardc::pipeline

using namespace mlir;
using namespace shardc;
using namespace shardc::pipeline;

namespace {

std::string describeTime(int64_t femtoseconds) {
  double microseconds = femtoseconds / 1e9;
  if (microseconds < 1000)
    return llvm::formatv("{0:f1} us", microseconds);
  return llvm::formatv("{0:f3} ms", microseconds / 1000);
}

/// The ops of @accumulate as a row of items, one for each `nn.origin` or for several that a partial value joins.
class Cutter {
public:
  Cutter(func::FuncOp function, dist::MeshAttr mesh, const dist::Hardware &hardware)
      : function(function), times(mesh, hardware), stages(mesh.getSize("pp")), free(findFreeOps(function)) {}

  LogicalResult run() {
    if (failed(numberOrigins()))
      return failure();
    StageProblem problem = buildProblem();
    std::optional<std::vector<int64_t>> firsts = balanceStages(problem);
    if (!firsts) {
      InFlightDiagnostic error = function.emitError("axis 'pp': ")
                                 << stages << " pipeline stages, but the model has " << count
                                 << " ops that could begin one [stage-count]";
      if (count == 0)
        error.attachNote() << "every op is computed where it is used; a model that uses an input can be cut";
      else
        error.attachNote() << "--pp from 1 to " << count << " works";
      return error;
    }
    assign(*firsts);
    repeatLaterValues();
    if (stages > 1)
      addNotes(problem, *firsts);
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
    count = next;
    joinPartial();
    return success();
  }

  /// A value that is still a sum (or maximum) over ranks is not sent: whoever reads it is in its stage. Ops between the
  /// two become one item. What adds up the gradients of the stages of a tied parameter is no reader: ReduceStep does
  /// it.
  void joinPartial() {
    std::vector<int64_t> reach(count); // each item's last item of the same stage
    for (int64_t item = 0; item < count; ++item)
      reach[item] = item;
    for (Operation &op : ops())
      for (Value result : op.getResults()) {
        dist::ShardingAttr sharding = dist::getSharding(result);
        if (!sharding || sharding.getPartial().empty() || free.contains(&op))
          continue;
        auto [first, last] = getSpan(result);
        reach[first] = std::max(reach[first], last);
      }
    std::vector<int64_t> joined(count);
    int64_t next = -1, end = -1;
    for (int64_t item = 0; item < count; ++item) {
      next += item > end;
      end = std::max(end, reach[item]);
      joined[item] = next;
    }
    for (auto &[origin, item] : items)
      item = joined[item];
    count = next + 1;
  }

  /// The first and last item between a value and its readers. Results of the function are read in the last stage,
  /// unless they are gradients, which stay where they are made.
  std::pair<int64_t, int64_t> getSpan(Value value) {
    int64_t first = getItem(value.getDefiningOp()), last = first;
    for (Operation *user : value.getUsers()) {
      bool isResult = user->hasTrait<OpTrait::IsTerminator>();
      if (free.contains(user) || user->hasAttr(nn::kGradientSumAttr) || (isResult && isBackward(value.getDefiningOp())))
        continue;
      int64_t item = isResult ? count - 1 : getItem(user);
      first = std::min(first, item);
      last = std::max(last, item);
    }
    return {first, last};
  }

  /// Backward ops whose forward op is free go with the forward op before it.
  int64_t getItem(Operation *op) {
    auto after = items.upper_bound(getOrigin(op));
    return after == items.begin() ? 0 : std::prev(after)->second;
  }

  StageProblem buildProblem() {
    StageProblem problem;
    problem.stages = stages;
    problem.costs.assign(count, 0);
    problem.cuts.assign(count == 0 ? 0 : count - 1, {0, 0});
    for (Operation &op : ops()) {
      if (free.contains(&op))
        continue;
      problem.costs[getItem(&op)] += times.get(&op);
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
      last = std::max(last, user->hasTrait<OpTrait::IsTerminator>() ? count - 1 : getItem(user));
    for (int64_t cut = first; cut < last; ++cut) {
      problem.cuts[cut].values += 1;
      problem.cuts[cut].cost += 2 * times.getMessage(value);
    }
  }

  /// A forward op stands at least in its operands' stages, a backward op at most (where imported ids alone would send a
  /// value against its direction). The forward ops of one origin keep together, in the latest stage of any.
  void assign(ArrayRef<int64_t> firsts) {
    auto getFirstStage = [&](Operation &op) { return llvm::upper_bound(firsts, getItem(&op)) - firsts.begin() - 1; };
    std::map<int64_t, int64_t> stageOf; // of an origin's forward ops
    for (bool changed = true; changed;) {
      changed = false;
      for (Operation &op : ops()) {
        if (free.contains(&op) || isBackward(&op))
          continue;
        int64_t &stage = stageOf.try_emplace(getOrigin(&op), getFirstStage(op)).first->second;
        for (Value operand : op.getOperands())
          if (Operation *source = operand.getDefiningOp(); source && getStage(source) > stage) {
            stage = getStage(source);
            changed = true;
          }
        setStage(&op, stage);
      }
    }
    for (Operation &op : ops()) {
      if (free.contains(&op) || !isBackward(&op))
        continue;
      int64_t stage = getFirstStage(op);
      for (Value operand : op.getOperands())
        if (Operation *source = operand.getDefiningOp(); source && isBackward(source) && !free.contains(source))
          stage = std::min(stage, getStage(source));
      setStage(&op, stage);
    }
  }

  /// A backward op may read a forward value of a later stage: what that stage's op takes from an earlier value, such as
  /// a slice of it, where both take the same. The backward's stage makes it itself.
  void repeatLaterValues() {
    llvm::DenseMap<std::pair<Value, int64_t>, Value> repeated;
    for (Operation &op : llvm::make_early_inc_range(ops()))
      if (!free.contains(&op) && isBackward(&op))
        for (OpOperand &operand : op.getOpOperands())
          if (isLater(operand.get(), getStage(&op)))
            operand.set(repeat(operand.get(), &op, repeated));
  }

  bool isLater(Value value, int64_t stage) const {
    Operation *source = value.getDefiningOp();
    return source && !free.contains(source) && !isBackward(source) && getStage(source) > stage;
  }

  /// Clones what makes `value` and is of a later stage than `user`, in front of it; once for each stage.
  Value repeat(Value value, Operation *user, llvm::DenseMap<std::pair<Value, int64_t>, Value> &repeated) const {
    int64_t stage = getStage(user);
    if (Value found = repeated.lookup({value, stage}))
      return found;
    Operation *source = value.getDefiningOp();
    IRMapping mapping;
    for (Value operand : source->getOperands())
      if (isLater(operand, stage))
        mapping.map(operand, repeat(operand, user, repeated));
    OpBuilder builder(user);
    Operation *clone = builder.clone(*source, mapping);
    clone->setAttr(nn::kBackwardAttr, builder.getUnitAttr());
    setStage(clone, stage);
    for (auto [old, fresh] : llvm::zip_equal(source->getResults(), clone->getResults()))
      repeated[{old, stage}] = fresh;
    return repeated.lookup({value, stage});
  }

  /// Says what each stage got: its first and last op and its share of the time, and what goes on to the next one.
  void addNotes(const StageProblem &problem, ArrayRef<int64_t> firsts) {
    std::vector<std::pair<Operation *, Operation *>> ends(stages);
    std::vector<int64_t> work(stages, 0);
    for (Operation &op : ops()) {
      if (free.contains(&op))
        continue;
      work[getStage(&op)] += times.get(&op);
      if (isBackward(&op))
        continue;
      auto &[first, last] = ends[getStage(&op)];
      first = first ? first : &op;
      last = &op;
    }
    double all = std::accumulate(work.begin(), work.end(), 0.0);
    Builder builder(function.getContext());
    auto module = function->getParentOfType<ModuleOp>();
    auto notes = module->getAttrOfType<ArrayAttr>("nn.notes");
    SmallVector<Attribute> lines(notes ? notes.getValue() : ArrayRef<Attribute>());
    auto hardware = builder.getStringAttr("hardware " + times.describeHardware());
    if (!llvm::is_contained(lines, hardware)) // of Sharding, which says it where it had to choose
      lines.push_back(hardware);
    for (int64_t stage = 0; stage < stages; ++stage) {
      std::string line = llvm::formatv("stage {0}: ", stage);
      if (auto [first, last] = ends[stage]; first)
        line += llvm::formatv("'{0}' to '{1}', ", getNodeName(first), getNodeName(last));
      line += llvm::formatv("estimated {0} a micro-batch, {1:f0}% of the work", describeTime(work[stage]),
                            all > 0 ? 100 * work[stage] / all : 0);
      if (stage + 1 < stages) {
        const CutPoint &cut = problem.cuts[firsts[stage + 1] - 1];
        line += llvm::formatv("; sends {0} value{1} to stage {2}, {3} with the gradients", cut.values,
                              cut.values == 1 ? "" : "s", stage + 1, describeTime(cut.cost));
      }
      lines.push_back(builder.getStringAttr(line));
    }
    module->setAttr("nn.notes", builder.getArrayAttr(lines));
  }

  func::FuncOp function;
  WorkTimes times;
  int64_t stages;
  llvm::DenseSet<Operation *> free;
  std::map<int64_t, int64_t> items; ///< origin to position
  int64_t count = 0;                ///< of positions
};

class CutStagesPass : public shardc::pipeline::impl::CutStagesPassBase<CutStagesPass> {
public:
  using CutStagesPassBase::CutStagesPassBase;

  void runOnOperation() override {
    const dist::Hardware *row = dist::findHardware(hardware);
    if (!row) {
      InFlightDiagnostic error = getOperation().emitError("hardware '") << hardware << "' is not in the built-in table";
      for (const dist::Hardware &known : dist::getHardwareTable())
        error.attachNote() << dist::describe(known);
      return signalPassFailure();
    }
    FailureOr<dist::MeshAttr> mesh = findMesh(getOperation());
    FailureOr<func::FuncOp> function = findFunction(getOperation(), kAccumulate);
    if (failed(mesh) || failed(function) || failed(Cutter(*function, *mesh, *row).run()))
      signalPassFailure();
  }
};

} // namespace
