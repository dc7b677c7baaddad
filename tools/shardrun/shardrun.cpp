//===-- shardrun.cpp - trains with a plan -------------------------------------------------------------------------===//

#include "runtime/metrics/MetricsFile.h"
#include "runtime/metrics/Progress.h"
#include "shardrt/shardrt.h"
#include "tools/shardrun/Options.h"

#include <chrono>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <unistd.h>

using namespace shardc;
using shardrun::Options;

namespace {

constexpr int kFailure = 1;
/// Of a process that ends on a signal, by the shell's convention: 128 + its number.
constexpr int kSignalled = 128;
/// After so many steps in a row that changed nothing, training has failed.
constexpr int64_t kMaxSkippedSteps = 10;

volatile std::sig_atomic_t stopRequested = 0;

/// The first signal asks for the end of the step; the next one ends the process.
void requestStop(int signal) {
  stopRequested = signal;
  std::signal(signal, SIG_DFL);
}

struct FreeHandle {
  void operator()(shardrtError *error) const { shardrtFreeError(error); }
  void operator()(shardrtPlan *plan) const { shardrtFreePlan(plan); }
  void operator()(shardrtData *data) const { shardrtFreeData(data); }
  void operator()(shardrtTrainer *trainer) const { shardrtFreeTrainer(trainer); }
};
template <typename T> using Handle = std::unique_ptr<T, FreeHandle>;

/// Prints an error, if there is one.
bool failed(shardrtError *error) {
  Handle<shardrtError> owned(error);
  if (error)
    fmt::print(stderr, "{}", shardrtGetErrorText(error));
  return error != nullptr;
}

bool failed(const rt::Status &status) {
  if (!status.isOk())
    fmt::print(stderr, "{}", status.render());
  return !status.isOk();
}

/// Puts what a function stores through its last argument into a handle.
template <typename T, typename Function, typename... Args>
bool obtain(Handle<T> &handle, Function function, Args... args) {
  T *made = nullptr;
  if (failed(function(args..., &made)))
    return false;
  handle.reset(made);
  return true;
}

class Run {
public:
  explicit Run(const Options &options) : options(options) {}

  int run() {
    if (!obtain(plan, shardrtLoadPlan, options.plan.c_str()) || !openData() || !openOutputs() || !createTrainer())
      return kFailure;
    describe();
    // Until here a signal ends the process at once: there is nothing to lose.
    std::signal(SIGINT, requestStop);
    std::signal(SIGTERM, requestStop);
    if (!train() || !dump())
      return kFailure;
    if (stopRequested)
      fmt::print(stderr, "stopped after step {}\n", stepsDone);
    return stopRequested ? kSignalled + stopRequested : 0;
  }

private:
  using Clock = std::chrono::steady_clock;

  bool openData() {
    if (!options.text.empty())
      return obtain(data, shardrtOpenText, plan.get(), options.text.c_str());
    if (options.synthetic)
      return obtain(data, shardrtMakeSynthetic, plan.get(), options.seed);
    std::vector<const char *> names, paths;
    for (const auto &[name, path] : options.arrays) {
      names.push_back(name.c_str());
      paths.push_back(path.c_str());
    }
    return obtain(data, shardrtOpenArrays, plan.get(), names.data(), paths.data(), names.size());
  }

  bool createTrainer() {
    shardrtTrainerOptions chosen;
    shardrtInitTrainerOptions(&chosen, sizeof(chosen));
    chosen.seed = options.seed;
    chosen.steps = options.steps;
    chosen.threadsPerRank = options.threadsPerRank;
    chosen.shuffles = !options.noShuffle;
    chosen.poisons = options.poison;
    chosen.checksFinite = options.checkNan;
    if (options.learningRate)
      chosen.learningRate = *options.learningRate;
    return obtain(trainer, shardrtCreateTrainer, plan.get(), data.get(), &chosen);
  }

  /// What is to be written must be writable before the first step, not after the last.
  bool openOutputs() {
    for (const std::string &path : {options.dumpGradients, options.dumpParameters})
      if (!path.empty() && failed(shardrtCheckWritable(path.c_str())))
        return false;
    if (options.logDir.empty())
      return true;
    auto created = rt::MetricsFile::create(options.logDir);
    if (failed(created.status()))
      return false;
    log = std::make_unique<rt::MetricsFile>(std::move(*created));
    return true;
  }

  void describe() {
    info.size = sizeof(info);
    if (failed(shardrtGetPlanInfo(plan.get(), &info)) || options.quiet)
      return;
    fmt::print("plan '{}': {} ranks, {} thread{} each, {} samples a step\n", options.plan, info.ranks,
               options.threadsPerRank, options.threadsPerRank == 1 ? "" : "s", info.globalBatch);
    for (int64_t rank = 0; rank < info.ranks; ++rank)
      fmt::print("  rank {}: arena {} bytes, {} bytes beside it for matrix products\n", rank,
                 shardrtGetArenaBytes(trainer.get(), rank), shardrtGetWorkspaceBytes(trainer.get(), rank));
    if (*shardrtGetTrainerRemarks(trainer.get()))
      fmt::print("{}\n", shardrtGetTrainerRemarks(trainer.get()));
    if (*shardrtGetDataRemarks(data.get()))
      fmt::print("{}\n", shardrtGetDataRemarks(data.get()));
    fmt::print("{} samples: {} steps an epoch", shardrtGetSampleCount(data.get()),
               shardrtGetStepsPerEpoch(trainer.get()));
    if (int64_t dropped = shardrtGetDroppedSamples(trainer.get()))
      fmt::print("; the last {} samples of an epoch make no whole batch and are dropped", dropped);
    fmt::print("\n");
    std::fflush(stdout);
  }

  bool train() {
    rt::Progress progress(stdout, isatty(STDOUT_FILENO), options.steps);
    Clock::time_point begin = Clock::now();
    while (stepsDone < options.steps && !stopRequested) {
      Clock::time_point stepBegin = Clock::now();
      shardrtStepMetrics step = {};
      step.size = sizeof(step);
      shardrtError *error = shardrtRunStep(trainer.get(), &step);
      if (error)
        progress.finish();
      if (failed(error))
        return false;
      stepsDone = step.step;
      rt::StepMetrics metrics = measure(step, secondsSince(stepBegin));
      if (log && failed(log->write(metrics)))
        return false;
      if (!options.quiet)
        progress.report(metrics, info.globalBatch, secondsSince(begin));
      if (!checkProgress(step, progress))
        return false;
    }
    progress.finish();
    return true;
  }

  /// Steps without a finite gradient, or without a label that counts, leave the parameters as they are. That is told
  /// once, and ends training where it does not end by itself.
  bool checkProgress(const shardrtStepMetrics &step, rt::Progress &progress) {
    skippedInARow = step.skipped ? skippedInARow + 1 : 0;
    if (skippedInARow != 1 && skippedInARow != kMaxSkippedSteps)
      return true;
    progress.finish();
    bool isEmpty = step.lossWeight == 0;
    const char *reason = isEmpty ? "every label of its batch is ignored" : "its loss or gradients are not finite";
    const char *remedy = isEmpty ? "look at the labels: all of them have the value that the model ignores"
                                 : "look for NaN and infinity in data and weights, or try a smaller --lr";
    if (skippedInARow == 1) {
      fmt::print(stderr, "warning: step {} changed nothing: {}\n", step.step, reason);
      return true;
    }
    fmt::print(stderr, "error: {} steps in a row changed nothing, the last because {} [run-skipped]\nnote: {}\n",
               kMaxSkippedSteps, reason, remedy);
    return false;
  }

  static double secondsSince(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  rt::StepMetrics measure(const shardrtStepMetrics &step, double seconds) const {
    rt::StepMetrics metrics;
    metrics.step = step.step;
    metrics.loss = step.loss;
    metrics.gradientNorm = step.gradientNorm;
    metrics.learningRate = step.learningRate;
    metrics.samplesPerSecond = static_cast<double>(info.globalBatch) / seconds;
    metrics.stepMilliseconds = seconds * 1e3;
    metrics.lossWeight = step.lossWeight;
    metrics.skipped = step.skipped != 0;
    metrics.lossScale = step.lossScale;
    return metrics;
  }

  bool dump() {
    if (!options.dumpGradients.empty() && stepsDone > 0 &&
        failed(shardrtDumpGradients(trainer.get(), options.dumpGradients.c_str())))
      return false;
    return options.dumpParameters.empty() ||
           !failed(shardrtDumpParameters(trainer.get(), options.dumpParameters.c_str()));
  }

  const Options &options;
  Handle<shardrtPlan> plan;
  Handle<shardrtData> data;
  Handle<shardrtTrainer> trainer;
  std::unique_ptr<rt::MetricsFile> log;
  shardrtPlanInfo info = {};
  int64_t stepsDone = 0, skippedInARow = 0;
};

} // namespace

int main(int argc, char **argv) {
  int exitCode = 0;
  auto options = shardrun::parseOptions(argc, argv, exitCode);
  if (!options)
    return exitCode;
  return Run(*options).run();
}
