//===-- Factors.h - how the dimensions of an op hang together -----------------------------------------------------===//
//
// A *factor* of an op is a loop of its iteration space, seen from its operands and results: the rows of a product, its
// contracted dimension, the batch. It appears in a tensor as a part of a dimension: a dimension of size n, seen as
// n / (size · inner) blocks of `size` blocks of `inner` elements, has the factor in the middle. Most factors are whole
// dimensions (inner 1, size n); reshapes, slices, pads and concatenations have smaller ones: [b, s, 4·16] -> [b, s, 4,
// 16] has the factors b, s, 4 (inner 16 in the operand) and 16.
//
// Splitting a factor over a mesh axis splits every part that it appears in, and is all that splitting an op can mean.
// What kind of factor it is decides what a split costs:
//   Parallel    the factor is in the results (or made by the op): a split result, no communication
//   Reduction   the factor is in operands only: every rank has a summand (or candidate) of the result
//   Combined    the op's local form combines over the axis itself (a softmax): results are complete, at the price of
//               all-reducing getCombinedElements()
//   Blocked     the op mixes elements along it: it must be whole on every rank
//   Cut         the op picks from, or puts together, the blocks along it: nobody splits it anywhere
//
// A value may also be *partial* over an axis: a summand that is yet to be combined. Partial sums pass only through ops
// that are linear (getLinearOperands).
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_NN_FACTORS_H
#define SHARDC_DIALECTS_NN_FACTORS_H

#include "dialects/dist/Dist.h"

#include "llvm/ADT/SmallVector.h"

namespace shardc::nn {

enum class FactorKind { Parallel, Reduction, Combined, Blocked, Cut };

/// Where a factor is in one tensor; dim is -1 where it does not appear.
struct FactorPart {
  int dim = -1;
  int64_t inner = 1;

  explicit operator bool() const { return dim >= 0; }
};

/// One factor: its size and where it is in each operand and result.
struct Factor {
  int64_t size;
  FactorKind kind;
  llvm::SmallVector<FactorPart> operands;
  llvm::SmallVector<FactorPart> results;
  dist::ReductionKind reduction = dist::ReductionKind::Sum;
};

/// The factors of an op whose operands and results all have one shape; operands of rank 0 have none.
llvm::SmallVector<Factor> getElementwiseFactors(mlir::Operation *op);

/// Whether every element of `value` is zero by construction: such a value is also a partial sum.
bool isZeroTensor(mlir::Value value);

} // namespace shardc::nn

#endif
