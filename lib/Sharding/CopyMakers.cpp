//===-- CopyMakers.cpp - one maker of a number for each use -------------------------------------------------------===//

#include "lib/Sharding/CopyMakers.h"

#include "dialects/nn/NN.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace shardc;

namespace {

bool isMaker(Operation *op) {
  if (!isa<nn::ShardableOpInterface>(op) || op->getNumResults() != 1 || op->hasTrait<OpTrait::IsTerminator>())
    return false;
  if (cast<RankedTensorType>(op->getResult(0).getType()).getRank() == 0)
    return false;
  if (op->getNumOperands() == 0)
    return true;
  // Random numbers are dear, and the same in forward and backward because they are the same value.
  return isa<nn::FusibleOpInterface>(op) && op->getNumOperands() == 1 &&
         cast<RankedTensorType>(op->getOperand(0).getType()).getNumElements() == 1;
}

} // namespace

void shardc::sharding::copyMakers(func::FuncOp function) {
  SmallVector<Operation *> makers;
  for (Operation &op : function.getBody().front())
    if (isMaker(&op))
      makers.push_back(&op);
  // Users before what they use: copies of a broadcast are uses of its constant.
  for (Operation *op : llvm::reverse(makers)) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : op->getResult(0).getUses())
      uses.push_back(&use);
    if (uses.size() < 2)
      continue;
    // The first use in the list is the last one made.
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    for (OpOperand *use : ArrayRef(uses).drop_back()) {
      Operation *copy = builder.clone(*op);
      use->set(copy->getResult(0));
    }
  }
}

void shardc::sharding::mergeMakers(func::FuncOp function) {
  DenseMap<llvm::hash_code, SmallVector<Operation *>> seen;
  for (Operation &op : llvm::make_early_inc_range(function.getBody().front())) {
    if (!isMaker(&op))
      continue;
    auto hash =
        OperationEquivalence::computeHash(&op, OperationEquivalence::directHashValue,
                                          OperationEquivalence::ignoreHashValue, OperationEquivalence::IgnoreLocations);
    SmallVector<Operation *> &candidates = seen[hash];
    auto same = llvm::find_if(candidates, [&](Operation *other) {
      return OperationEquivalence::isEquivalentTo(&op, other, OperationEquivalence::exactValueMatch, nullptr,
                                                  OperationEquivalence::IgnoreLocations);
    });
    if (same == candidates.end()) {
      candidates.push_back(&op);
      continue;
    }
    op.getResult(0).replaceAllUsesWith((*same)->getResult(0));
    op.erase();
  }
}
