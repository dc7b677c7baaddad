//===-- Rewriting.cpp - small changes that several lowering passes make -------------------------------------------===//

#include "Rewriting.h"

using namespace mlir;
using namespace shardc;

void shardc::codegen::eraseUnusedOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

bool shardc::codegen::isView(Operation *op) { return isa<nn::TransposeOp, nn::ReshapeOp, nn::SliceOp>(op); }
