//===-- Progress.h - the line that tells how training goes --------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_METRICS_PROGRESS_H
#define SHARDC_RUNTIME_METRICS_PROGRESS_H

#include "runtime/metrics/MetricsFile.h"

#include <cstdio>
#include <string>

namespace shardc::rt {

/// "1 h 02 min", "3 min 20 s", "12 s"
std::string formatDuration(double seconds);

/// Prints step, loss, samples/s and time left. On a terminal one line is written over again; elsewhere every step of a
/// run of at most 20, and else about 20 lines, the first and the last step among them, and more where one would have
/// to wait longer than 10 s for the next or a step is evaluated.
class Progress {
public:
  Progress(std::FILE *stream, bool isTerminal, int64_t steps);

  /// `samples` of a step; `seconds` since the first step began. The rate printed is the mean since the last line.
  void report(const StepMetrics &metrics, int64_t samples, double seconds);
  /// Ends a line that is being written over.
  void finish();

private:
  bool isDue(int64_t step, double seconds) const;

  std::FILE *stream;
  bool isTerminal;
  int64_t steps;
  bool lineIsOpen = false;
  int64_t lastStep = 0;
  double lastSeconds = 0;
};

} // namespace shardc::rt

#endif
