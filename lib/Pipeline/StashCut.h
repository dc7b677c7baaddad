//===-- StashCut.h - what a stage keeps, what it computes again ---------------------------------------------------===//
//
// The backward of a stage needs some forward values. Each of them is either kept, or computed again from kept ones;
// which is cheapest is a minimum vertex cut of the forward graph. Every value is a vertex whose capacity is its bytes.
// Values that cannot be computed again (products, inputs, what other stages sent) hang on the source, those that the
// backward reads on the sink, and a value that can be computed again comes after its operands. The vertices of the cut
// are stashed, what lies behind them is computed again. Parameters and free ops are always at hand and no vertices at
// all.
//
// Among cuts of equal bytes the one wins that repeats the fewest ops; views are not counted, and their sources are kept
// rather than they themselves, since a kept view would have to be written out.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_LIB_PIPELINE_STASHCUT_H
#define SHARDC_LIB_PIPELINE_STASHCUT_H

#include "StageGraph.h"

namespace shardc::pipeline {

/// What may be computed again, and what is kept at no cost.
struct RecomputeRules {
  std::function<bool(mlir::Operation *)> mayRepeat;
  llvm::DenseSet<mlir::Value> kept;
};

/// The forward ops of a stage of @accumulate that its backward must compute again; the other forward values that it
/// reads are stashed.
llvm::DenseSet<mlir::Operation *> chooseRecomputed(mlir::func::FuncOp accumulate, int64_t stage,
                                                   const RecomputeRules &rules);

} // namespace shardc::pipeline

#endif
