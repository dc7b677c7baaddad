//===-- RankExecutor.cpp - one rank's program ---------------------------------------------------------------------===//

#include "runtime/executor/RankExecutor.h"

#include "runtime/executor/CheckFinite.h"

#include <cstring>
#include <fmt/format.h>
#include <set>

namespace shardc::rt {

RankExecutor::RankExecutor(const SharedState &shared, int64_t rank, Communicator &communicator)
    : shared(shared), rank(rank), programOfRank(shared.plan.programs(shared.mesh.coordinate(rank, "pp"))),
      gemms(shared.threadsPerRank), threads(shared.threadsPerRank) {
  control.seed = shared.seed;
  control.lossScale = 1;
  Coordinates at = shared.mesh.coordinates(rank);
  std::copy(at.begin(), at.end(), control.coordinates);
  context.control = &control;
  context.threads = &threads;
  context.communicator = &communicator;
  communicator.watch(&mark);
  context.dataset = shared.dataset;
  context.microBatchSamples = shared.plan.training().micro_batch();
  context.replicas = shared.mesh.axisSize("dp");
  context.replica = shared.mesh.coordinate(rank, "dp");
}

RankExecutor::~RankExecutor() { context.communicator->watch(nullptr); }

Result<std::unique_ptr<RankExecutor>> RankExecutor::create(const SharedState &shared, int64_t rank,
                                                           Communicator &communicator) {
  std::unique_ptr<RankExecutor> executor(new RankExecutor(shared, rank, communicator));
  SHARDRT_ASSIGN(executor->arena, Arena::allocate(executor->programOfRank.arena_bytes()));
  executor->context.arena = executor->arena.data();
  SHARDRT_RETURN_IF_ERROR(executor->prepareBlocks());
  SHARDRT_ASSIGN(executor->workspace, Arena::allocate(executor->gemms.workspaceBytes()));
  executor->context.workspace = executor->workspace.data();
  executor->training = executor->prepareSchedule(executor->programOfRank.schedule());
  executor->evaluation = executor->prepareSchedule(executor->programOfRank.evaluation().schedule());
  executor->preparePoison();
  SHARDRT_RETURN_IF_ERROR(executor->initialise());
  return executor;
}

//===-- Preparation -----------------------------------------------------------------------------------------------===//

Status RankExecutor::prepareBlocks() {
  PrepareContext prepare = {shared.plan, programOfRank, shared.mesh, rank, shared.kernels, gemms};
  int64_t number = 0;
  for (int index = 0; index < programOfRank.blocks_size(); ++index) {
    const plan::Block &block = programOfRank.blocks(index);
    PreparedBlock &prepared = blocks.emplace_back();
    prepared.firstNumber = number;
    for (const plan::Instruction &instruction : block.instructions()) {
      auto result = prepareInstruction(prepare, instruction);
      if (!result.isOk())
        return result.takeStatus().withPrefix(
            fmt::format("{}, instruction {} {}, node '{}': ", shared.mesh.describe(rank), number,
                        instructionName(instruction), instruction.node()));
      prepared.instructions.push_back(std::move(*result));
      ++number;
    }
  }
  return {};
}

RankExecutor::PreparedSchedule RankExecutor::prepareSchedule(const Schedule &entries) const {
  PreparedSchedule prepared;
  prepared.entries = &entries;
  for (const plan::ScheduleEntry &entry : entries) {
    std::vector<SlotRegister> &own = prepared.registers.emplace_back();
    for (const auto &pair : entry.registers())
      own.push_back({pair.micro_batch(), pair.slot()});
  }
  return prepared;
}

Status RankExecutor::initialise() {
  if (shared.poisons)
    for (const plan::Buffer &buffer : programOfRank.buffers())
      for (int64_t slot = 0; slot < buffer.slots(); ++slot)
        poisonBuffer(buffer, slot);
  for (const plan::Buffer &buffer : programOfRank.buffers())
    SHARDRT_RETURN_IF_ERROR(initialiseBuffer(buffer));
  return {};
}

Status RankExecutor::initialiseBuffer(const plan::Buffer &buffer) {
  char *data = arena.data() + buffer.offset();
  if (buffer.region() == plan::STATE && buffer.name() == "next_loss_scale" && buffer.type() == plan::F32)
    lossScale = &buffer;
  if (buffer.region() == plan::STATE)
    fill(buffer.type(), data, buffer.bytes(), buffer.initial_value());
  if (buffer.region() != plan::PARAMETER)
    return {};
  const plan::Parameter &parameter = shared.plan.parameters(buffer.parameter());
  if (parameter.type() != buffer.type())
    return Status(StatusKind::Corrupt, fmt::format("parameter '{}': stored as {}, expected {}", parameter.name(),
                                                   elementName(parameter.type()), elementName(buffer.type())));
  return readParameter(parameter, shared.weights.file(parameter.weight_file()), shared.mesh, rank, data,
                       elementCount(buffer.shape()) * elementBytes(buffer.type()));
}

//===-- Execution -------------------------------------------------------------------------------------------------===//

Status RankExecutor::runStep(const StepInput &input) {
  if (lossScale)
    std::memcpy(&control.lossScale, bufferData(*lossScale), sizeof(float));
  return runTraining(input);
}

Status RankExecutor::replayStep(const StepInput &input) {
  checksFinite = true;
  Status status = runTraining(input); // with the loss scale as it was
  checksFinite = false;
  return status.isOk() ? std::move(firstInfinity) : status;
}

Status RankExecutor::runTraining(const StepInput &input) {
  control.step = input.step;
  mark.step.store(input.step, std::memory_order_relaxed);
  control.learningRate = input.learningRate;
  context.dataset = shared.dataset;
  context.samples = input.samples;
  if (shared.poisons)
    poisonGradients(/*ofParameters=*/true);
  return runSchedule(training);
}

Status RankExecutor::runEvaluation(const Dataset &dataset, std::span<const int64_t> samples) {
  context.dataset = &dataset;
  context.samples = samples;
  if (shared.poisons)
    poisonGradients(/*ofParameters=*/false);
  return runSchedule(evaluation);
}

Status RankExecutor::runSchedule(const PreparedSchedule &schedule) {
  for (int entry = 0; entry < schedule.entries->size(); ++entry) {
    if (Status status = runEntry(schedule.entries->Get(entry), schedule.registers[entry]); !status.isOk()) {
      context.communicator->abort();
      return status;
    }
  }
  Status status = context.communicator->finishStep();
  if (!status.isOk())
    return std::move(status).withPrefix(shared.mesh.describe(rank) + ", end of the step: ");
  return {};
}

Status RankExecutor::runEntry(const plan::ScheduleEntry &entry, std::span<const SlotRegister> registers) {
  PreparedBlock &block = blocks[entry.block()];
  context.registers = registers;
  int64_t microBatch = context.registers.empty() ? 0 : context.registers[0].microBatch;
  control.sampleOffset = microBatch * context.microBatchSamples * context.replicas;
  if (shared.poisons)
    for (const plan::Buffer *buffer : block.scratch)
      poisonBuffer(*buffer, 0);
  mark.block.store(static_cast<int32_t>(entry.block()), std::memory_order_relaxed);
  mark.microBatch.store(static_cast<int32_t>(microBatch), std::memory_order_relaxed);
  for (size_t i = 0; i < block.instructions.size(); ++i) {
    mark.instruction.store(static_cast<int32_t>(i), std::memory_order_relaxed);
    if (Status status = block.instructions[i]->run(context); !status.isOk())
      return describeFailure(std::move(status), entry, i);
    if (checksFinite)
      SHARDRT_RETURN_IF_ERROR(checkFinite(entry, i));
  }
  if (shared.poisons)
    poisonAfter(entry);
  return {};
}

Status RankExecutor::checkFinite(const plan::ScheduleEntry &entry, size_t instruction) {
  std::string buffer;
  const plan::Instruction &done = programOfRank.blocks(entry.block()).instructions(instruction);
  NotFinite found = findNotFinite(programOfRank, done, context, buffer);
  if (found == NotFinite::None || (found == NotFinite::Infinity && !firstInfinity.isOk()))
    return {};
  std::string what = found == NotFinite::NaN ? "NaN" : "infinity";
  Status status =
      describeFailure(Status(StatusKind::InvalidArgument, fmt::format("first {} of step {}, written to '{}' [run-nan]",
                                                                      what, control.step + 1, buffer)),
                      entry, instruction);
  if (done.has_kernel())
    status.addNote("the kernel computes: " + shared.plan.kernels(done.kernel().kernel()).description());
  if (found == NotFinite::Infinity) {
    firstInfinity = std::move(status);
    return {};
  }
  if (!firstInfinity.isOk())
    status.addNote("an infinity came before: " + firstInfinity.message());
  return status;
}

Status RankExecutor::describeFailure(Status status, const plan::ScheduleEntry &entry, size_t instruction) const {
  const plan::Block &block = programOfRank.blocks(entry.block());
  const plan::Instruction &failed = block.instructions(instruction);
  std::string where = fmt::format("{}, instruction {} {}, node '{}': ", shared.mesh.describe(rank),
                                  blocks[entry.block()].firstNumber + static_cast<int64_t>(instruction),
                                  instructionName(failed), failed.node());
  std::string run = fmt::format("in block '{}'", block.name());
  if (!context.registers.empty())
    run += fmt::format(", micro-batch {}, slot {}", context.registers[0].microBatch, context.registers[0].slot);
  return std::move(status).withPrefix(where).addNote(run);
}

double RankExecutor::readOutput(const plan::Output &output) const {
  const plan::Buffer &buffer = programOfRank.buffers(output.value().buffer());
  const char *data = bufferData(buffer) + output.value().offset() * elementBytes(buffer.type());
  auto read = [&]<typename T>(T value) {
    std::memcpy(&value, data, sizeof(T));
    return static_cast<double>(value);
  };
  switch (buffer.type()) {
  case plan::F32:
    return read(float());
  case plan::F64:
    return read(double());
  case plan::I64:
    return read(int64_t());
  case plan::I32:
    return read(int32_t());
  default:
    return read(uint8_t());
  }
}

//===-- Poison ----------------------------------------------------------------------------------------------------===//

void RankExecutor::poisonBuffer(const plan::Buffer &buffer, int64_t slot) {
  poison(buffer.type(), arena.data() + buffer.offset() + slot * buffer.slot_stride(), buffer.bytes());
}

void RankExecutor::preparePoison() {
  std::set<const plan::Buffer *> handedOn;
  for (size_t index = 0; index < blocks.size(); ++index) {
    for (const plan::Buffer &buffer : programOfRank.buffers())
      if (buffer.region() == plan::SCRATCH && (buffer.block() == static_cast<int>(index) || buffer.block() < 0))
        blocks[index].scratch.push_back(&buffer);
    for (const plan::Instruction &instruction : programOfRank.blocks(index).instructions())
      for (const plan::Message &message : instruction.group().messages()) {
        const plan::Buffer &buffer = programOfRank.buffers(message.value().buffer());
        if (!message.send() || !message.backward() || buffer.region() != plan::STASH || message.value().register_() < 0)
          continue;
        blocks[index].handedOn.push_back(&message);
        handedOn.insert(&buffer);
      }
  }
  for (const plan::Buffer &buffer : programOfRank.buffers())
    if (buffer.region() == plan::STASH && !handedOn.contains(&buffer))
      diesInBackward.push_back(&buffer);
}

/// Gradients are undefined when a step of training begins, the sums of the loss also when one of evaluation does.
void RankExecutor::poisonGradients(bool ofParameters) {
  for (const plan::Buffer &buffer : programOfRank.buffers())
    if (buffer.region() == plan::GRADIENT && (ofParameters || buffer.parameter() < 0))
      poisonBuffer(buffer, 0);
}

/// A backward is the end of its micro-batch's slot, but for gradients that are only handed on to the next stage.
void RankExecutor::poisonAfter(const plan::ScheduleEntry &entry) {
  bool isBackward = programOfRank.blocks(entry.block()).action() == plan::Block::BACKWARD;
  if (isBackward && !context.registers.empty()) {
    int64_t slot = context.registers[0].slot;
    for (const plan::Buffer *buffer : diesInBackward)
      if (slot < buffer->slots())
        poisonBuffer(*buffer, slot);
  }
  for (const plan::Message *message : blocks[entry.block()].handedOn)
    poisonBuffer(programOfRank.buffers(message->value().buffer()),
                 context.registers[message->value().register_()].slot);
}

} // namespace shardc::rt
