//===-- MetricsTest.cpp - the progress line and metrics.jsonl -----------------------------------------------------===//

#include "TinyPlan.h"
#include "runtime/base/File.h"
#include "runtime/metrics/MetricsFile.h"
#include "runtime/metrics/Progress.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

using namespace shardc;
using namespace shardc::rt;
using namespace shardc::rt::test;

namespace {

/// What Progress prints for a run whose steps take `secondsPerStep`.
std::string printProgress(const TemporaryFolder &folder, bool isTerminal, int64_t steps, double secondsPerStep) {
  std::FILE *stream = std::fopen(folder.file("progress").c_str(), "w");
  Progress progress(stream, isTerminal, steps);
  for (int64_t step = 1; step <= steps; ++step) {
    StepMetrics metrics;
    metrics.step = step;
    metrics.loss = 2;
    progress.report(metrics, 8, static_cast<double>(step) * secondsPerStep);
  }
  progress.finish();
  std::fclose(stream);
  return *readFile(folder.file("progress"));
}

int64_t countLines(const std::string &text) { return std::ranges::count(text, '\n'); }

} // namespace

TEST(Progress, PrintsEveryStepOfAShortRunAndAboutTwentyLinesOfALongOne) {
  TemporaryFolder folder;
  std::string text = printProgress(folder, false, 5, 0.5);
  EXPECT_EQ(countLines(text), 5);
  EXPECT_TRUE(text.starts_with("step 1/5  loss 2.000000  16.0 samples/s  2 s left\n")) << text;
  EXPECT_EQ(countLines(printProgress(folder, false, 1000, 0.001)), 21);
  EXPECT_EQ(countLines(printProgress(folder, false, 1000, 10)), 1000); // nobody waits longer than 10 s
}

TEST(Progress, WritesOneLineOverOnATerminal) {
  TemporaryFolder folder;
  std::string text = printProgress(folder, true, 1000, 0.001);
  EXPECT_EQ(countLines(text), 1);
  EXPECT_EQ(std::ranges::count(text, '\r'), 1000);
  EXPECT_TRUE(text.ends_with("0 s left\n"));
}

TEST(Progress, ALossThatIsNoNumberHasNoSign) {
  TemporaryFolder folder;
  std::FILE *stream = std::fopen(folder.file("progress").c_str(), "w");
  Progress progress(stream, false, 1);
  StepMetrics metrics;
  metrics.step = 1;
  metrics.loss = -NAN;
  progress.report(metrics, 1, 1);
  std::fclose(stream);
  EXPECT_TRUE(readFile(folder.file("progress"))->starts_with("step 1/1  loss nan  "));
}

TEST(Progress, FormatsDurations) {
  EXPECT_EQ(formatDuration(-1), "0 s");
  EXPECT_EQ(formatDuration(59.4), "59 s");
  EXPECT_EQ(formatDuration(61), "1 min 01 s");
  EXPECT_EQ(formatDuration(3725), "1 h 02 min");
}

TEST(MetricsFile, HasAnObjectAStep) {
  TemporaryFolder folder;
  auto file = MetricsFile::create(folder.file("a/b"));
  ASSERT_TRUE(file.isOk()) << file.status().render();
  StepMetrics metrics;
  metrics.step = 1;
  metrics.loss = 2.5;
  metrics.gradientNorm = NAN;
  ASSERT_TRUE(file->write(metrics).isOk());
  metrics.step = 2;
  metrics.skipped = true;
  ASSERT_TRUE(file->write(metrics).isOk());
  std::string text = *readFile(folder.file("a/b/metrics.jsonl"));
  ASSERT_EQ(countLines(text), 2);
  auto first = nlohmann::json::parse(text.substr(0, text.find('\n')));
  EXPECT_EQ(first["loss"], 2.5);
  EXPECT_TRUE(first["grad_norm"].is_null());
  for (const char *field : {"step", "lr", "samples_per_s", "step_ms", "loss_weight", "skipped"})
    EXPECT_TRUE(first.contains(field)) << field;
  EXPECT_EQ(nlohmann::json::parse(text.substr(text.find('\n') + 1))["skipped"], true);
  EXPECT_FALSE(MetricsFile::create("/proc/none").isOk());
}

TEST(MetricsFile, TheFirstLineReplacesAnOlderRun) {
  TemporaryFolder folder;
  StepMetrics metrics;
  for (int run = 0; run < 2; ++run) {
    auto file = MetricsFile::create(folder.path());
    ASSERT_TRUE(file.isOk());
    EXPECT_EQ(countLines(*readFile(folder.file("metrics.jsonl"))), 2 * run); // still there
    for (int step = 0; step < 2; ++step)
      ASSERT_TRUE(file->write(metrics).isOk());
    EXPECT_EQ(countLines(*readFile(folder.file("metrics.jsonl"))), 2);
  }
}
