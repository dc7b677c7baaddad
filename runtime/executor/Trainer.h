//===-- Trainer.h - a plan in training ----------------------------------------------------------------------------===//
//
// Runs the ranks of a plan that are local to this process, all of them if nothing else is said, as threads. The threads
// live as long as the trainer; between steps they sleep.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_EXECUTOR_TRAINER_H
#define SHARDC_RUNTIME_EXECUTOR_TRAINER_H

#include "runtime/comm/local/LocalWorld.h"
#include "runtime/executor/RankExecutor.h"
#include "runtime/format/LoadPlan.h"
#include "runtime/io/SafeTensors.h"
#include "runtime/io/SampleOrder.h"

#include <functional>
#include <optional>
#include <thread>

namespace shardc::rt {

/// What runs the kernels of a plan.
enum class Device { Cpu, Emulator };

struct TrainerOptions {
  Device device = Device::Cpu;
  uint64_t seed = 0;
  int64_t steps = 100; // of the whole run, for learning-rate schedules without an end of their own
  int threadsPerRank = 1;
  bool shuffles = true;
  bool poisons = false;
  bool checksFinite = false;          // a step without finite loss or gradient is an error that names its origin
  std::optional<double> learningRate; // instead of the plan's
};

/// What a step reports. Values that the plan does not have are absent.
struct StepReport {
  int64_t step = 0;
  double learningRate = 0;
  std::optional<double> loss, gradientNorm, lossWeight, gradientScale, skipped, lossScale;
};

/// The loss over a whole dataset.
struct EvaluationReport {
  double loss = 0;     // mean over all that counts
  int64_t samples = 0; // that it is the mean of
  int64_t dropped = 0; // which do not fill the last batch, where that cannot be padded
};

class Trainer {
public:
  /// Opens kernels and weights, starts the ranks, and lets each one prepare. The plan and the dataset must outlive the
  /// trainer; without a dataset it only evaluates. `world` says which ranks are local, null that all are; where they
  /// are not, every process makes the same calls.
  static Result<std::unique_ptr<Trainer>> create(const LoadedPlan &plan, const Dataset *dataset,
                                                 const TrainerOptions &options, World *world = nullptr);
  ~Trainer();

  /// Runs the next step on all ranks. After an error no further step can run. On failure the error of the rank where
  /// it began comes first.
  Status runStep(StepReport &report);
  /// The loss of the parameters as they are, without dropout, over all of a dataset in its order. Nothing that training
  /// uses changes. S and W of the mean are added up in f64, batch by batch, so that depth and schedule change no bit.
  Status evaluate(const Dataset &dataset, EvaluationReport &report);
  int64_t stepsDone() const { return nextStep; }

  /// Bytes of a rank's arena, as allocated; -1 where it is another process's.
  int64_t arenaBytes(int64_t rank) const { return executors[rank] ? executors[rank]->arenaBytes() : -1; }
  /// Bytes beside the arena of a rank.
  int64_t workspaceBytes(int64_t rank) const { return executors[rank] ? executors[rank]->workspaceBytes() : -1; }
  /// What to tell about how the plan runs on this machine; empty where there is nothing.
  std::string remarks() const;
  /// Null without a dataset.
  const SampleOrder *sampleOrder() const { return order ? &*order : nullptr; }

  /// The mean gradients of the last step, reduced, before clipping, in global shapes; on the process of rank 0. Others
  /// have none, but call it too.
  Result<std::vector<NamedTensor>> gradients() const;
  Result<std::vector<NamedTensor>> parameters() const;

private:
  Trainer(const LoadedPlan &plan, const TrainerOptions &options, World *world);
  Status prepare(const Dataset *dataset);
  Status openKernels();
  std::optional<double> readEvaluation(std::string_view name) const;
  Status runOnRanks(std::function<Status(int64_t rank)> task);
  void rankMain(int64_t rank);
  Status firstFailure();
  void readOutputs(StepReport &report) const;
  Status checkFinite(const StepInput &input, const StepReport &report);
  void stopRanks();

  const LoadedPlan &loaded;
  TrainerOptions options;
  MeshView mesh;
  std::unique_ptr<Kernels> kernels;
  std::optional<WeightFiles> weights;
  std::optional<SampleOrder> order;
  std::optional<SharedState> shared;
  std::unique_ptr<LocalWorld> ownWorld; // where none was given
  World &world;
  std::vector<std::unique_ptr<RankExecutor>> executors; // by rank; null where it is another process's
  std::vector<int64_t> outputRanks;                     // local ones that have all outputs
  double plannedRate = 0;                               // learning rate of the plan
  int64_t nextStep = 0;
  bool broken = false;
  StepReport lastReport;

  // The ranks' threads sleep until there is a task.
  std::mutex mutex;
  std::condition_variable taskReady, taskDone;
  std::function<Status(int64_t)> currentTask;
  uint64_t taskNumber = 0;
  int64_t running = 0;
  bool ending = false;
  std::vector<Status> statuses;
  std::vector<std::thread> threads;
};

} // namespace shardc::rt

#endif
