//===-- Progress.h - the line that tells how training goes
//---------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_METRICS_PROGRESS_H
#define SHARDC_RUNTIME_METRICS_PROGRESS_H

#include "runtime/metrics/MetricsFile.h"

#include <cstdio>
#include <string>

namespace shardc::rt {

/// "1 h 02 min", "3 min 20 s", "12 s"
std::string formatDuration(double seconds);

/// Prints step, loss, samples/s and time left. On a terminal one line is written over again; elsewhere every step of a
/// run of at most 20, and else about 20 lines, the first and the last step among them.
class Progress {
public:
  Progress(std::FILE *stream, bool isTerminal, int64_t steps);

  /// `seconds` since the first step began.
  void report(const StepMetrics &metrics, double seconds);
  /// Ends a line that is being written over.
  void finish();

private:
  bool isDue(int64_t step) const;

  std::FILE *stream;
  bool isTerminal;
  int64_t steps;
  bool lineIsOpen = false;
};

} // namespace shardc::rt

#endif
