//===-- SplitGradients.h - the contributions of each stage to each gradient ---------------------------------------===//
//
// A parameter that several stages use (a tied embedding) gets a contribution to its gradient from each of them.
// Autodiff added them up (`nn.gradient_sum`); in a pipeline each stage sums its own, and the update adds the stages'
// sums once.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_LIB_PIPELINE_SPLITGRADIENTS_H
#define SHARDC_LIB_PIPELINE_SPLITGRADIENTS_H

#include "StageGraph.h"

#include <map>

namespace shardc::pipeline {

/// The gradient of one parameter: `parts` has a value of @accumulate for each stage that uses the parameter (zeros
/// where the stage's use has no gradient), all of the sharding `sharding` (null where there is none).
struct Gradient {
  mlir::StringAttr parameter;
  dist::ShardingAttr sharding;
  std::map<int64_t, mlir::Value> parts;
};

/// What @accumulate returns, by stage. `lossSum` and `lossWeight` are S and W.
struct Results {
  mlir::Value lossSum;
  mlir::Value lossWeight;
  dist::ShardingAttr lossSumSharding;
  dist::ShardingAttr lossWeightSharding;
  llvm::SmallVector<Gradient> gradients;
};

/// Reads the results of @accumulate, which has stages, and empties its return. Sums over several stages are replaced by
/// one sum a stage, whatever else read them (a reshape, a collective) is cloned for each of them.
mlir::FailureOr<Results> splitGradients(mlir::func::FuncOp accumulate);

} // namespace shardc::pipeline

#endif
