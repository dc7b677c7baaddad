//===-- Faults.cpp - faults of a compiler, on purpose -------------------------------------------------------------===//

#include "Faults.h"

#include "dialects/exec/Exec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::test;
using driver::Emit;

namespace {

/// The all-reduces of a function over exactly one axis.
SmallVector<dist::AllReduceOp> findAllReduces(func::FuncOp function, StringRef axis) {
  SmallVector<dist::AllReduceOp> found;
  function.walk([&](dist::AllReduceOp op) {
    if (op.getAxes().size() == 1 && cast<StringAttr>(op.getAxes()[0]) == axis)
      found.push_back(op);
  });
  return found;
}

void drop(dist::AllReduceOp op) {
  op.getResult().replaceAllUsesWith(op.getInput());
  op.erase();
}

/// The i-th result of a function, multiplied by `factor`.
void scaleResult(func::FuncOp function, unsigned index, double factor) {
  Operation *terminator = function.getBody().front().getTerminator();
  Value value = terminator->getOperand(index);
  auto type = cast<RankedTensorType>(value.getType());
  OpBuilder builder(terminator);
  auto splat = DenseElementsAttr::get(type, builder.getFloatAttr(type.getElementType(), factor));
  auto constant = nn::ConstantOp::create(builder, value.getLoc(), splat);
  auto scaled = nn::MulOp::create(builder, value.getLoc(), value, constant);
  for (Operation *op : {constant.getOperation(), scaled.getOperation()})
    nn::copyOrigin(value.getDefiningOp(), op);
  terminator->setOperand(index, scaled);
}

/// A gradient doubled on one axis: its reduction over dp happens twice.
LogicalResult reduceTwice(ModuleOp module) {
  auto update = module.lookupSymbol<func::FuncOp>("pp0_update");
  auto reductions = findAllReduces(update, "dp");
  if (reductions.empty())
    return failure();
  OpBuilder builder(reductions[0]);
  builder.setInsertionPointAfter(reductions[0]);
  Operation *again = builder.clone(*reductions[0]);
  reductions[0].getResult().replaceAllUsesExcept(again->getResult(0), again);
  again->setOperand(0, reductions[0].getResult());
  return success();
}

/// The weight of the loss divided by dp, as if every replica had the whole step's labels.
LogicalResult divideWeight(ModuleOp module) {
  auto accumulate = module.lookupSymbol<func::FuncOp>("accumulate");
  for (unsigned i = 0; i < accumulate.getNumResults(); ++i)
    if (auto loss = accumulate.getResultAttrOfType<StringAttr>(i, nn::kLossAttr); loss && loss == "weight") {
      scaleResult(accumulate, i, 0.5);
      return success();
    }
  return failure();
}

/// The gradient of a tied parameter added once: each stage keeps its own.
LogicalResult forgetTie(ModuleOp module) {
  bool isPlanted = false;
  for (auto function : module.getOps<func::FuncOp>())
    for (dist::AllReduceOp op : findAllReduces(function, "pp"))
      if (op.getMembers()) {
        drop(op);
        isPlanted = true;
      }
  return success(isPlanted);
}

/// Weight decay twice on the parameter that is used most (the tied one): p · (1 − lr · decay) once more, with the
/// defaults lr 1e-3 and decay 0.01.
LogicalResult decayTwice(ModuleOp module) {
  auto accumulate = module.lookupSymbol<func::FuncOp>("accumulate");
  StringAttr tied;
  size_t most = 1;
  for (BlockArgument argument : accumulate.getArguments())
    if (auto parameter = accumulate.getArgAttrOfType<DictionaryAttr>(argument.getArgNumber(), nn::kParameterAttr))
      if (size_t uses = llvm::range_size(argument.getUses()); uses > most) {
        most = uses;
        tied = parameter.getAs<StringAttr>("name");
      }
  auto update = module.lookupSymbol<func::FuncOp>("update");
  for (unsigned i = 0; i < update.getNumResults(); ++i)
    if (auto parameter = update.getResultAttrOfType<DictionaryAttr>(i, nn::kParameterAttr);
        parameter && tied && parameter.getAs<StringAttr>("name") == tied) {
      scaleResult(update, i, 1 - 1e-3 * 0.01);
      return success();
    }
  return failure();
}

/// The first or last all-reduce over tp of a direction left out.
LogicalResult leaveOut(ModuleOp module, bool isBackward) {
  auto accumulate = module.lookupSymbol<func::FuncOp>("accumulate");
  for (dist::AllReduceOp op : findAllReduces(accumulate, "tp"))
    if (op->hasAttr(nn::kBackwardAttr) == isBackward && op.getKind() == dist::ReductionKind::Sum) {
      drop(op);
      return success();
    }
  return failure();
}
LogicalResult leaveOutForward(ModuleOp module) { return leaveOut(module, false); }
LogicalResult leaveOutBackward(ModuleOp module) { return leaveOut(module, true); }

/// Replaces the first entry of a schedule for which `change` returns another one.
LogicalResult changeEntry(exec::ProgramOp program, llvm::function_ref<exec::EntryAttr(exec::EntryAttr)> change) {
  SmallVector<Attribute> entries(program.getSchedule()->getValue());
  for (Attribute &entry : entries)
    if (exec::EntryAttr changed = change(cast<exec::EntryAttr>(entry)); changed && changed != entry) {
      entry = changed;
      program.setScheduleAttr(ArrayAttr::get(program.getContext(), entries));
      return success();
    }
  return failure();
}

exec::ProgramOp getFirstProgram(ModuleOp module) { return *module.getOps<exec::ProgramOp>().begin(); }

/// A backward reads the stash slot of another micro-batch.
LogicalResult staleSlot(ModuleOp module) {
  return changeEntry(getFirstProgram(module), [](exec::EntryAttr entry) {
    if (entry.getBlock().getValue() != "backward" || entry.getRegisters()[1] == 0)
      return exec::EntryAttr();
    return exec::EntryAttr::get(entry.getContext(), entry.getBlock(), {entry.getRegisters()[0], 0});
  });
}

/// The first micro-batch adds to what the step before left behind.
LogicalResult accumulateFirst(ModuleOp module) {
  return changeEntry(getFirstProgram(module), [](exec::EntryAttr entry) {
    if (entry.getBlock().getValue() != "backward_first")
      return exec::EntryAttr();
    auto block = FlatSymbolRefAttr::get(entry.getContext(), "backward");
    return exec::EntryAttr::get(entry.getContext(), block, entry.getRegisters());
  });
}

/// A group that sends forward and receives backward does it the wrong way round: messages of equal size change places.
LogicalResult swapMessages(ModuleOp module) {
  for (auto program : module.getOps<exec::ProgramOp>())
    for (auto block : program.getBody().getOps<exec::BlockOp>())
      for (auto group : block.getBody().getOps<exec::GroupOp>()) {
        auto sends = llvm::to_vector(group.getBody().getOps<exec::SendOp>());
        auto receives = llvm::to_vector(group.getBody().getOps<exec::RecvOp>());
        if (sends.size() != 1 || receives.size() != 1)
          continue;
        StringAttr sent = sends[0].getIdentityAttr();
        sends[0].setIdentityAttr(receives[0].getIdentityAttr());
        receives[0].setIdentityAttr(sent);
        exec::ActionKind direction = sends[0].getDirection();
        sends[0].setDirection(receives[0].getDirection());
        receives[0].setDirection(direction);
        return success();
      }
  return failure();
}

/// A collective does not wait for what computes its input.
LogicalResult missEvent(ModuleOp module) {
  for (auto program : module.getOps<exec::ProgramOp>())
    for (auto block : program.getBody().getOps<exec::BlockOp>())
      for (auto collective : block.getBody().getOps<exec::CollectiveOp>())
        if (collective->hasAttr(exec::kWaitsAttr)) {
          collective->removeAttr(exec::kWaitsAttr);
          return success();
        }
  return failure();
}

/// What a phase must hand on is missing: no plan can be made.
LogicalResult forgetParameters(ModuleOp module) { return success(module->removeAttr("nn.parameters") != nullptr); }

constexpr Fault kFaults[] = {
    {"loss-weight-divided-by-dp", Emit::NN, divideWeight},
    {"decay-twice-on-tied", Emit::NN, decayTwice},
    {"left-out-all-reduce-forward", Emit::Sharded, leaveOutForward},
    {"left-out-all-reduce-backward", Emit::Sharded, leaveOutBackward},
    {"gradient-reduced-twice", Emit::Pipelined, reduceTwice},
    {"tied-gradient-added-once", Emit::Pipelined, forgetTie},
    {"stale-slot", Emit::Exec, staleSlot},
    {"accumulate-on-first-micro-batch", Emit::Exec, accumulateFirst},
    {"swapped-messages", Emit::Exec, swapMessages},
    {"missing-event", Emit::Exec, missEvent},
    {"forgotten-parameters", Emit::Exec, forgetParameters},
};

} // namespace

llvm::ArrayRef<Fault> shardc::test::getFaults() { return kFaults; }
