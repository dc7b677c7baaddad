//===-- LearningRate.h - learning-rate schedules ------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_EXECUTOR_LEARNINGRATE_H
#define SHARDC_RUNTIME_EXECUTOR_LEARNINGRATE_H

#include "runtime/format/plan.pb.h"

#include <cstdint>

namespace shardc::rt {

/// The learning rate of step `step` (from 0), computed in double. During the first warmup_steps it rises linearly,
/// base · (step + 1) / warmup_steps; then it stays (constant), or falls along half a cosine to 0 at total_steps.
/// Without total_steps the cosine ends with the run's `steps`.
double learningRate(const plan::Training &training, double base, int64_t step, int64_t steps);

} // namespace shardc::rt

#endif
