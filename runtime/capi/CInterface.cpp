//===-- CInterface.cpp - the C interface over the C++ runtime -----------------------------------------------------===//

#include "runtime/base/Exceptions.h"
#include "runtime/base/File.h"
#include "runtime/base/Remedy.h"
#include "runtime/comm/process/LoadTransport.h"
#include "runtime/comm/process/ProcessWorld.h"
#include "runtime/executor/Trainer.h"
#include "runtime/io/SafeTensors.h"
#include "runtime/verify/Verify.h"
#include "shardrt/shardrt.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <new>

using namespace shardc;
using namespace shardc::rt;

struct shardrtError {
  std::string text;
};
struct shardrtPlan {
  std::shared_ptr<const LoadedPlan> loaded;
};
struct shardrtData {
  std::shared_ptr<const Dataset> dataset;
  std::string remarks;
};
struct shardrtWorld {
  std::shared_ptr<const LoadedPlan> loaded;
  std::unique_ptr<ProcessWorld> world; // ends before what it uses
  std::string placement;
};
struct shardrtTrainer {
  shardrtWorld *world = nullptr;
  std::shared_ptr<const LoadedPlan> loaded;
  std::shared_ptr<const Dataset> dataset;
  std::unique_ptr<Trainer> trainer; // ends before what it uses
  std::string remarks;
};

namespace {

/// Runs `body`, which returns a Status, and turns whatever goes wrong into an error.
template <typename Body> shardrtError *guarded(Body body) {
  Status status;
  try {
    status = body();
  } catch (...) {
    status = statusOfException();
  }
  return status.isOk() ? nullptr : new shardrtError{renderWithRemedy(status)};
}

template <typename T> Status checkPointer(const T *pointer, const char *what) {
  if (pointer)
    return {};
  return Status(StatusKind::InvalidArgument, fmt::format("argument '{}': null", what), "shardrt.h says what it is");
}

/// Copies a struct to a caller who knows `size` bytes of it, keeping the caller's size field.
template <typename T> Status copyOut(const T &value, T *target) {
  if (target->size < sizeof(size_t) || target->size > 4096)
    return Status(StatusKind::InvalidArgument, "field 'size' is not set to the size of the struct",
                  "set it to sizeof the struct");
  size_t size = target->size;
  std::memcpy(target, &value, std::min(size, sizeof(T)));
  target->size = size;
  return {};
}

shardrtData *wrap(std::unique_ptr<Dataset> dataset) {
  auto data = std::make_unique<shardrtData>();
  for (const std::string &line : dataset->remarks())
    data->remarks += (data->remarks.empty() ? "" : "\n") + line;
  data->dataset = std::move(dataset);
  return data.release();
}

Status verifyIfPresent(const plan::Plan &plan) {
#ifdef SHARDRT_HAS_VERIFIER
  return verifyPlan(plan);
#else
  return {};
#endif
}

bool isRank(const plan::Plan &plan, int64_t rank) { return rank >= 0 && rank < MeshView(plan.mesh()).ranks(); }

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

shardrtStepMetrics toMetrics(const StepReport &report) {
  shardrtStepMetrics metrics = {};
  metrics.step = report.step + 1;
  metrics.loss = report.loss.value_or(kUnknown);
  metrics.gradientNorm = report.gradientNorm.value_or(kUnknown);
  metrics.learningRate = report.learningRate;
  metrics.lossWeight = report.lossWeight.value_or(kUnknown);
  metrics.gradientScale = report.gradientScale.value_or(kUnknown);
  metrics.skipped = report.skipped.value_or(0) != 0;
  metrics.lossScale = report.lossScale.value_or(kUnknown);
  return metrics;
}

/// Enough synthetic samples that a few epochs see different batches.
constexpr int64_t kSyntheticBatches = 16;

} // namespace

const char *shardrtGetErrorText(const shardrtError *error) { return error ? error->text.c_str() : ""; }

void shardrtFreeError(shardrtError *error) { delete error; }

//===-- Plans -----------------------------------------------------------------------------------------------------===//

shardrtError *shardrtLoadPlan(const char *folder, shardrtPlan **plan) {
  return guarded([&]() -> Status {
    SHARDRT_RETURN_IF_ERROR(checkPointer(folder, "folder"));
    SHARDRT_RETURN_IF_ERROR(checkPointer(plan, "plan"));
    SHARDRT_ASSIGN(LoadedPlan loaded, loadPlan(folder));
    SHARDRT_RETURN_IF_ERROR(verifyIfPresent(loaded.plan));
    *plan = new shardrtPlan{std::make_shared<const LoadedPlan>(std::move(loaded))};
    return {};
  });
}

void shardrtFreePlan(shardrtPlan *plan) { delete plan; }

shardrtError *shardrtGetPlanInfo(const shardrtPlan *plan, shardrtPlanInfo *info) {
  return guarded([&]() -> Status {
    SHARDRT_RETURN_IF_ERROR(checkPointer(plan, "plan"));
    SHARDRT_RETURN_IF_ERROR(checkPointer(info, "info"));
    const plan::Training &training = plan->loaded->plan.training();
    shardrtPlanInfo value = {};
    value.ranks = MeshView(plan->loaded->plan.mesh()).ranks();
    value.globalBatch = training.global_batch();
    value.microBatch = training.micro_batch();
    value.microBatches = training.micro_batches();
    value.learningRate = training.learning_rate();
    return copyOut(value, info);
  });
}

//===-- Several processes -----------------------------------------------------------------------------------------===//

shardrtError *shardrtConnect(double timeout, shardrtWorld **world) {
  return guarded([&]() -> Status {
    SHARDRT_RETURN_IF_ERROR(checkPointer(world, "world"));
    *world = nullptr;
    SHARDRT_ASSIGN(bool isOne, isOneOfSeveral());
    if (!isOne)
      return {};
    SHARDRT_ASSIGN(shardrtTransport transport, connectProcesses());
    ProcessWorldOptions options;
    options.timeout = timeout;
    *world = new shardrtWorld{nullptr, std::make_unique<ProcessWorld>(transport, options), {}};
    return {};
  });
}

shardrtError *shardrtAgree(shardrtWorld *world, shardrtError *error) {
  if (!world)
    return error;
  std::unique_ptr<shardrtError> own(error);
  Status mine;
  if (error)
    mine = Status(error->text.empty() ? StatusKind::Aborted : StatusKind::InvalidArgument, "this process has failed");
  Status status = world->world->agree(mine);
  if (status.isOk())
    return nullptr;
  // Its own error says more than the status; where another process has one, that says it.
  bool tells = status.kind() != StatusKind::Aborted;
  if (!tells || !own)
    return new shardrtError{tells ? renderWithRemedy(status) : std::string()};
  return own.release();
}

shardrtError *shardrtAgreeOnAny(shardrtWorld *world, int32_t mine, int32_t *any) {
  return guarded([&]() -> Status {
    *any = mine;
    if (!world)
      return {};
    SHARDRT_ASSIGN(bool result, world->world->agreeOnAny(mine != 0));
    *any = result;
    return {};
  });
}

shardrtError *shardrtAssignRanks(shardrtWorld *world, const shardrtPlan *plan) {
  bool isEnded = false; // because of another process, which tells
  shardrtError *error = guarded([&]() -> Status {
    SHARDRT_RETURN_IF_ERROR(checkPointer(plan, "plan"));
    if (!world)
      return {};
    world->loaded = plan->loaded;
    Status status = world->world->assign(plan->loaded->plan);
    isEnded = status.kind() == StatusKind::Aborted;
    world->placement = fmt::format("{}", fmt::join(world->world->placement(), "\n"));
    return status;
  });
  if (error && isEnded)
    error->text.clear();
  return error;
}

int32_t shardrtIsPrimary(const shardrtWorld *world) { return !world || world->world->isPrimary(); }

const char *shardrtGetPlacement(const shardrtWorld *world) { return world ? world->placement.c_str() : ""; }

void shardrtNoteTermination(void) { Monitor::noteTermination(); }

void shardrtFail(shardrtWorld *world) {
  if (world)
    world->world->fail();
}

void shardrtDisconnect(shardrtWorld *world) { delete world; }

//===-- Data ------------------------------------------------------------------------------------------------------===//

shardrtError *shardrtOpenText(const shardrtPlan *plan, const char *path, shardrtData **data) {
  return guarded([&]() -> Status {
    SHARDRT_RETURN_IF_ERROR(checkPointer(plan, "plan"));
    SHARDRT_RETURN_IF_ERROR(checkPointer(path, "path"));
    SHARDRT_RETURN_IF_ERROR(checkPointer(data, "data"));
    SHARDRT_ASSIGN(std::unique_ptr<Dataset> dataset, openText(plan->loaded->plan, path));
    *data = wrap(std::move(dataset));
    return {};
  });
}

shardrtError *shardrtOpenArrays(const shardrtPlan *plan, const char *const *names, const char *const *paths,
                                size_t count, shardrtData **data) {
  return guarded([&]() -> Status {
    SHARDRT_RETURN_IF_ERROR(checkPointer(plan, "plan"));
    SHARDRT_RETURN_IF_ERROR(checkPointer(data, "data"));
    std::vector<std::pair<std::string, std::string>> files;
    files.reserve(count);
    for (size_t i = 0; i < count; ++i)
      files.emplace_back(names[i], paths[i]);
    SHARDRT_ASSIGN(std::unique_ptr<Dataset> dataset, openArrays(plan->loaded->plan, files));
    *data = wrap(std::move(dataset));
    return {};
  });
}

shardrtError *shardrtMakeSynthetic(const shardrtPlan *plan, uint64_t seed, shardrtData **data) {
  return guarded([&]() -> Status {
    SHARDRT_RETURN_IF_ERROR(checkPointer(plan, "plan"));
    SHARDRT_RETURN_IF_ERROR(checkPointer(data, "data"));
    const plan::Plan &loaded = plan->loaded->plan;
    int64_t samples = loaded.training().global_batch() * kSyntheticBatches;
    SHARDRT_ASSIGN(std::unique_ptr<Dataset> dataset, makeSynthetic(loaded, seed, samples));
    *data = wrap(std::move(dataset));
    return {};
  });
}

int64_t shardrtGetSampleCount(const shardrtData *data) { return data ? data->dataset->samples() : 0; }

const char *shardrtGetDataRemarks(const shardrtData *data) { return data ? data->remarks.c_str() : ""; }

void shardrtFreeData(shardrtData *data) { delete data; }

//===-- Training --------------------------------------------------------------------------------------------------===//

void shardrtInitTrainerOptions(shardrtTrainerOptions *options, size_t size) {
  shardrtTrainerOptions defaults = {};
  defaults.steps = 100;
  defaults.threadsPerRank = 1;
  defaults.shuffles = 1;
  defaults.learningRate = kUnknown;
  std::memcpy(options, &defaults, std::min(size, sizeof(defaults)));
  options->size = size;
}

shardrtError *shardrtCreateTrainer(const shardrtPlan *plan, const shardrtData *data,
                                   const shardrtTrainerOptions *options, shardrtWorld *world,
                                   shardrtTrainer **trainer) {
  return guarded([&]() -> Status {
    SHARDRT_RETURN_IF_ERROR(checkPointer(plan, "plan"));
    SHARDRT_RETURN_IF_ERROR(checkPointer(options, "options"));
    SHARDRT_RETURN_IF_ERROR(checkPointer(trainer, "trainer"));
    shardrtTrainerOptions given;
    shardrtInitTrainerOptions(&given, sizeof(given));
    std::memcpy(&given, options, std::min(options->size, sizeof(given)));
    if (given.threadsPerRank < 1)
      return Status(StatusKind::InvalidArgument,
                    fmt::format("threads per rank: {}, expected at least 1 [run-threads]", given.threadsPerRank),
                    "give each rank one thread or more");
    TrainerOptions chosen;
    chosen.device = given.emulates ? Device::Emulator : Device::Cpu;
    chosen.seed = given.seed;
    chosen.steps = given.steps;
    chosen.threadsPerRank = given.threadsPerRank;
    chosen.shuffles = given.shuffles != 0;
    chosen.poisons = given.poisons != 0;
    chosen.checksFinite = given.checksFinite != 0;
    if (!std::isnan(given.learningRate))
      chosen.learningRate = given.learningRate;
    auto result = std::make_unique<shardrtTrainer>();
    result->loaded = plan->loaded;
    if (data)
      result->dataset = data->dataset;
    SHARDRT_ASSIGN(result->trainer, Trainer::create(*result->loaded, result->dataset.get(), chosen,
                                                    world ? world->world.get() : nullptr));
    result->world = world;
    result->remarks = result->trainer->remarks();
    *trainer = result.release();
    return {};
  });
}

shardrtError *shardrtRunStep(shardrtTrainer *trainer, shardrtStepMetrics *metrics) {
  return guarded([&]() -> Status {
    SHARDRT_RETURN_IF_ERROR(checkPointer(trainer, "trainer"));
    StepReport report;
    SHARDRT_RETURN_IF_ERROR(trainer->trainer->runStep(report));
    return metrics ? copyOut(toMetrics(report), metrics) : Status();
  });
}

shardrtError *shardrtEvaluate(shardrtTrainer *trainer, const shardrtData *data, shardrtEvaluation *evaluation) {
  return guarded([&]() -> Status {
    SHARDRT_RETURN_IF_ERROR(checkPointer(trainer, "trainer"));
    SHARDRT_RETURN_IF_ERROR(checkPointer(data, "data"));
    SHARDRT_RETURN_IF_ERROR(checkPointer(evaluation, "evaluation"));
    EvaluationReport report;
    SHARDRT_RETURN_IF_ERROR(trainer->trainer->evaluate(*data->dataset, report));
    shardrtEvaluation value = {};
    value.loss = report.loss;
    value.samples = report.samples;
    value.dropped = report.dropped;
    return copyOut(value, evaluation);
  });
}

int64_t shardrtGetArenaBytes(const shardrtTrainer *trainer, int64_t rank) {
  return trainer && isRank(trainer->loaded->plan, rank) ? trainer->trainer->arenaBytes(rank) : -1;
}

int64_t shardrtGetWorkspaceBytes(const shardrtTrainer *trainer, int64_t rank) {
  return trainer && isRank(trainer->loaded->plan, rank) ? trainer->trainer->workspaceBytes(rank) : -1;
}

const char *shardrtGetTrainerRemarks(const shardrtTrainer *trainer) { return trainer ? trainer->remarks.c_str() : ""; }

int64_t shardrtGetStepsPerEpoch(const shardrtTrainer *trainer) {
  return trainer && trainer->trainer->sampleOrder() ? trainer->trainer->sampleOrder()->stepsPerEpoch() : 0;
}

int64_t shardrtGetDroppedSamples(const shardrtTrainer *trainer) {
  return trainer && trainer->trainer->sampleOrder() ? trainer->trainer->sampleOrder()->droppedPerEpoch() : 0;
}

shardrtError *shardrtDumpGradients(const shardrtTrainer *trainer, const char *path) {
  return guarded([&]() -> Status {
    SHARDRT_RETURN_IF_ERROR(checkPointer(trainer, "trainer"));
    SHARDRT_RETURN_IF_ERROR(checkPointer(path, "path"));
    SHARDRT_ASSIGN(std::vector<NamedTensor> tensors, trainer->trainer->gradients());
    return shardrtIsPrimary(trainer->world) ? writeSafeTensors(path, tensors) : Status();
  });
}

shardrtError *shardrtDumpParameters(const shardrtTrainer *trainer, const char *path) {
  return guarded([&]() -> Status {
    SHARDRT_RETURN_IF_ERROR(checkPointer(trainer, "trainer"));
    SHARDRT_RETURN_IF_ERROR(checkPointer(path, "path"));
    SHARDRT_ASSIGN(std::vector<NamedTensor> tensors, trainer->trainer->parameters());
    return shardrtIsPrimary(trainer->world) ? writeSafeTensors(path, tensors) : Status();
  });
}

shardrtError *shardrtCheckWritable(const char *path) {
  return guarded([&]() -> Status {
    SHARDRT_RETURN_IF_ERROR(checkPointer(path, "path"));
    return checkWritable(path);
  });
}

void shardrtFreeTrainer(shardrtTrainer *trainer) { delete trainer; }
