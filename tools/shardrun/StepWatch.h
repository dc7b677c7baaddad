//===-- StepWatch.h - do steps change anything? -------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDRUN_STEPWATCH_H
#define SHARDC_TOOLS_SHARDRUN_STEPWATCH_H

#include "shardrt/shardrt.h"

#include <cstdint>
#include <string>

namespace shardc::shardrun {

/// Watches for steps that leave the parameters as they are: without a finite loss or gradient, or without a label that
/// counts. The first of a row is worth a warning; kMaxInARow in a row, or a run of nothing else, are a failure.
/// Gradients that overflow while the loss scale of fp16 comes down from above 1 are what the scale is for: of these a
/// run is told only if it has had nothing else.
class StepWatch {
public:
  static constexpr int64_t kMaxInARow = 10;

  /// Takes note of a step. Returns a `warning:` line, or none.
  std::string addStep(const shardrtStepMetrics &step);

  /// The lines of the error that ends training now; empty: it goes on.
  std::string failure() const;
  /// The lines of the error of a run that ends here; empty: it is none.
  std::string failureAtEnd() const;
  /// The lines of a warning for the end of a run that has succeeded, or none.
  std::string warningAtEnd() const;

private:
  std::string describe(const std::string &count) const;

  int64_t steps = 0, overflows = 0, useless = 0, inARow = 0;
  bool isUnlabelled = false; // the last useless step
};

} // namespace shardc::shardrun

#endif
