//===-- Partition.cpp - makes types local and inserts collectives -------------------------------------------------===//

#include "dialects/nn/sharding/Reshard.h"
#include "lib/Sharding/CopyMakers.h"
#include "lib/Sharding/Notes.h"
#include "shardc/Sharding/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace shardc::sharding {
#define GEN_PASS_DEF_PARTITIONPASS
#include "shardc/Sharding/Passes.h.inc"
} // namespace shardc::sharding

using namespace mlir;
using namespace shardc;
using namespace shardc::sharding;

namespace {

/// Rewrites one function, op by op, into a new block.
class FunctionPartition {
public:
  FunctionPartition(func::FuncOp function, dist::MeshAttr mesh)
      : function(function), mesh(mesh), builder(function.getContext()) {}

  LogicalResult run() {
    Block *old = &function.getBody().front();
    if (failed(checkAnnotations(*old)))
      return failure();
    collectDemands(*old);
    local = new Block();
    function.getBody().push_back(local);
    builder.setInsertionPointToEnd(local);
    for (BlockArgument argument : old->getArguments())
      locals[argument] = local->addArgument(getLocalType(argument), argument.getLoc());
    for (Operation &op : old->without_terminator())
      rewrite(&op);
    rewriteReturn(old->getTerminator());
    old->dropAllReferences();
    old->erase();
    mergeMakers(function);
    return success();
  }

private:
  /// The shardings in which consumers take a value; those of the function's results apart.
  struct Demands {
    SmallVector<dist::ShardingAttr> operands;
  };

  LogicalResult checkAnnotations(Block &block) {
    for (BlockArgument argument : block.getArguments())
      if (!dist::getSharding(argument))
        return function.emitError("argument ") << argument.getArgNumber() << " has no '" << dist::kShardingAttr << "'";
    for (Operation &op : block.without_terminator())
      if (!op.getAttrOfType<ArrayAttr>(dist::kShardingsAttr) || !isa<nn::ShardableOpInterface>(op))
        return op.emitError("expected a shardable op with '") << dist::kShardingsAttr << "'";
    for (unsigned result = 0; result < function.getNumResults(); ++result)
      if (!function.getResultAttrOfType<dist::ShardingAttr>(result, dist::kShardingAttr))
        return function.emitError("result ") << result << " has no '" << dist::kShardingAttr << "'";
    return success();
  }

  dist::ShardingAttr getOperandSharding(Operation *op, unsigned operand) {
    if (auto shardings = op->getAttrOfType<ArrayAttr>(dist::kOperandShardingsAttr))
      return nn::canonicalize(cast<dist::ShardingAttr>(shardings[operand]));
    return getSource(op->getOperand(operand));
  }

  dist::ShardingAttr getSource(Value value) { return nn::canonicalize(dist::getSharding(value)); }

  RankedTensorType getLocalType(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return RankedTensorType::get(dist::getSharding(value).getLocalShape(mesh), type.getElementType());
  }

  void collectDemands(Block &block) {
    for (Operation &op : block.without_terminator())
      for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
        SmallVector<dist::ShardingAttr> &list = demands[operand].operands;
        dist::ShardingAttr sharding = getOperandSharding(&op, index);
        if (!llvm::is_contained(list, sharding))
          list.push_back(sharding);
      }
  }

  /// `sharding` as it is when all that `target` combines is combined and nothing is split anew.
  static dist::ShardingAttr combine(dist::ShardingAttr sharding, dist::ShardingAttr target) {
    SmallVector<dist::PartialAttr> rest;
    for (dist::PartialAttr partial : sharding.getPartial())
      if (target.getPartial(partial.getAxis().getValue()))
        rest.push_back(partial);
    return dist::ShardingAttr::get(sharding.getContext(), sharding.getDims(), rest);
  }

  /// The local value at `target`, resharded (at the end of the block, on behalf of `owner`) if nobody did before.
  Value get(Value value, dist::ShardingAttr target, Operation *owner) {
    dist::ShardingAttr source = getSource(value);
    Value &copy = target == source ? locals[value] : copies[{value, target}];
    if (copy)
      return copy;
    Value from = locals.lookup(value);
    // Slices are taken from a whole copy where somebody wants one.
    SmallVector<dist::ShardingAttr> others = demands[value].operands;
    for (dist::ShardingAttr other : others)
      if (isReplicatedSplit(source, other, target)) {
        from = get(value, other, owner);
        break;
      }
    Operation *last = local->empty() ? nullptr : &local->back();
    Value made = nn::reshard(builder, owner->getLoc(), from, target);
    inherit(last, owner);
    return copies[{value, target}] = made;
  }

  /// Whether `target` is had from `other` by slicing only, and not so from `source`.
  static bool isReplicatedSplit(dist::ShardingAttr source, dist::ShardingAttr other, dist::ShardingAttr target) {
    bool better = false;
    for (dist::DimAttr dim : target.getDims())
      for (dist::SubDimAttr sub : dim.getSubDims())
        for (StringAttr axis : sub.getAxes())
          better |= !other.isSplitOver(axis) && !other.getPartial(axis) &&
                    (source.isSplitOver(axis) || source.getPartial(axis));
    return better && combine(other, target) == other;
  }

  /// Gives the ops after `last` the origin of `owner`, unless they have one.
  void inherit(Operation *last, Operation *owner) {
    for (Operation &op : llvm::make_range(last ? std::next(last->getIterator()) : local->begin(), local->end()))
      if (!op.hasAttr(nn::kOriginAttr))
        nn::copyOrigin(owner, &op);
  }

  void rewrite(Operation *op) {
    SmallVector<Value> operands;
    SmallVector<dist::ShardingAttr> shardings;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      dist::ShardingAttr wanted = getOperandSharding(op, index);
      // Zeros are a partial sum as they are.
      if (nn::isZeroTensor(operand))
        for (dist::PartialAttr partial : SmallVector<dist::PartialAttr>(wanted.getPartial()))
          if (!getSource(operand).getPartial(partial.getAxis().getValue()))
            wanted = wanted.withoutPartial(partial.getAxis().getValue());
      operands.push_back(get(operand, wanted, op));
      shardings.push_back(wanted);
    }
    SmallVector<Type> types;
    for (Value result : op->getResults()) {
      types.push_back(getLocalType(result));
      shardings.push_back(getSource(result));
    }
    Operation *last = local->empty() ? nullptr : &local->back();
    SmallVector<Value> results = cast<nn::ShardableOpInterface>(op).partition(builder, operands, types, shardings);
    inherit(last, op);
    for (auto [result, made] : llvm::zip_equal(op->getResults(), results)) {
      assert(made.getType() == getLocalType(result) && "a local form has the local type");
      made.getDefiningOp()->removeAttr(dist::kOperandShardingsAttr);
      dist::setSharding(made, getSource(result));
      locals[result] = made;
    }
    for (Value result : op->getResults())
      combinePartial(result, op);
  }

  /// Combines a partial result at once for all who take it complete.
  void combinePartial(Value result, Operation *op) {
    dist::ShardingAttr source = getSource(result);
    if (source.getPartial().empty())
      return;
    for (dist::ShardingAttr demand : demands[result].operands)
      if (dist::ShardingAttr combined = combine(source, demand); combined != source) {
        if (!llvm::is_contained(demands[result].operands, combined))
          demands[result].operands.push_back(combined);
        get(result, combined, op);
        break;
      }
    for (auto [index, value] : llvm::enumerate(op->getParentRegion()->front().getTerminator()->getOperands()))
      if (auto target = getResultSharding(index); value == result && combine(source, target) != source)
        get(result, target, op);
  }

  dist::ShardingAttr getResultSharding(unsigned index) {
    return nn::canonicalize(function.getResultAttrOfType<dist::ShardingAttr>(index, dist::kShardingAttr));
  }

  void rewriteReturn(Operation *terminator) {
    SmallVector<Value> operands;
    SmallVector<Type> types;
    for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
      Operation *owner = value.getDefiningOp() ? value.getDefiningOp() : terminator;
      operands.push_back(get(value, getResultSharding(index), owner));
      types.push_back(operands.back().getType());
    }
    func::ReturnOp::create(builder, terminator->getLoc(), operands);
    function.setFunctionType(FunctionType::get(function.getContext(), local->getArgumentTypes(), types));
  }

  func::FuncOp function;
  dist::MeshAttr mesh;
  OpBuilder builder;
  Block *local = nullptr;
  DenseMap<Value, Value> locals;
  DenseMap<std::pair<Value, dist::ShardingAttr>, Value> copies;
  DenseMap<Value, Demands> demands;
};

/// Whether any argument, result or op of the function has a sharding.
bool isAnnotated(func::FuncOp function) {
  for (unsigned index = 0; index < function.getNumArguments(); ++index)
    if (function.getArgAttr(index, dist::kShardingAttr))
      return true;
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    if (function.getResultAttr(index, dist::kShardingAttr))
      return true;
  return function
      .walk([](Operation *op) {
        return op->hasAttr(dist::kShardingsAttr) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

class PartitionPass : public sharding::impl::PartitionPassBase<PartitionPass> {
public:
  using PartitionPassBase::PartitionPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto mesh = module->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
    if (!mesh) {
      module.emitError("module has no '") << dist::kMeshAttr << "'";
      return signalPassFailure();
    }
    Notes notes(mesh);
    for (auto function : llvm::to_vector(module.getOps<func::FuncOp>())) {
      if (!isAnnotated(function))
        continue;
      if (failed(FunctionPartition(function, mesh).run()))
        return signalPassFailure();
      notes.addCollectives(function);
    }
    notes.append(module);
  }
};

} // namespace
