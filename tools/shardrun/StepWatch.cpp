//===-- StepWatch.cpp - do steps change anything? -----------------------------------------------------------------===//

#include "tools/shardrun/StepWatch.h"

#include <cmath>
#include <fmt/format.h>

namespace shardc::shardrun {
namespace {

const char *reasonFor(bool isUnlabelled) {
  return isUnlabelled ? "every label of its batch is ignored" : "its loss or gradients are not finite";
}

} // namespace

std::string StepWatch::addStep(const shardrtStepMetrics &step) {
  ++steps;
  bool isFinite = std::isfinite(step.loss);
  bool isScaling = isFinite && step.lossScale > 1;
  bool hasLabels = step.lossWeight != 0;
  if (!step.skipped || (hasLabels && isScaling)) {
    overflows += step.skipped ? 1 : 0;
    inARow = 0;
    return {};
  }
  isUnlabelled = !hasLabels;
  ++useless;
  if (++inARow > 1)
    return {};
  return fmt::format("warning: step {} changed nothing: {}\n", step.step, reasonFor(isUnlabelled));
}

std::string StepWatch::describe(const std::string &count) const {
  const char *remedy = isUnlabelled
                           ? "look at the labels: all of them have the value that the model ignores"
                           : "look for NaN and infinity in data and weights (--check-nan helps), or try a smaller --lr";
  return fmt::format("error: {} changed nothing, the last because {} [run-skipped]\nnote: {}\n", count,
                     reasonFor(isUnlabelled), remedy);
}

std::string StepWatch::failure() const {
  return inARow >= kMaxInARow ? describe(fmt::format("{} steps in a row", kMaxInARow)) : std::string();
}

std::string StepWatch::warningAtEnd() const {
  if (overflows == 0 || overflows + useless < steps)
    return {};
  return "warning: no step has changed anything yet: gradients overflow, and the loss scale is still coming down\n"
         "note: run more steps, or compile with a smaller --loss-scale-init\n";
}

std::string StepWatch::failureAtEnd() const {
  if (steps == 0 || useless < steps)
    return {};
  return describe(steps == 1 ? "the only step" : fmt::format("all {} steps", steps));
}

} // namespace shardc::shardrun
