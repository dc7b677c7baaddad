//===-- ActivationProducts.cpp - what lies between two products of activations ------------------------------------===//

#include "ActivationProducts.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::pipeline;

namespace {

/// What the forward values of @accumulate depend on.
class Dependence {
public:
  explicit Dependence(ArrayRef<Operation *> ops) {
    for (Operation *op : ops) {
      bool onInput = llvm::any_of(op->getOperands(), [&](Value operand) { return isActivation(operand); });
      bool onParameter = llvm::any_of(op->getOperands(), [&](Value operand) { return isFromParameters(operand); });
      for (Value result : op->getResults())
        if (onInput)
          activations.insert(result);
        else if (onParameter)
          fromParameters.insert(result);
    }
  }

  bool isActivation(Value value) const {
    return activations.contains(value) || (isa<BlockArgument>(value) && !isParameter(value));
  }
  bool isFromParameters(Value value) const { return fromParameters.contains(value) || isParameter(value); }

private:
  llvm::DenseSet<Value> activations;
  llvm::DenseSet<Value> fromParameters;
};

} // namespace

llvm::DenseSet<Operation *> shardc::pipeline::findBetweenActivationProducts(func::FuncOp accumulate) {
  SmallVector<Operation *> ops;
  for (Operation &op : accumulate.getBody().front().without_terminator())
    if (getStage(&op) >= 0 && !isBackward(&op))
      ops.push_back(&op);
  Dependence dependence(ops);
  auto isActivationProduct = [&](Operation *op) {
    auto dot = dyn_cast<nn::DotGeneralOp>(op);
    return dot && !dot.getLhsBatch().empty() && dependence.isActivation(dot.getLhs()) &&
           dependence.isActivation(dot.getRhs());
  };
  auto isBarrier = [&](Operation *op) {
    return isCollective(op) || (!isCheap(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
             return dependence.isFromParameters(operand);
           }));
  };

  llvm::DenseSet<Operation *> behindProduct; // and products themselves
  for (Operation *op : ops)
    if (isActivationProduct(op) || (!isBarrier(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
          return behindProduct.contains(operand.getDefiningOp());
        })))
      behindProduct.insert(op);

  llvm::DenseSet<Operation *> beforeProduct;
  for (Operation *op : llvm::reverse(ops))
    if (!isBarrier(op) && llvm::any_of(op->getUsers(), [&](Operation *user) {
          return !isBackward(user) && (isActivationProduct(user) || beforeProduct.contains(user));
        }))
      beforeProduct.insert(op);

  llvm::DenseSet<Operation *> between;
  for (Operation *op : ops)
    if (behindProduct.contains(op) && beforeProduct.contains(op))
      between.insert(op);
  return between;
}
