//===-- RankExecutor.h - one rank's program -----------------------------------------------------------------------===//
//
// Walks a schedule of a program, of training or of evaluation, and issues its instructions in list order. On a CPU a
// rank is one thread (with helpers inside kernels and products), which is one of the orders that streams and events
// allow; so events need no waiting. Nothing is decided here, and nothing is allocated after the executor has been
// created.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_EXECUTOR_RANKEXECUTOR_H
#define SHARDC_RUNTIME_EXECUTOR_RANKEXECUTOR_H

#include "runtime/device/cpu/Arena.h"
#include "runtime/executor/Instructions.h"
#include "runtime/executor/Parameters.h"

#include <memory>
#include <vector>

namespace shardc::rt {

/// What the ranks of a process share, all of it read only but the communicators.
struct SharedState {
  const plan::Plan &plan;
  const MeshView &mesh;
  const Kernels &kernels;
  const WeightFiles &weights;
  const Dataset *dataset;
  uint64_t seed = 0;
  int threadsPerRank = 1;
  bool poisons = false;
};

/// What distinguishes one step from another.
struct StepInput {
  int64_t step = 0;
  float learningRate = 0;
  std::span<const int64_t> samples; // global batch, in order
};

class RankExecutor {
public:
  /// Allocates the arena, prepares all instructions, and initialises parameters and states. To be called, like all
  /// else, on the thread of the rank.
  static Result<std::unique_ptr<RankExecutor>> create(const SharedState &shared, int64_t rank,
                                                      Communicator &communicator);

  ~RankExecutor();

  /// Runs the schedule once. An error says the rank, the instruction and its node.
  Status runStep(const StepInput &input);
  /// Runs the schedule of evaluation once, on samples of another dataset; a negative sample is padding. Parameters,
  /// states and gradients stay as they are.
  Status runEvaluation(const Dataset &dataset, std::span<const int64_t> samples);
  /// Runs the last step again, whose update was left out, and fails at the first instruction that writes a NaN, or else
  /// at the end with the first one that wrote an infinity.
  Status replayStep(const StepInput &input);

  int64_t arenaBytes() const { return arena.bytes(); }
  /// What is allocated beside the arena: the workspace of matrix products.
  int64_t workspaceBytes() const { return workspace.bytes(); }
  const plan::Program &program() const { return programOfRank; }
  /// Slot 0 of a buffer.
  const char *bufferData(const plan::Buffer &buffer) const { return arena.data() + buffer.offset(); }
  /// The value of an output; the outputs are scalars.
  double readOutput(const plan::Output &output) const;

private:
  struct PreparedBlock {
    std::vector<std::unique_ptr<Instruction>> instructions;
    std::vector<const plan::Buffer *> scratch;   // to poison when a run begins
    std::vector<const plan::Message *> handedOn; // stashed gradients that it sends: dead when they are sent
    int64_t firstNumber = 0;                     // of its instructions, in the program
  };

  using Schedule = google::protobuf::RepeatedPtrField<plan::ScheduleEntry>;
  struct PreparedSchedule {
    const Schedule *entries = nullptr;
    std::vector<std::vector<SlotRegister>> registers; // by entry
  };

  RankExecutor(const SharedState &shared, int64_t rank, Communicator &communicator);
  Status prepareBlocks();
  Status initialise();
  Status initialiseBuffer(const plan::Buffer &buffer);
  PreparedSchedule prepareSchedule(const Schedule &entries) const;
  Status runTraining(const StepInput &input);
  Status runSchedule(const PreparedSchedule &schedule);
  Status runEntry(const plan::ScheduleEntry &entry, std::span<const SlotRegister> registers);
  Status checkFinite(const plan::ScheduleEntry &entry, size_t instruction);
  Status describeFailure(Status status, const plan::ScheduleEntry &entry, size_t instruction) const;
  void poisonBuffer(const plan::Buffer &buffer, int64_t slot);
  void preparePoison();
  void poisonGradients(bool ofParameters);
  void poisonAfter(const plan::ScheduleEntry &entry);

  SharedState shared;
  int64_t rank;
  const plan::Program &programOfRank;
  GemmCache gemms;
  ThreadPool threads;
  Arena arena, workspace;
  shardrtControl control = {};
  RunContext context;
  std::vector<PreparedBlock> blocks;
  PreparedSchedule training, evaluation;
  std::vector<const plan::Buffer *> diesInBackward; // stash whose slot ends with the backward of its micro-batch
  const plan::Buffer *lossScale = nullptr;          // the state, where the plan has one
  RankMark mark;
  bool checksFinite = false;
  Status firstInfinity; // of a replay
};

} // namespace shardc::rt

#endif
