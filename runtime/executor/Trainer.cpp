//===-- Trainer.cpp - a plan in training --------------------------------------------------------------------------===//

#include "runtime/executor/Trainer.h"

#include "runtime/base/Exceptions.h"
#include "runtime/device/cpu/Kernels.h"
#include "runtime/device/emulator/EmulatedKernels.h"
#include "runtime/executor/CheckMachine.h"
#include "runtime/executor/GatherTensors.h"
#include "runtime/executor/LearningRate.h"

#include <cmath>
#include <fmt/format.h>
#include <string>

namespace shardc::rt {

Trainer::Trainer(const LoadedPlan &plan, const TrainerOptions &options, World *given)
    : loaded(plan), options(options), mesh(plan.plan.mesh()),
      ownWorld(given ? nullptr : std::make_unique<LocalWorld>(plan.plan)), world(given ? *given : *ownWorld) {
  executors.resize(mesh.ranks());
  statuses.resize(mesh.ranks());
  // The shortest decimal that means the plan's float: what was asked for.
  plannedRate = std::stod(fmt::format("{}", plan.plan.training().learning_rate()));
  // One of each stage will do.
  std::vector<bool> has(mesh.axisSize("pp"));
  for (int64_t rank : world.localRanks())
    if (int64_t stage = mesh.coordinate(rank, "pp"); !has[stage]) {
      has[stage] = true;
      outputRanks.push_back(rank);
    }
}

Result<std::unique_ptr<Trainer>> Trainer::create(const LoadedPlan &plan, const Dataset *dataset,
                                                 const TrainerOptions &options, World *world) {
  SHARDRT_RETURN_IF_ERROR(world
                              ? checkMachine(plan.plan, world->ranksOnMachine(), options.threadsPerRank, thisMachine())
                              : checkMachine(plan.plan, options.threadsPerRank, thisMachine()));
  std::unique_ptr<Trainer> trainer(new Trainer(plan, options, world));
  SHARDRT_RETURN_IF_ERROR(trainer->prepare(dataset));
  return trainer;
}

Trainer::~Trainer() { stopRanks(); }

Status Trainer::prepare(const Dataset *dataset) {
  const plan::Plan &plan = loaded.plan;
  SHARDRT_RETURN_IF_ERROR(openKernels());
  SHARDRT_ASSIGN(weights, WeightFiles::open(plan, loaded.folder));
  if (dataset) {
    SHARDRT_ASSIGN(
        order, SampleOrder::create(dataset->samples(), plan.training().global_batch(), options.seed, options.shuffles));
  }
  shared.emplace(
      SharedState{plan, mesh, *kernels, *weights, dataset, options.seed, options.threadsPerRank, options.poisons});
  for (int64_t rank : world.localRanks())
    threads.emplace_back([this, rank] { rankMain(rank); });
  return runOnRanks([this](int64_t rank) -> Status {
    SHARDRT_ASSIGN(executors[rank], RankExecutor::create(*shared, rank, world.communicator(rank)));
    return {};
  });
}

Status Trainer::openKernels() {
  bool isCuda = loaded.plan.target().kind() == "cuda";
  if (isCuda && options.device == Device::Cpu)
    return Status(StatusKind::Unsupported,
                  "plan: made for target 'cuda', and this runtime has no CUDA device [plan-target]",
                  "run it in the emulator, slowly, with --device emulator, or compile it without --target cuda");
  if (!isCuda && options.device == Device::Emulator)
    return Status(StatusKind::Unsupported,
                  "plan: made for target 'cpu', and the emulator runs those for 'cuda' [plan-target]",
                  "leave --device out, or compile it with --target cuda");
  if (isCuda) {
    SHARDRT_ASSIGN(kernels, EmulatedKernels::open(loaded.folder, loaded.plan, options.seed));
    return {};
  }
  SHARDRT_ASSIGN(kernels, KernelLibrary::open(loaded.folder, loaded.plan));
  return {};
}

Status Trainer::runStep(StepReport &report) {
  if (broken)
    return Status(StatusKind::Aborted, "an earlier step has failed", "make a new trainer");
  if (!order)
    return Status(StatusKind::InvalidArgument, "no data to train on", "make a trainer with a dataset");
  StepInput input;
  input.step = nextStep;
  double base = options.learningRate.value_or(plannedRate);
  double rate = learningRate(loaded.plan.training(), base, nextStep, options.steps);
  input.learningRate = static_cast<float>(rate);
  input.samples = order->samplesOfStep(nextStep);
  world.beginStep();
  // One reference, so that the task fits into the function object without an allocation.
  auto task = [this, &input](int64_t rank) { return executors[rank]->runStep(input); };
  if (Status status = runOnRanks(std::ref(task)); !status.isOk()) {
    broken = true;
    return status;
  }
  report = StepReport();
  report.step = nextStep++;
  report.learningRate = rate;
  readOutputs(report);
  lastReport = report;
  return options.checksFinite ? checkFinite(input, report) : Status();
}

//===-- Evaluation ------------------------------------------------------------------------------------------------===//

namespace {

/// Whether a batch can be filled with samples that count nothing: some labels are all of the loss's weight.
bool canPad(const plan::Plan &plan) {
  return std::ranges::any_of(plan.inputs(), [](const plan::Input &input) { return input.has_padding(); });
}

/// What the plan or the data lack for an evaluation.
Status checkEvaluation(const plan::Plan &plan, const Dataset &dataset) {
  for (const plan::Program &program : plan.programs())
    if (program.evaluation().schedule().empty())
      return Status(StatusKind::Unsupported, "the plan has no schedule of evaluation [run-evaluation]",
                    "compile the model again");
  int64_t needed = canPad(plan) ? 1 : plan.training().global_batch();
  if (dataset.samples() >= needed)
    return {};
  return Status(StatusKind::InvalidArgument,
                fmt::format("evaluation: {} samples, expected at least {} [run-evaluation]", dataset.samples(), needed),
                "the loss knows no labels that count nothing, with which a batch could be filled: use more data, or "
                "compile with a smaller --global-batch");
}

} // namespace

Status Trainer::evaluate(const Dataset &dataset, EvaluationReport &report) {
  if (broken)
    return Status(StatusKind::Aborted, "an earlier step has failed", "make a new trainer");
  SHARDRT_RETURN_IF_ERROR(checkEvaluation(loaded.plan, dataset));
  int64_t batch = loaded.plan.training().global_batch();
  report = EvaluationReport();
  report.dropped = canPad(loaded.plan) ? 0 : dataset.samples() % batch;
  report.samples = dataset.samples() - report.dropped;
  double sum = 0, weight = 0;
  std::vector<int64_t> samples(batch);
  for (int64_t first = 0; first < report.samples; first += batch) {
    for (int64_t i = 0; i < batch; ++i)
      samples[i] = first + i < report.samples ? first + i : -1;
    world.beginStep();
    auto task = [&](int64_t rank) { return executors[rank]->runEvaluation(dataset, samples); };
    if (Status status = runOnRanks(std::ref(task)); !status.isOk()) {
      broken = true;
      return status;
    }
    sum += readEvaluation("evaluation_sum").value_or(0);
    weight += readEvaluation("evaluation_weight").value_or(0);
  }
  if (weight == 0)
    return Status(StatusKind::InvalidArgument, "evaluation: no label of the data counts [run-evaluation]",
                  "look at the labels: all of them have the value that the model ignores");
  report.loss = sum / weight;
  return {};
}

std::optional<double> Trainer::readEvaluation(std::string_view name) const {
  for (int64_t rank : outputRanks)
    for (const plan::Output &output : executors[rank]->program().evaluation().outputs())
      if (output.name() == name)
        return executors[rank]->readOutput(output);
  return std::nullopt;
}

//===-- Steps -----------------------------------------------------------------------------------------------------===//

/// With a loss scale above 1, an overflow of the gradient alone is what the scale is there for.
Status Trainer::checkFinite(const StepInput &input, const StepReport &report) {
  auto isFinite = [](const std::optional<double> &value) { return !value || std::isfinite(*value); };
  bool isScaled = report.lossScale.value_or(1) > 1;
  if (isFinite(report.loss) && (isScaled || isFinite(report.gradientNorm)))
    return {};
  broken = true;
  world.beginStep();
  auto task = [this, &input](int64_t rank) { return executors[rank]->replayStep(input); };
  Status status = runOnRanks(std::ref(task));
  if (status.isOk())
    status = Status(StatusKind::InvalidArgument,
                    fmt::format("step {}: loss {}, gradient norm {}, but every instruction of it writes finite numbers "
                                "[run-nan]",
                                report.step + 1, report.loss.value_or(0), report.gradientNorm.value_or(0)));
  return status.addNote("look at the samples of this step and at the weights, or try a smaller --lr");
}

std::string Trainer::remarks() const {
  const std::string &precision = loaded.plan.training().precision();
  if (precision == "bf16" && !hasArithmetic(plan::BF16))
    return "this CPU has no bf16 arithmetic: matrix products are computed in fp32 on widened operands";
  if (precision == "fp16")
    return "no fp16 arithmetic on CPUs: matrix products are computed in fp32 on widened operands";
  return {};
}

/// Outputs of one rank of each stage; where several stages have one, the first stage's.
void Trainer::readOutputs(StepReport &report) const {
  auto take = [](std::optional<double> &field, double value) {
    if (!field)
      field = value;
  };
  for (int64_t rank : outputRanks) {
    const RankExecutor &executor = *executors[rank];
    for (const plan::Output &output : executor.program().outputs()) {
      double value = executor.readOutput(output);
      if (output.name() == "loss")
        take(report.loss, value);
      else if (output.name() == "grad_norm")
        take(report.gradientNorm, value);
      else if (output.name() == "loss_weight")
        take(report.lossWeight, value);
      else if (output.name() == "gradient_scale")
        take(report.gradientScale, value);
      else if (output.name() == "skipped")
        take(report.skipped, value);
      else if (output.name() == "loss_scale")
        take(report.lossScale, value);
    }
  }
}

Result<std::vector<NamedTensor>> Trainer::gradients() const {
  if (nextStep == 0)
    return Status(StatusKind::InvalidArgument, "gradients: no step has run", "run a step first");
  if (!lastReport.gradientScale)
    return Status(StatusKind::Unsupported, "gradients: the plan has no output 'gradient_scale'",
                  "compile the model again");
  return gatherTensors(loaded.plan, mesh, executors, world, plan::GRADIENT, *lastReport.gradientScale);
}

Result<std::vector<NamedTensor>> Trainer::parameters() const {
  return gatherTensors(loaded.plan, mesh, executors, world, plan::PARAMETER, 1.0);
}

//===-- Threads ---------------------------------------------------------------------------------------------------===//

Status Trainer::runOnRanks(std::function<Status(int64_t)> task) {
  std::unique_lock lock(mutex);
  currentTask = std::move(task);
  running = static_cast<int64_t>(threads.size());
  ++taskNumber;
  taskReady.notify_all();
  taskDone.wait(lock, [this] { return running == 0; });
  return firstFailure();
}

void Trainer::rankMain(int64_t rank) {
  uint64_t seen = 0;
  std::unique_lock lock(mutex);
  while (true) {
    taskReady.wait(lock, [&] { return ending || taskNumber != seen; });
    if (ending) {
      lock.unlock();
      executors[rank].reset(); // on its own thread, as it was made
      return;
    }
    seen = taskNumber;
    lock.unlock();
    Status status;
    try {
      status = currentTask(rank);
    } catch (...) {
      status = statusOfException().withPrefix(mesh.describe(rank) + ": ");
    }
    if (!status.isOk())
      world.communicator(rank).abort();
    lock.lock();
    statuses[rank] = std::move(status);
    if (--running == 0)
      taskDone.notify_one();
  }
}

/// The errors of the ranks where something went wrong; those that only ended with them are left out.
Status Trainer::firstFailure() {
  Status result, ended;
  for (Status &status : statuses) {
    if (status.kind() == StatusKind::Aborted)
      ended.append(std::move(status));
    else if (!status.isOk())
      result.append(std::move(status));
    status = Status();
  }
  return result.isOk() ? ended : result;
}

void Trainer::stopRanks() {
  {
    std::lock_guard lock(mutex);
    ending = true;
  }
  taskReady.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace shardc::rt
