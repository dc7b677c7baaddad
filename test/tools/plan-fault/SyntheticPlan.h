//===-- SyntheticPlan.h - small plans made by hand, for tests of what reads plans ---------------------------------===//
//
// A model of one layer a stage, in the shape of what shardc makes: parameters and activations sharded over tp with
// all-reduces on stream 1, stashes with slots, messages in groups between the actions, gradients that are summed over
// micro-batches, a parameter tied between the first and the last stage, and an update with reductions over dp, over the
// tied stages, and over all ranks. The kernels do not exist: such a plan can be verified, not run.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_TEST_TOOLS_PLANFAULT_SYNTHETICPLAN_H
#define SHARDC_TEST_TOOLS_PLANFAULT_SYNTHETICPLAN_H

#include "runtime/format/plan.pb.h"

#include <string>

namespace shardc::rt::test {

struct SyntheticOptions {
  int dp = 2, pp = 2, tp = 2;
  int microBatches = 4;
  bool gpipe = false;
  bool tied = true;    // where pp > 1
  int repetitions = 1; // layers in a stage
};

plan::Plan makeSyntheticPlan(const SyntheticOptions &options = {});

} // namespace shardc::rt::test

#endif
