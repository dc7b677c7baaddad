//===-- LearningRate.cpp - learning-rate schedules ----------------------------------------------------------------===//

#include "runtime/executor/LearningRate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace shardc::rt {

double learningRate(const plan::Training &training, double base, int64_t step, int64_t steps) {
  int64_t warmup = training.warmup_steps();
  if (step < warmup)
    return base * static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (training.lr_schedule() != "cosine")
    return base;
  int64_t total = training.total_steps() > 0 ? training.total_steps() : steps;
  double length = static_cast<double>(std::max<int64_t>(total - warmup, 1));
  double progress = std::min(static_cast<double>(step - warmup) / length, 1.0);
  return 0.5 * base * (1.0 + std::cos(std::numbers::pi * progress));
}

} // namespace shardc::rt
