//===-- MetricsFile.h - one JSON object a step --------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_METRICS_METRICSFILE_H
#define SHARDC_RUNTIME_METRICS_METRICSFILE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>

namespace shardc::rt {

/// The mean loss of a dataset.
struct EvaluationMetrics {
  double loss = 0;
  int64_t samples = 0;
};

/// What is known after a step. NaN where a plan does not compute a value.
struct StepMetrics {
  int64_t step = 0; // from 1: steps done
  double loss = 0;
  double gradientNorm = 0;
  double learningRate = 0;
  double samplesPerSecond = 0;
  double stepMilliseconds = 0;
  double lossWeight = 0;
  bool skipped = false;
  double lossScale = std::numeric_limits<double>::quiet_NaN(); // the line has none then
  std::optional<EvaluationMetrics> evaluation;                 // of the parameters that the step has left
};

/// `metrics.jsonl` in a folder, which is made if it is missing; an older file is replaced by the first line, not
/// before: a run that fails to start takes nothing away. Every line is on disk when its step is reported, so that a run
/// can be watched.
class MetricsFile {
public:
  static Result<MetricsFile> create(const std::string &folder);

  Status write(const StepMetrics &metrics);
  /// A line of step 0 with nothing but an evaluation: of a run that does not train.
  Status write(const EvaluationMetrics &evaluation);

private:
  Status writeLine(const std::string &line);
  Status cannotWrite() const;

  struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  std::string path;
  std::unique_ptr<std::FILE, Close> file;
  bool isOlder = true; // what the file holds is another run's
};

} // namespace shardc::rt

#endif
