//===-- WidenGradients.cpp - gradients of parameters keep what products summed ------------------------------------===//

#include "dialects/nn/Builders.h"
#include "shardc/Autodiff/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::autodiff {
#define GEN_PASS_DEF_WIDENGRADIENTSPASS
#include "shardc/Autodiff/Passes.h.inc"
} // namespace shardc::autodiff

using namespace mlir;
using namespace shardc;
using namespace shardc::autodiff;

namespace {

/// Ops that only name or place elements anew.
bool isMovement(Operation *op) { return isa<nn::TransposeOp, nn::ReshapeOp, nn::SliceOp, nn::ConcatOp, nn::PadOp>(op); }

/// Whether nothing but products, views and sums of them makes up a low value, each used once.
bool canWiden(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !op->hasOneUse())
    return false;
  if (isa<nn::DotGeneralOp>(op))
    return true;
  return (isMovement(op) || isa<nn::AddOp>(op)) && llvm::all_of(op->getOperands(), canWiden);
}

/// Gives the ops that make up `value` f32 results.
void widen(Value value) {
  Operation *op = value.getDefiningOp();
  Type f32 = Float32Type::get(op->getContext());
  value.setType(nn::getTensorType(value).clone(f32));
  if (isa<nn::DotGeneralOp>(op))
    return;
  for (Value operand : op->getOperands())
    widen(operand);
  if (auto pad = dyn_cast<nn::PadOp>(op))
    pad.setValueAttr(nn::getScalarAttr(f32, cast<FloatAttr>(pad.getValue()).getValueAsDouble()));
  if (isa<nn::AddOp>(op))
    op->setAttr(nn::kGradientSumAttr, UnitAttr::get(op->getContext()));
}

/// The f32 value that `convert`, from low to f32, would give without rounding; null where something else is rounded.
Value findUnrounded(nn::ConvertOp convert) {
  Value value = convert.getInput();
  if (canWiden(value)) {
    widen(value);
    return value;
  }
  auto rounding = value.getDefiningOp<nn::ConvertOp>();
  bool isSum = rounding && rounding->hasOneUse() && rounding->hasAttr(nn::kBackwardAttr) &&
               isa_and_present<nn::AddOp>(rounding.getInput().getDefiningOp());
  return isSum ? rounding.getInput() : Value();
}

/// Follows sums and views from a gradient to the casts that end its low part.
void visitGradient(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !op->hasAttr(nn::kBackwardAttr) || !nn::getTensorType(value).getElementType().isF32())
    return;
  auto convert = dyn_cast<nn::ConvertOp>(op);
  if (convert && nn::isLowPrecision(nn::getTensorType(convert.getInput()).getElementType())) {
    Value unrounded = findUnrounded(convert);
    if (!unrounded)
      return;
    Operation *rounding = convert.getInput().getDefiningOp();
    value.replaceAllUsesWith(unrounded);
    convert.erase();
    if (isa<nn::ConvertOp>(rounding))
      rounding->erase();
    return visitGradient(unrounded);
  }
  if (isa<nn::AddOp>(op))
    op->setAttr(nn::kGradientSumAttr, UnitAttr::get(op->getContext()));
  if (isMovement(op) || isa<nn::AddOp>(op))
    for (Value operand : SmallVector<Value>(op->getOperands()))
      visitGradient(operand);
}

struct WidenGradientsPass : autodiff::impl::WidenGradientsPassBase<WidenGradientsPass> {
  using WidenGradientsPassBase::WidenGradientsPassBase;

  void runOnOperation() override {
    auto accumulate = getOperation().lookupSymbol<func::FuncOp>("accumulate");
    if (!accumulate || !accumulate.getBody().hasOneBlock()) {
      getOperation().emitError("has no function '@accumulate' of one block");
      return signalPassFailure();
    }
    for (unsigned index = 0; index < accumulate.getNumResults(); ++index)
      if (accumulate.getResultAttr(index, nn::kGradientAttr))
        visitGradient(accumulate.getBody().front().getTerminator()->getOperand(index));
  }
};

} // namespace
