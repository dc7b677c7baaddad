//===-- Options.h - what a user asks of shardc --------------------------------------------------------------------===//
//
// Every option of the compiler, as plain data; tools/shardc fills it from the command line.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_DRIVER_OPTIONS_H
#define SHARDC_DRIVER_OPTIONS_H

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardc::driver {

/// Where to stop and print the module.
enum class Emit { Plan, Import, NN, Sharded, Pipelined, Exec };

struct Options {
  std::string model;
  std::string output;
  Emit emit = Emit::Plan;

  // Layout.
  int64_t dp = 1, pp = 1, tp = 1;
  std::string meshOrder = "dp,pp,tp";
  int64_t microBatch = 1;
  std::optional<int64_t> globalBatch; // default: one micro-batch a stage on every replica, dp * pp * micro-batch
  std::string schedule = "1f1b";
  std::string recompute = "none";

  // Model.
  std::vector<std::pair<std::string, int64_t>> dims;
  std::vector<std::pair<std::string, std::vector<int64_t>>> shapes;
  std::string loss;
  double dropout = -1; // negative: the graph's own
  std::vector<std::string> trainable, freeze, tie, untie;
  std::string externalDataRoot;

  // Optimizer.
  std::string optimizer = "adamw";
  double learningRate = 1e-3;
  std::string lrSchedule = "constant";
  int64_t warmupSteps = 0;
  std::optional<int64_t> totalSteps;
  double clipNorm = 0; // 0: off
  double momentum = 0, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  std::optional<double> weightDecay; // default: 0.01 for AdamW, 0 for SGD

  // Precision; docs/precision.md.
  std::string precision = "fp32";
  std::optional<double> lossScaleInit, lossScaleGrowthFactor, lossScaleBackoffFactor; // of fp16 only
  std::optional<int64_t> lossScaleGrowthInterval;

  /// The options that the command line has, by name: what is given must have an effect.
  std::vector<std::string> given;
  bool isGiven(std::string_view name) const { return std::find(given.begin(), given.end(), name) != given.end(); }

  // Target.
  std::string target = "cpu";     // or "cuda"
  std::string targetCpu;          // empty: this machine's
  std::string gpuArchs = "sm_80"; // separated by commas

  int64_t getGlobalBatch() const { return globalBatch.value_or(microBatch * dp * pp); }
  int64_t getMicroBatches() const { return getGlobalBatch() / (microBatch * dp); }
  double getLossScaleInit() const { return lossScaleInit.value_or(65536); }
  int64_t getLossScaleGrowthInterval() const { return lossScaleGrowthInterval.value_or(2000); }
  double getLossScaleGrowthFactor() const { return lossScaleGrowthFactor.value_or(2); }
  double getLossScaleBackoffFactor() const { return lossScaleBackoffFactor.value_or(0.5); }
  double getWeightDecay() const { return weightDecay.value_or(optimizer == "adamw" ? 0.01 : 0.0); }
};

/// An option that cannot be honoured, and what would work.
struct OptionError {
  std::string message;
  std::string note;
};

/// Checks the options against one another (the model is checked by the phases); the first violation, if any.
std::optional<OptionError> checkOptions(const Options &options);

} // namespace shardc::driver

#endif
