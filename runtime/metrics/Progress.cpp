//===-- Progress.cpp - the line that tells how training goes ------------------------------------------------------===//

#include "runtime/metrics/Progress.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace shardc::rt {

std::string formatDuration(double seconds) {
  int64_t total = std::max<int64_t>(0, std::llround(seconds));
  if (total >= 3600)
    return fmt::format("{} h {:02} min", total / 3600, total / 60 % 60);
  if (total >= 60)
    return fmt::format("{} min {:02} s", total / 60, total % 60);
  return fmt::format("{} s", total);
}

Progress::Progress(std::FILE *stream, bool isTerminal, int64_t steps)
    : stream(stream), isTerminal(isTerminal), steps(steps) {}

bool Progress::isDue(int64_t step, double seconds) const {
  constexpr double patience = 10;
  constexpr int64_t lines = 20;
  int64_t every = std::max<int64_t>(1, steps / lines);
  return isTerminal || steps <= lines || step == 1 || step == steps || step % every == 0 ||
         seconds - lastSeconds >= patience;
}

void Progress::report(const StepMetrics &metrics, int64_t samples, double seconds) {
  if (!metrics.evaluation && !isDue(metrics.step, seconds))
    return;
  double left = seconds / static_cast<double>(metrics.step) * static_cast<double>(steps - metrics.step);
  double rate = static_cast<double>((metrics.step - lastStep) * samples) / (seconds - lastSeconds);
  lastStep = metrics.step;
  lastSeconds = seconds;
  double loss = std::isnan(metrics.loss) ? std::abs(metrics.loss) : metrics.loss; // the sign of a NaN means nothing
  std::string evaluated = metrics.evaluation ? fmt::format("  eval loss {:.6f}", metrics.evaluation->loss) : "";
  std::string line = fmt::format("step {}/{}  loss {:.6f}{}{}  {:.1f} samples/s  {} left", metrics.step, steps, loss,
                                 metrics.skipped ? " (skipped)" : "", evaluated, rate, formatDuration(left));
  line = isTerminal ? "\r\x1b[K" + line : line + "\n";
  std::fwrite(line.data(), 1, line.size(), stream); // a stream that takes no more must not end the training
  std::fflush(stream);
  lineIsOpen = isTerminal;
}

void Progress::finish() {
  if (lineIsOpen)
    std::fputc('\n', stream);
  std::fflush(stream);
  lineIsOpen = false;
}

} // namespace shardc::rt
