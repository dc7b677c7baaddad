//===-- Factors.h - how the dimensions of an op hang together ----------------------------------------------------===//
//
// A *factor* of an op is a loop of its iteration space, seen from its operands and results: the rows of a product, its
// contracted dimension, the batch. Splitting a factor over a mesh axis splits every dimension that the factor appears
// in, and is all that splitting an op can mean. What kind of factor it is decides what a split costs:
//   Parallel    the factor is in the results: a split result, no communication
//   Reduction   the factor is in operands only: every rank has a summand (or candidate) of the result
//   Blocked     the op mixes elements along the dimension (a softmax axis): it must be whole on every rank
//
//===----------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_NN_FACTORS_H
#define SHARDC_DIALECTS_NN_FACTORS_H

#include "dialects/dist/Dist.h"

#include "llvm/ADT/SmallVector.h"

namespace shardc::nn {

enum class FactorKind { Parallel, Reduction, Blocked };

/// One factor: its size and, for each operand and result, the dimension that it is (-1: it does not appear there).
struct Factor {
  int64_t size;
  FactorKind kind;
  llvm::SmallVector<int> operandDims;
  llvm::SmallVector<int> resultDims;
  dist::ReductionKind reduction = dist::ReductionKind::Sum;
};

} // namespace shardc::nn

#endif
