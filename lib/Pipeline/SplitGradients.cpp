//===-- SplitGradients.cpp - the contributions of each stage to each gradient -------------------------------------===//

#include "SplitGradients.h"

#include <set>

using namespace mlir;
using namespace shardc;
using namespace shardc::pipeline;

namespace {

bool isGradientSum(Operation *op) { return op && op->hasAttr(nn::kGradientSumAttr); }

class Splitter {
public:
  explicit Splitter(func::FuncOp accumulate) : accumulate(accumulate) {}

  FailureOr<Results> run() {
    auto terminator = cast<func::ReturnOp>(accumulate.getBody().front().getTerminator());
    Results results;
    for (auto [index, value] : llvm::enumerate(terminator.getOperands()))
      if (failed(readResult(results, index, value)))
        return failure();
    if (!results.lossSum || !results.lossWeight)
      return accumulate.emitError("function '")
             << kAccumulate << "': expected results with '" << nn::kLossAttr << "' \"sum\" and \"weight\"";
    terminator->setOperands({});
    eraseUnused(results);
    return results;
  }

private:
  LogicalResult readResult(Results &results, unsigned index, Value value) {
    auto sharding = accumulate.getResultAttrOfType<dist::ShardingAttr>(index, dist::kShardingAttr);
    if (auto loss = accumulate.getResultAttrOfType<StringAttr>(index, nn::kLossAttr)) {
      bool sum = loss == "sum";
      (sum ? results.lossSum : results.lossWeight) = value;
      (sum ? results.lossSumSharding : results.lossWeightSharding) = sharding;
      return success();
    }
    auto parameter = accumulate.getResultAttrOfType<StringAttr>(index, nn::kGradientAttr);
    if (!parameter)
      return accumulate.emitError("function '")
             << kAccumulate << "': result " << index << " is neither a loss nor a gradient";
    results.gradients.push_back({parameter, sharding, splitValue(parameter, value)});
    return success();
  }

  std::map<int64_t, Value> splitValue(StringAttr parameter, Value value) {
    std::set<int64_t> users = findStagesOfUse(parameter);
    std::map<int64_t, Value> parts;
    SmallVector<Operation *> chain; // what stands behind the sum, last first
    Value source = value;
    while (Operation *op = source.getDefiningOp()) {
      if (isGradientSum(op) || op->getNumOperands() != 1 || op->getNumResults() != 1 || !isBackward(op))
        break;
      chain.push_back(op);
      source = op->getOperand(0);
    }
    SmallVector<Value> summands;
    collectSummands(source, summands);
    if (std::set<int64_t> stages = findStages(summands); stages.size() > 1)
      parts = sumByStage(summands, chain, *stages.begin());
    else
      parts[findStage(value, users)] = value;
    for (int64_t stage : users)
      if (!parts.contains(stage))
        parts[stage] = createZeros(value);
    return parts;
  }

  /// The stages whose ops read the parameter.
  std::set<int64_t> findStagesOfUse(StringAttr parameter) {
    std::set<int64_t> stages;
    for (BlockArgument argument : accumulate.getArguments()) {
      auto attribute = accumulate.getArgAttrOfType<DictionaryAttr>(argument.getArgNumber(), nn::kParameterAttr);
      if (!attribute || attribute.get("name") != parameter)
        continue;
      for (Operation *user : argument.getUsers())
        if (getStage(user) >= 0)
          stages.insert(getStage(user));
    }
    return stages;
  }

  void collectSummands(Value value, SmallVector<Value> &summands) {
    Operation *op = value.getDefiningOp();
    if (!isGradientSum(op)) {
      summands.push_back(value);
      return;
    }
    for (Value operand : op->getOperands())
      collectSummands(operand, summands);
  }

  static std::set<int64_t> findStages(ArrayRef<Value> values) {
    std::set<int64_t> stages;
    for (Value value : values)
      if (Operation *op = value.getDefiningOp(); op && getStage(op) >= 0)
        stages.insert(getStage(op));
    return stages;
  }

  /// Where a gradient is computed; a constant one belongs to the parameter's first user.
  static int64_t findStage(Value value, const std::set<int64_t> &users) {
    Operation *op = value.getDefiningOp();
    if (op && getStage(op) >= 0)
      return getStage(op);
    return users.empty() ? 0 : *users.begin();
  }

  /// One sum a stage, in the order of the summands; summands without a stage go to `fallback`.
  std::map<int64_t, Value> sumByStage(ArrayRef<Value> summands, ArrayRef<Operation *> chain, int64_t fallback) {
    std::map<int64_t, Value> parts;
    for (Value summand : summands) {
      Operation *op = summand.getDefiningOp();
      int64_t stage = op && getStage(op) >= 0 ? getStage(op) : fallback;
      Value &part = parts[stage];
      part = part ? createSum(part, summand, stage) : summand;
    }
    for (auto &[stage, part] : parts)
      for (Operation *op : llvm::reverse(chain))
        part = cloneOnto(op, part, stage);
    return parts;
  }

  Value createSum(Value lhs, Value rhs, int64_t stage) {
    OpBuilder builder = createBuilderBehind({lhs, rhs});
    Operation *model = rhs.getDefiningOp() ? rhs.getDefiningOp() : lhs.getDefiningOp();
    Value sum = nn::AddOp::create(builder, model->getLoc(), lhs, rhs);
    nn::copyOrigin(model, sum.getDefiningOp());
    sum.getDefiningOp()->setAttr(nn::kGradientSumAttr, builder.getUnitAttr());
    sum.getDefiningOp()->setAttr(nn::kBackwardAttr, builder.getUnitAttr());
    if (auto sharding = dist::getSharding(rhs))
      dist::setSharding(sum, sharding);
    setStage(sum.getDefiningOp(), stage);
    return sum;
  }

  Value cloneOnto(Operation *op, Value operand, int64_t stage) {
    OpBuilder builder = createBuilderBehind({operand});
    IRMapping mapping;
    mapping.map(op->getOperand(0), operand);
    Operation *clone = builder.clone(*op, mapping);
    setStage(clone, stage);
    return clone->getResult(0);
  }

  /// Behind the later of the values' ops.
  OpBuilder createBuilderBehind(ArrayRef<Value> values) {
    Operation *last = nullptr;
    for (Value value : values)
      if (Operation *op = value.getDefiningOp(); op && (!last || last->isBeforeInBlock(op)))
        last = op;
    OpBuilder builder(accumulate.getContext());
    if (last)
      builder.setInsertionPointAfter(last);
    else
      builder.setInsertionPointToStart(&accumulate.getBody().front());
    return builder;
  }

  Value createZeros(Value like) {
    auto builder = OpBuilder::atBlockTerminator(&accumulate.getBody().front());
    auto type = cast<RankedTensorType>(like.getType());
    auto zeros = DenseElementsAttr::get(type, builder.getZeroAttr(type.getElementType()));
    Location loc = like.getDefiningOp() ? like.getLoc() : accumulate.getLoc();
    auto op = nn::ConstantOp::create(builder, loc, zeros);
    if (Operation *model = like.getDefiningOp())
      nn::copyOrigin(model, op);
    if (auto sharding = dist::getSharding(like))
      dist::setSharding(op, sharding);
    return op;
  }

  /// Erases what nothing reads any more, such as the sums over several stages.
  void eraseUnused(const Results &results) {
    llvm::DenseSet<Operation *> roots;
    auto keep = [&](Value value) { roots.insert(value.getDefiningOp()); };
    keep(results.lossSum);
    keep(results.lossWeight);
    for (const Gradient &gradient : results.gradients)
      for (const auto &[stage, part] : gradient.parts)
        keep(part);
    eraseUnusedOps(accumulate, [&](Operation *op) { return roots.contains(op); });
  }

  func::FuncOp accumulate;
};

} // namespace

FailureOr<Results> shardc::pipeline::splitGradients(func::FuncOp accumulate) { return Splitter(accumulate).run(); }
