//===-- ActivationProducts.h - what lies between two products of activations --------------------------------------===//
#ifndef SHARDC_LIB_PIPELINE_ACTIVATIONPRODUCTS_H
#define SHARDC_LIB_PIPELINE_ACTIVATIONPRODUCTS_H

#include "StageGraph.h"

namespace shardc::pipeline {

/// The forward ops that selective recomputation may repeat (Korthikanti et al. 2022, §5): those between two batched
/// products of two activations, and the first of the two: QKᵀ, the scores' mask and softmax, their dropout, but not the
/// product with V. Paths through a collective, or through a product, gather or norm with a parameter, do not count.
llvm::DenseSet<mlir::Operation *> findBetweenActivationProducts(mlir::func::FuncOp accumulate);

} // namespace shardc::pipeline

#endif
