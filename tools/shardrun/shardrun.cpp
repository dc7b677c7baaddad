//===-- shardrun.cpp - trains with a plan -------------------------------------------------------------------------===//

#include "runtime/base/Remedy.h"
#include "runtime/metrics/MetricsFile.h"
#include "runtime/metrics/Progress.h"
#include "shardrt/shardrt.h"
#include "tools/StandardStreams.h"
#include "tools/shardrun/Options.h"
#include "tools/shardrun/Signals.h"
#include "tools/shardrun/StepWatch.h"

#include <chrono>
#include <csignal>
#include <memory>
#include <unistd.h>

using namespace shardc;
using shardrun::Options;
using tools::kFailure;

namespace {

struct FreeHandle {
  void operator()(shardrtError *error) const { shardrtFreeError(error); }
  void operator()(shardrtWorld *world) const { shardrtDisconnect(world); }
  void operator()(shardrtPlan *plan) const { shardrtFreePlan(plan); }
  void operator()(shardrtData *data) const { shardrtFreeData(data); }
  void operator()(shardrtTrainer *trainer) const { shardrtFreeTrainer(trainer); }
};
template <typename T> using Handle = std::unique_ptr<T, FreeHandle>;

/// Prints an error, if there is one and it has a text.
bool tellError(shardrtError *error) {
  Handle<shardrtError> owned(error);
  if (error)
    tools::printError("{}", shardrtGetErrorText(error));
  return error != nullptr;
}

class Run {
public:
  explicit Run(const Options &options) : options(options) {}

  int run() {
    if (!connect() || !obtain(plan, shardrtLoadPlan, options.plan.c_str()) || !assignRanks() || !getInfo() ||
        !openData() || !openOutputs() || !createTrainer())
      return kFailure;
    if (isTelling())
      describe();
    shardrun::beginTraining();
    if (options.evaluateOnly)
      return evaluateOnly() ? 0 : kFailure;
    if (!train() || !dump())
      return kFailure;
    if (stopping) {
      warn("stopped after step {}\n", stepsDone);
      return shardrun::kSignalled + stopping;
    }
    std::string failure = watch.failureAtEnd();
    warn("{}{}", failure, watch.warningAtEnd());
    return failure.empty() ? 0 : kFailure;
  }

private:
  using Clock = std::chrono::steady_clock;

  //===-- Several processes ---------------------------------------------------------------------------------------===//

  bool connect() {
    shardrtWorld *connected = nullptr;
    if (tellError(shardrtConnect(options.timeout, &connected)))
      return false;
    world.reset(connected);
    if (world)
      shardrun::leaveTellingToLauncher();
    return true;
  }

  bool assignRanks() { return !failed(shardrtAssignRanks(world.get(), plan.get())); }

  bool isPrimary() const { return shardrtIsPrimary(world.get()) != 0; }
  bool isTelling() const { return !options.quiet && isPrimary(); }

  template <typename... Args> void warn(fmt::format_string<Args...> format, Args &&...args) const {
    if (isPrimary())
      tools::printError(format, std::forward<Args>(args)...);
  }

  /// What all processes have tried alike has failed if it has for one of them, which tells.
  bool failed(shardrtError *error) { return tellError(shardrtAgree(world.get(), error)); }

  bool failed(const rt::Status &status) {
    if (!status.isOk())
      tools::printError("{}", rt::renderWithRemedy(status));
    return !status.isOk();
  }

  /// What has failed here ends all processes: the others cannot know.
  bool failedAlone(shardrtError *error) { return failAll(tellError(error)); }
  bool failedAlone(const rt::Status &status) { return failAll(failed(status)); }

  bool failAll(bool isFailure) {
    if (isFailure)
      shardrtFail(world.get());
    return isFailure;
  }

  /// Puts what a function stores through its last argument into a handle.
  template <typename T, typename Function, typename... Args>
  bool obtain(Handle<T> &handle, Function function, Args... args) {
    T *made = nullptr;
    shardrtError *error = function(args..., &made);
    handle.reset(made);
    return !failed(error);
  }

  /// Whether a signal has asked one of the processes for the end.
  bool agreeToStop() {
    int32_t any = 0;
    if (failedAlone(shardrtAgreeOnAny(world.get(), shardrun::stopSignal() != 0, &any)))
      return false;
    if (any)
      stopping = shardrun::stopSignal() ? shardrun::stopSignal() : SIGTERM;
    return true;
  }

  //===-- Preparation ---------------------------------------------------------------------------------------------===//

  bool openData() {
    if (!options.evaluation.empty() && !open(options.evaluation, evaluation))
      return false;
    if (options.evaluateOnly)
      return true;
    if (options.synthetic)
      return obtain(data, shardrtMakeSynthetic, plan.get(), options.seed);
    return open(options.data, data);
  }

  bool open(const shardrun::DataFiles &files, Handle<shardrtData> &opened) {
    if (!files.text.empty())
      return obtain(opened, shardrtOpenText, plan.get(), files.text.c_str());
    std::vector<const char *> names, paths;
    for (const auto &[name, path] : files.arrays) {
      names.push_back(name.c_str());
      paths.push_back(path.c_str());
    }
    return obtain(opened, shardrtOpenArrays, plan.get(), names.data(), paths.data(), names.size());
  }

  bool createTrainer() {
    shardrtTrainerOptions chosen;
    shardrtInitTrainerOptions(&chosen, sizeof(chosen));
    chosen.seed = options.seed;
    chosen.emulates = options.device == "emulator";
    chosen.steps = options.steps;
    chosen.threadsPerRank = options.threadsPerRank;
    chosen.shuffles = !options.noShuffle;
    chosen.poisons = options.poison;
    chosen.checksFinite = options.checkNan;
    if (options.learningRate)
      chosen.learningRate = *options.learningRate;
    return obtain(trainer, shardrtCreateTrainer, plan.get(), data.get(), &chosen, world.get());
  }

  /// What is to be written must be writable before the first step, not after the last.
  bool openOutputs() {
    for (const std::string &path : {options.dumpGradients, options.dumpParameters})
      if (!path.empty() && failed(isPrimary() ? shardrtCheckWritable(path.c_str()) : nullptr))
        return false;
    if (options.logDir.empty() || !isPrimary())
      return true;
    auto created = rt::MetricsFile::create(options.logDir);
    if (failedAlone(created.status()))
      return false;
    log = std::make_unique<rt::MetricsFile>(std::move(*created));
    return true;
  }

  bool getInfo() {
    info.size = sizeof(info);
    return !failed(shardrtGetPlanInfo(plan.get(), &info));
  }

  void describe() {
    auto plural = [](int64_t count) { return count == 1 ? "" : "s"; };
    tools::print("plan '{}': {} rank{}, {} thread{} each, {} sample{} a step\n", options.plan, info.ranks,
                 plural(info.ranks), options.threadsPerRank, plural(options.threadsPerRank), info.globalBatch,
                 plural(info.globalBatch));
    if (world)
      tools::print("{}\n", shardrtGetPlacement(world.get()));
    for (int64_t rank = 0; rank < info.ranks && !world; ++rank)
      tools::print("  rank {}: arena {} bytes, {} bytes beside it for matrix products\n", rank,
                   shardrtGetArenaBytes(trainer.get(), rank), shardrtGetWorkspaceBytes(trainer.get(), rank));
    if (*shardrtGetTrainerRemarks(trainer.get()))
      tools::print("{}\n", shardrtGetTrainerRemarks(trainer.get()));
    if (options.learningRate.value_or(info.learningRate) == 0 && data)
      tools::print("the learning rate is 0: the parameters stay as they are\n");
    describeData();
    std::fflush(stdout);
  }

  void describeData() {
    if (*shardrtGetDataRemarks(data.get()))
      tools::print("{}\n", shardrtGetDataRemarks(data.get()));
    if (data) {
      tools::print("{} samples: {} steps an epoch", shardrtGetSampleCount(data.get()),
                   shardrtGetStepsPerEpoch(trainer.get()));
      if (int64_t dropped = shardrtGetDroppedSamples(trainer.get()))
        tools::print("; the last {} samples of an epoch make no whole batch and are dropped", dropped);
      tools::print("\n");
    }
    if (*shardrtGetDataRemarks(evaluation.get()))
      tools::print("evaluation: {}\n", shardrtGetDataRemarks(evaluation.get()));
  }

  bool train() {
    // A launcher's terminal is not the user's.
    rt::Progress progress(stdout, !world && isatty(STDOUT_FILENO), options.steps);
    Clock::time_point begin = Clock::now();
    while (stepsDone < options.steps && !stopping) {
      Clock::time_point stepBegin = Clock::now();
      shardrtStepMetrics step = {};
      step.size = sizeof(step);
      shardrtError *error = shardrtRunStep(trainer.get(), &step);
      if (error)
        progress.finish();
      if (failedAlone(error))
        return false;
      stepsDone = step.step;
      if (!agreeToStop())
        return false;
      rt::StepMetrics metrics = measure(step, secondsSince(stepBegin));
      if (isEvaluated() && !evaluate(progress, metrics))
        return false;
      if (log && failedAlone(log->write(metrics)))
        return false;
      if (isTelling())
        progress.report(metrics, info.globalBatch, secondsSince(begin));
      if (!checkStep(step, progress))
        return false;
    }
    progress.finish();
    return true;
  }

  /// Whether the step that is done ends with an evaluation.
  bool isEvaluated() const {
    bool isLast = stepsDone == options.steps || stopping;
    return evaluation && (isLast || (options.evaluateEvery > 0 && stepsDone % options.evaluateEvery == 0));
  }

  bool evaluate(rt::Progress &progress, rt::StepMetrics &metrics) {
    metrics.evaluation.emplace();
    if (runEvaluation(*metrics.evaluation))
      return true;
    progress.finish();
    return false;
  }

  /// What is left over is told once.
  bool runEvaluation(rt::EvaluationMetrics &metrics) {
    shardrtEvaluation result = {};
    result.size = sizeof(result);
    if (failedAlone(shardrtEvaluate(trainer.get(), evaluation.get(), &result)))
      return false;
    if (result.dropped > 0 && !toldDropped)
      warn("warning: evaluation leaves out the last {} samples, which make no whole batch\n"
           "note: the loss of the model has no labels that count nothing, with which it could be filled\n",
           result.dropped);
    toldDropped |= result.dropped > 0;
    metrics = {result.loss, result.samples};
    return true;
  }

  bool evaluateOnly() {
    rt::EvaluationMetrics metrics;
    if (!runEvaluation(metrics) || (log && failedAlone(log->write(metrics))))
      return false;
    if (isTelling())
      tools::print("eval loss {:.6f} over {} samples\n", metrics.loss, metrics.samples);
    return true;
  }

  /// Steps that change nothing are told, and end training where it does not end by itself.
  bool checkStep(const shardrtStepMetrics &step, rt::Progress &progress) {
    std::string warning = watch.addStep(step), failure = watch.failure();
    if (warning.empty() && failure.empty())
      return true;
    progress.finish();
    warn("{}{}", warning, failure);
    return failure.empty();
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
  Handle<shardrtWorld> world; // null: this process is alone
  Handle<shardrtPlan> plan;
  Handle<shardrtData> data, evaluation;
  Handle<shardrtTrainer> trainer;
  std::unique_ptr<rt::MetricsFile> log;
  shardrtPlanInfo info = {};
  shardrun::StepWatch watch;
  int64_t stepsDone = 0;
  int stopping = 0; // the signal that has asked for the end
  bool toldDropped = false;
};

int runShardrun(int argc, char **argv) {
  shardrun::catchSignals();
  int exitCode = 0;
  auto options = shardrun::parseOptions(argc, argv, exitCode);
  if (!options)
    return exitCode;
  return Run(*options).run();
}

} // namespace

int main(int argc, char **argv) { return tools::runTool(argc, argv, runShardrun); }
