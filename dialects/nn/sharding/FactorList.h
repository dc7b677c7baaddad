//===-- FactorList.h - collects the factors of an op --------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_NN_SHARDING_FACTORLIST_H
#define SHARDC_DIALECTS_NN_SHARDING_FACTORLIST_H

#include "dialects/nn/NN.h"

namespace shardc::nn {

/// Builds factors one after another; those of size 1 are dropped.
class FactorList {
public:
  explicit FactorList(mlir::Operation *op) : op(op) {}

  /// Opens a factor that appears nowhere yet.
  FactorList &add(int64_t size, FactorKind kind, dist::ReductionKind reduction = dist::ReductionKind::Sum) {
    factors.push_back({size, kind, llvm::SmallVector<FactorPart>(op->getNumOperands()),
                       llvm::SmallVector<FactorPart>(op->getNumResults()), reduction});
    return *this;
  }
  /// The last factor is (part of) dimension `dim` of an operand or a result.
  FactorList &inOperand(unsigned operand, int64_t dim, int64_t inner = 1) {
    factors.back().operands[operand] = {static_cast<int>(dim), inner};
    return *this;
  }
  FactorList &inResult(int64_t dim, int64_t inner = 1, unsigned result = 0) {
    factors.back().results[result] = {static_cast<int>(dim), inner};
    return *this;
  }

  llvm::SmallVector<Factor> take() {
    llvm::erase_if(factors, [](const Factor &factor) { return factor.size <= 1; });
    return std::move(factors);
  }

private:
  mlir::Operation *op;
  llvm::SmallVector<Factor> factors;
};

} // namespace shardc::nn

#endif
