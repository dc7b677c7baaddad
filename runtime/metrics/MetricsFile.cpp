//===-- MetricsFile.cpp - one JSON object a step ------------------------------------------------------------------===//

#include "runtime/metrics/MetricsFile.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <utility>

namespace shardc::rt {

Result<MetricsFile> MetricsFile::create(const std::string &folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return Status(StatusKind::Io, fmt::format("folder '{}': cannot create: {} [run-output]", folder, error.message()),
                  "give --log-dir a folder that is there or can be made");
  MetricsFile metrics;
  metrics.path = folder + "/metrics.jsonl";
  metrics.file.reset(std::fopen(metrics.path.c_str(), "a"));
  if (!metrics.file)
    return Status(StatusKind::Io,
                  fmt::format("file '{}': cannot write: {} [run-output]", metrics.path, std::strerror(errno)),
                  "check the permissions of the folder");
  return metrics;
}

static void addEvaluation(nlohmann::ordered_json &line, const EvaluationMetrics &evaluation) {
  line["eval_loss"] = evaluation.loss;
  line["eval_samples"] = evaluation.samples;
}

Status MetricsFile::write(const StepMetrics &metrics) {
  // NaN and infinity become null: JSON has neither.
  nlohmann::ordered_json line = {{"step", metrics.step},
                                 {"loss", metrics.loss},
                                 {"grad_norm", metrics.gradientNorm},
                                 {"lr", metrics.learningRate},
                                 {"samples_per_s", metrics.samplesPerSecond},
                                 {"step_ms", metrics.stepMilliseconds},
                                 {"loss_weight", metrics.lossWeight},
                                 {"skipped", metrics.skipped}};
  if (!std::isnan(metrics.lossScale))
    line["loss_scale"] = metrics.lossScale;
  if (metrics.evaluation)
    addEvaluation(line, *metrics.evaluation);
  return writeLine(line.dump());
}

Status MetricsFile::write(const EvaluationMetrics &evaluation) {
  nlohmann::ordered_json line = {{"step", 0}};
  addEvaluation(line, evaluation);
  return writeLine(line.dump());
}

Status MetricsFile::writeLine(const std::string &line) {
  std::string text = line + "\n";
  if (std::exchange(isOlder, false) && ::ftruncate(::fileno(file.get()), 0) != 0 && errno != EINVAL) // a device: EINVAL
    return cannotWrite();
  if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() || std::fflush(file.get()) != 0)
    return cannotWrite();
  return {};
}

Status MetricsFile::cannotWrite() const {
  return Status(StatusKind::Io, fmt::format("file '{}': cannot write: {} [run-output]", path, std::strerror(errno)),
                "free some space, or write elsewhere");
}

} // namespace shardc::rt
