//===-- LowerPrecision.cpp - casts of mixed precision -------------------------------------------------------------===//
//
// A value v that is stored low is rounded where it is defined: l = convert(v) in the low type. Products and views read
// l; every other user reads convert(l) in f32, a cast of its own, which belongs to the stage of the user: what crosses
// from one stage to another is l. So all arithmetic stays in f32, between roundings that are spelled out.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Precision.h"

#include "dialects/nn/Builders.h"
#include "shardc/Autodiff/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace shardc::autodiff {
#define GEN_PASS_DEF_LOWERPRECISIONPASS
#include "shardc/Autodiff/Passes.h.inc"
} // namespace shardc::autodiff

using namespace mlir;
using namespace shardc;
using namespace shardc::autodiff;

namespace {

bool isF32Tensor(Value value) { return nn::getTensorType(value).getElementType().isF32(); }

/// Ops that only name or place elements anew.
bool isMovement(Operation *op) { return isa<nn::TransposeOp, nn::ReshapeOp, nn::SliceOp, nn::ConcatOp, nn::PadOp>(op); }

class PrecisionLowering {
public:
  PrecisionLowering(func::FuncOp function, Type low)
      : block(function.getBody().front()), low(low), builder(function.getContext()) {
    for (BlockArgument argument : block.getArguments())
      if (!function.getArgAttr(argument.getArgNumber(), nn::kParameterAttr))
        activations.insert(argument);
    for (Operation &op : block.without_terminator())
      if (llvm::any_of(op.getOperands(), [&](Value operand) { return activations.contains(operand); }))
        activations.insert_range(op.getResults());
  }

  void run() {
    SmallVector<Operation *> ops;
    for (Operation &op : block.without_terminator())
      ops.push_back(&op);
    for (Operation *op : ops)
      lower(op);
    for (auto &[value, lowValue] : lowOf)
      widenUses(value, lowValue);
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
  }

private:
  void lower(Operation *op) {
    if (op->getNumResults() == 0 || !isF32Tensor(op->getResult(0)))
      return;
    if (auto dot = dyn_cast<nn::DotGeneralOp>(op))
      return lowerProduct(dot);
    if (isMovement(op) && llvm::all_of(op->getOperands(), [&](Value operand) { return lowOf.contains(operand); }))
      return lowerMovement(op);
    if (isStoredLow(op))
      round(op->getResult(0));
  }

  //===-- Which values are low ------------------------------------------------------------------------------------===//

  bool isStoredLow(Operation *op) {
    Value value = op->getResult(0);
    if (!activations.contains(value) || nn::getTensorType(value).getRank() == 0)
      return false;
    return isa<nn::NormOp, nn::SoftmaxOp, nn::GatherOp>(op) || isResidual(op) || feedsProductOrNorm(value);
  }

  /// A sum of two activations with several uses.
  bool isResidual(Operation *op) {
    return isa<nn::AddOp>(op) && !op->hasOneUse() &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return activations.contains(operand); });
  }

  bool feedsProductOrNorm(Value value) {
    return llvm::any_of(value.getUses(), [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (isMovement(user))
        return feedsProductOrNorm(user->getResult(0));
      return isa<nn::DotGeneralOp>(user) || (isa<nn::NormOp>(user) && use.getOperandNumber() == 0);
    });
  }

  //===-- Casts ---------------------------------------------------------------------------------------------------===//

  Value mark(Operation *origin, Value value) {
    nn::copyOrigin(origin, value.getDefiningOp());
    return value;
  }

  /// Rounds a value for all its uses.
  void round(Value value) {
    Operation *op = value.getDefiningOp();
    builder.setInsertionPointAfter(op);
    lowOf[value] = mark(op, nn::TensorBuilder(builder, op->getLoc()).convert(value, low));
  }

  /// Gives the users of `value` that are not low themselves the f32 numbers of `lowValue`.
  void widenUses(Value value, Value lowValue) {
    llvm::SmallSetVector<Operation *, 4> users;
    for (Operation *user : value.getUsers())
      if (user != lowValue.getDefiningOp() && !replaced.contains(user))
        users.insert(user);
    for (Operation *user : users) {
      builder.setInsertionPoint(user);
      Operation *origin = user->hasTrait<OpTrait::IsTerminator>() ? lowValue.getDefiningOp() : user;
      nn::TensorBuilder build(builder, origin->getLoc());
      user->replaceUsesOfWith(value, mark(origin, build.convert(lowValue, builder.getF32Type())));
    }
  }

  /// `value` in the low type, for `user`. Of parameters the views are taken of the cast parameter.
  Value getLow(Value value, Operation *user) {
    if (Value known = lowOf.lookup(value))
      return known;
    nn::TensorBuilder build(builder, user->getLoc());
    Operation *op = value.getDefiningOp();
    if (!op || !isa<nn::TransposeOp, nn::ReshapeOp, nn::SliceOp>(op))
      return mark(user, build.convert(value, low));
    Value operand = getLow(op->getOperand(0), user);
    return cloneLow(op, operand, user);
  }

  /// The movement `op` of low operands, which belongs to `origin`.
  Value cloneLow(Operation *op, ValueRange operands, Operation *origin) {
    OperationState state(op->getLoc(), op->getName(), operands, nn::getTensorType(op->getResult(0)).clone(low),
                         op->getAttrs());
    Operation *copy = builder.create(state);
    if (auto pad = dyn_cast<nn::PadOp>(copy))
      pad.setValueAttr(nn::getScalarAttr(low, cast<FloatAttr>(pad.getValue()).getValueAsDouble()));
    nn::copyOrigin(origin, copy);
    copy->setLoc(op->getLoc());
    return copy->getResult(0);
  }

  void replace(Operation *op, Value lowResult) {
    lowOf[op->getResult(0)] = lowResult;
    replaced.insert(op);
  }

  void lowerMovement(Operation *op) {
    builder.setInsertionPoint(op);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(lowOf.lookup(operand));
    replace(op, cloneLow(op, operands, op));
  }

  void lowerProduct(nn::DotGeneralOp dot) {
    builder.setInsertionPoint(dot);
    nn::TensorBuilder build(builder, dot.getLoc());
    Value lhs = getLow(dot.getLhs(), dot), rhs = getLow(dot.getRhs(), dot);
    Value product =
        build.dot(lhs, rhs, dot.getLhsBatch(), dot.getRhsBatch(), dot.getLhsContract(), dot.getRhsContract());
    replace(dot, mark(dot, product));
  }

  Block &block;
  Type low;
  OpBuilder builder;
  llvm::DenseSet<Value> activations; // what depends on an input
  llvm::MapVector<Value, Value> lowOf;
  llvm::SetVector<Operation *> replaced; // by ops on low values
};

struct LowerPrecisionPass : autodiff::impl::LowerPrecisionPassBase<LowerPrecisionPass> {
  using LowerPrecisionPassBase::LowerPrecisionPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<Precision> precision = Precision::read(module);
    if (failed(precision))
      return signalPassFailure();
    if (!precision->low)
      return;
    auto function = module.lookupSymbol<func::FuncOp>("forward");
    if (!function || !function.getBody().hasOneBlock()) {
      module.emitError("has no function '@forward' of one block");
      return signalPassFailure();
    }
    assignOrigins(function.getBody().front());
    PrecisionLowering(function, precision->low).run();
  }
};

} // namespace
