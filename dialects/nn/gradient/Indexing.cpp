//===-- Indexing.cpp - cotangents of gather and scatter_add, which are each other's -------------------------------===//

#include "dialects/nn/NN.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::nn;

SmallVector<Value> GatherOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> needed) {
  if (!needed[0])
    return {Value(), Value()};
  return {ScatterAddOp::create(builder, getLoc(), getOperand().getType(), getIndices(), cotangents[0], getAxis()),
          Value()};
}

SmallVector<Value> ScatterAddOp::buildCotangents(OpBuilder &builder, ArrayRef<Value> cotangents,
                                                 ArrayRef<bool> needed) {
  if (!needed[1])
    return {Value(), Value()};
  return {Value(), GatherOp::create(builder, getLoc(), cotangents[0], getIndices(), getAxis())};
}
