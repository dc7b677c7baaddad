//===-- CheckOptions.cpp - options against one another ------------------------------------------------------------===//

#include "shardc/Driver/Options.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <limits>

using namespace shardc::driver;
using llvm::formatv;

namespace {

using Check = std::optional<OptionError>;

std::string spell(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

Check checkPositive(llvm::StringRef option, int64_t value) {
  if (value > 0)
    return {};
  return OptionError{formatv("option '--{0}': expected a positive number, got {1} [option-range]", option, value), ""};
}

Check checkChoice(llvm::StringRef option, llvm::StringRef value, llvm::ArrayRef<llvm::StringRef> choices) {
  if (llvm::is_contained(choices, value))
    return {};
  return OptionError{formatv("option '--{0}': unknown value '{1}' [option-choice]", option, value),
                     formatv("it is one of {0}", llvm::make_range(choices.begin(), choices.end()))};
}

/// A number that is kept in f64 and used in f32: finite in both, and not rounded to zero.
Check checkReal(llvm::StringRef option, double value) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  if (!(value >= 0 && value <= kLargest))
    return OptionError{formatv("option '--{0}': expected a number of at least 0 that is finite in float32, got {1} "
                               "[option-range]",
                               option, spell(value)),
                       ""};
  if (value != 0 && static_cast<float>(value) == 0)
    return OptionError{formatv("option '--{0}': {1} is 0 in float32 [option-range]", option, spell(value)),
                       "give 0, or at least 1e-45"};
  return {};
}

/// A number in [0, 1) that is below 1 in f32 too.
Check checkFraction(llvm::StringRef option, double value, llvm::StringRef what) {
  if (value >= 0 && static_cast<float>(value) < 1)
    return {};
  return OptionError{
      formatv("option '--{0}': expected {1} in [0, 1), got {2} [option-range]", option, what, spell(value)), ""};
}

/// What is given and would change nothing.
Check checkUnused(const Options &options) {
  auto fail = [](llvm::StringRef option, llvm::StringRef reason, llvm::StringRef note) {
    return OptionError{formatv("option '{0}': has no effect with {1} [option-unused]", option, reason), note.str()};
  };
  if (options.optimizer != "sgd" && options.isGiven("momentum"))
    return fail("--momentum", "--optimizer " + options.optimizer, "give --optimizer sgd, or leave it out");
  for (llvm::StringRef name : {"beta1", "beta2", "epsilon"})
    if (options.optimizer != "adamw" && options.isGiven(name))
      return fail("--" + name.str(), "--optimizer " + options.optimizer, "give --optimizer adamw, or leave it out");
  if (options.lrSchedule == "constant" && options.totalSteps)
    return fail("--total-steps", "--lr-schedule constant", "give --lr-schedule cosine, or leave it out");
  if (options.target != "cuda" && options.isGiven("gpu-arch"))
    return fail("--gpu-arch", "--target " + options.target, "give --target cuda, or leave it out");
  for (llvm::StringRef name : {"o", "target", "target-cpu", "gpu-arch"})
    if (options.emit != Emit::Plan && options.isGiven(name))
      return fail((name.size() == 1 ? "-" : "--") + name.str(), "--emit",
                  "--emit prints the module and writes no plan: leave one of them out");
  return {};
}

/// Where the plan goes.
Check checkOutput(const Options &options) {
  if (options.emit == Emit::Plan && options.output.empty())
    return OptionError{"option '-o': the folder of the plan is missing [option-output]", "for example -o plan"};
  return {};
}

/// One micro-batch a replica is dp * micro-batch samples; a step is a whole number of them.
Check checkBatch(const Options &options) {
  int64_t unit = options.microBatch * options.dp, batch = options.getGlobalBatch();
  if (batch >= unit && batch % unit == 0)
    return {};
  int64_t below = std::max(batch / unit, int64_t(1)) * unit, above = below < batch ? below + unit : below;
  return OptionError{
      formatv("option '--global-batch': {0} does not divide into micro-batches of {1} on dp={2} replicas, "
              "expected a multiple of {3} [option-batch]",
              batch, options.microBatch, options.dp, unit),
      below == above ? formatv("{0} works", below).str() : formatv("{0} and {1} work", below, above).str()};
}

/// The schedule lists every action, so that its length is bounded.
Check checkScheduleLength(const Options &options) {
  constexpr int64_t kMostActions = int64_t(1) << 20;
  int64_t microBatches = options.getMicroBatches();
  if (microBatches <= kMostActions / options.pp)
    return {};
  return OptionError{
      formatv("option '--global-batch': {0} micro-batches on {1} stages are more than a schedule lists, expected at "
              "most {2} micro-batches [option-batch]",
              microBatches, options.pp, kMostActions / options.pp),
      "a larger --micro-batch or more replicas (--dp) make fewer of them"};
}

Check checkMeshOrder(llvm::StringRef order) {
  llvm::SmallVector<llvm::StringRef> axes;
  order.split(axes, ',');
  llvm::sort(axes);
  if (axes == llvm::ArrayRef<llvm::StringRef>{"dp", "pp", "tp"})
    return {};
  return OptionError{formatv("option '--mesh-order': '{0}' does not name dp, pp and tp once each [option-mesh]", order),
                     "for example dp,pp,tp or pp,dp,tp"};
}

Check checkLrSchedule(const Options &options) {
  if (options.warmupSteps < 0)
    return OptionError{
        formatv("option '--warmup': expected at least 0 steps, got {0} [option-range]", options.warmupSteps), ""};
  if (options.lrSchedule == "constant")
    return {};
  if (!options.totalSteps)
    return OptionError{"option '--lr-schedule cosine': the number of steps is missing [option-steps]",
                       "give it with --total-steps N"};
  if (*options.totalSteps <= options.warmupSteps)
    return OptionError{
        formatv("option '--total-steps': expected more than the {0} steps of --warmup, got {1} [option-steps]",
                options.warmupSteps, *options.totalSteps),
        ""};
  return {};
}

/// The loss scale belongs to fp16; its factors must move it.
Check checkPrecision(const Options &options) {
  if (Check check = checkChoice("precision", options.precision, {"fp32", "bf16", "fp16"}))
    return check;
  std::pair<llvm::StringRef, bool> given[] = {{"init", options.lossScaleInit.has_value()},
                                              {"growth-interval", options.lossScaleGrowthInterval.has_value()},
                                              {"growth-factor", options.lossScaleGrowthFactor.has_value()},
                                              {"backoff-factor", options.lossScaleBackoffFactor.has_value()}};
  for (auto [name, isGiven] : given)
    if (isGiven && options.precision != "fp16")
      return OptionError{formatv("option '--loss-scale-{0}': has no effect with --precision {1} [option-precision]",
                                 name, options.precision),
                         "only --precision fp16 has a loss scale"};
  auto isWithin = [](double value, double low, double high) { return value >= low && value <= high; };
  if (!isWithin(options.getLossScaleInit(), 0x1p-24, 0x1p24))
    return OptionError{formatv("option '--loss-scale-init': expected a number in [2^-24, 2^24], got {0} [option-range]",
                               spell(options.getLossScaleInit())),
                       ""};
  // The number of good steps is an f32, exact up to 2^24.
  if (options.getLossScaleGrowthInterval() < 1 || options.getLossScaleGrowthInterval() > (1 << 24))
    return OptionError{
        formatv("option '--loss-scale-growth-interval': expected steps in [1, 16777216], got {0} [option-range]",
                options.getLossScaleGrowthInterval()),
        ""};
  if (!isWithin(options.getLossScaleGrowthFactor(), 1, 0x1p24))
    return OptionError{
        formatv("option '--loss-scale-growth-factor': expected a number in [1, 2^24], got {0} [option-range]",
                spell(options.getLossScaleGrowthFactor())),
        "1 keeps the scale from growing"};
  double backoff = options.getLossScaleBackoffFactor();
  if (!(backoff > 0 && backoff < 1))
    return OptionError{
        formatv("option '--loss-scale-backoff-factor': expected a number between 0 and 1, got {0} [option-range]",
                spell(backoff)),
        ""};
  return {};
}

/// Each axis and the micro-batch, and the number of ranks.
Check checkSizes(const Options &options) {
  constexpr int64_t kMostRanks = int64_t(1) << 20;
  for (Check check : {checkPositive("dp", options.dp), checkPositive("pp", options.pp), checkPositive("tp", options.tp),
                      checkPositive("micro-batch", options.microBatch)})
    if (check)
      return check;
  if (options.dp > kMostRanks || options.pp > kMostRanks / options.dp ||
      options.tp > kMostRanks / options.dp / options.pp)
    return OptionError{formatv("dp {0} · pp {1} · tp {2} are more ranks than a plan can name, expected at most {3} "
                               "[option-range]",
                               options.dp, options.pp, options.tp, kMostRanks),
                       "choose a smaller --dp, --pp or --tp"};
  if (options.microBatch > std::numeric_limits<int32_t>::max())
    return OptionError{formatv("option '--micro-batch': expected at most {0}, got {1} [option-range]",
                               std::numeric_limits<int32_t>::max(), options.microBatch),
                       ""};
  return {};
}

} // namespace

std::optional<OptionError> shardc::driver::checkOptions(const Options &options) {
  // Sizes first: what follows multiplies them.
  if (Check check = checkSizes(options))
    return check;
  Check checks[] = {
      checkMeshOrder(options.meshOrder),
      checkPositive("global-batch", options.getGlobalBatch()),
      checkChoice("schedule", options.schedule, {"gpipe", "1f1b"}),
      checkChoice("recompute", options.recompute, {"none", "selective", "full"}),
      checkChoice("optimizer", options.optimizer, {"sgd", "adamw"}),
      checkChoice("target", options.target, {"cpu", "cuda"}),
      checkChoice("lr-schedule", options.lrSchedule, {"constant", "cosine"}),
      checkReal("lr", options.learningRate),
      checkReal("clip-norm", options.clipNorm),
      checkReal("momentum", options.momentum),
      checkReal("epsilon", options.epsilon),
      checkReal("weight-decay", options.getWeightDecay()),
      checkPrecision(options),
  };
  for (Check &check : checks)
    if (check)
      return check;
  for (Check check :
       {checkFraction("beta1", options.beta1, "a number"), checkFraction("beta2", options.beta2, "a number"),
        options.isGiven("dropout") ? checkFraction("dropout", options.dropout, "a probability") : Check()})
    if (check)
      return check;
  for (Check check : {checkBatch(options), checkScheduleLength(options)})
    if (check)
      return check;
  for (Check check : {checkLrSchedule(options), checkUnused(options), checkOutput(options)})
    if (check)
      return check;
  return {};
}
