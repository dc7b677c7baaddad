//===-- CheckPlan.cpp - is a plan well-formed ---------------------------------------------------------------------===//

#include "runtime/format/CheckPlan.h"

#include "runtime/format/Query.h"
#include "shardrt/control.h"

#include <array>
#include <fmt/format.h>
#include <limits>

namespace shardc::rt {
namespace {

constexpr int64_t kMaxBytes = int64_t(1) << 56;
constexpr int64_t kMaxRanks = int64_t(1) << 20; // as many as shardc plans for

/// a * b, or -1 where that is negative or beyond any memory.
int64_t checkedProduct(int64_t a, int64_t b) {
  int64_t product;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) || product > kMaxBytes)
    return -1;
  return product;
}

/// Whether an index names one of `count` things; none that is beyond an int does.
bool isBelow(uint32_t index, int count) { return static_cast<int64_t>(index) < count; }

class Checker {
public:
  explicit Checker(const plan::Plan &plan) : plan(plan), mesh(plan::Mesh()) {}

  Status run() {
    SHARDRT_RETURN_IF_ERROR(checkMesh());
    mesh = MeshView(plan.mesh());
    checkTraining();
    checkParameters();
    checkCommunicators();
    if (plan.programs_size() != mesh.axisSize("pp"))
      fail("plan-mesh", "plan: {} programs, expected one for each of the {} pp coordinates", plan.programs_size(),
           mesh.axisSize("pp"));
    for (int pp = 0; pp < plan.programs_size(); ++pp)
      checkProgram(pp);
    return std::move(status);
  }

private:
  template <typename... Args> void fail(const char *label, fmt::format_string<Args...> format, Args &&...args) {
    std::string message = fmt::format(format, std::forward<Args>(args)...);
    status.append(Status(StatusKind::Corrupt, fmt::format("{} [{}]", message, label)));
  }

  Status checkMesh() {
    int64_t ranks = 1;
    for (const plan::Mesh::Axis &axis : plan.mesh().axes()) {
      if (axis.size() < 1 || axis.size() > kMaxRanks / ranks)
        return Status(StatusKind::Corrupt,
                      fmt::format("plan: mesh axis '{}' has size {}, expected at least 1 and at most {} ranks in all "
                                  "[plan-mesh]",
                                  axis.name(), axis.size(), kMaxRanks));
      ranks *= axis.size();
    }
    if (plan.mesh().axes_size() > SHARDRT_MAX_MESH_AXES)
      return Status(StatusKind::Corrupt, fmt::format("plan: {} mesh axes, expected at most {} [plan-mesh]",
                                                     plan.mesh().axes_size(), SHARDRT_MAX_MESH_AXES));
    return {};
  }

  void checkTraining() {
    const plan::Training &training = plan.training();
    int64_t dp = mesh.axisSize("dp");
    if (training.micro_batch() < 1 || training.micro_batches() < 1 ||
        training.global_batch() != checkedProduct(checkedProduct(training.micro_batch(), training.micro_batches()), dp))
      fail("plan-training", "plan: global batch {}, expected micro-batch {} · micro-batches {} · dp {}",
           training.global_batch(), training.micro_batch(), training.micro_batches(), dp);
  }

  void checkParameters() {
    for (const plan::Parameter &parameter : plan.parameters()) {
      if (elementBytes(parameter.type()) == 0)
        fail("plan-buffer", "parameter '{}': no element type", parameter.name());
      if (!isBelow(parameter.weight_file(), plan.weight_files_size()))
        fail("plan-index", "parameter '{}': weight file {} of {}", parameter.name(), parameter.weight_file(),
             plan.weight_files_size());
      if (parameter.file_offset() < 0)
        fail("plan-index", "parameter '{}': file offset {}", parameter.name(), parameter.file_offset());
      for (int64_t size : parameter.shape())
        if (size < 1)
          fail("plan-shape", "parameter '{}': dimension of size {}", parameter.name(), size);
      checkSharding(parameter);
    }
  }

  void checkSharding(const plan::Parameter &parameter) {
    const plan::Sharding &sharding = parameter.sharding();
    if (sharding.dims_size() != 0 && sharding.dims_size() != parameter.shape_size()) {
      fail("plan-shape", "parameter '{}': sharding of rank {}, expected {}", parameter.name(), sharding.dims_size(),
           parameter.shape_size());
      return;
    }
    for (int d = 0; d < sharding.dims_size(); ++d) {
      int64_t product = 1;
      for (const plan::Sharding::SubDim &sub : sharding.dims(d).sub_dims()) {
        product = checkedProduct(product, sub.size());
        int64_t parts = 1;
        for (uint32_t axis : sub.axes()) {
          if (axis >= mesh.axes()) {
            fail("plan-index", "parameter '{}': mesh axis {} of {}", parameter.name(), axis, mesh.axes());
            return;
          }
          parts *= mesh.axisSize(axis);
        }
        if (sub.size() < 1 || sub.size() % parts != 0)
          fail("plan-shape", "parameter '{}': sub-dimension of size {} over {} ranks", parameter.name(), sub.size(),
               parts);
      }
      if (sharding.dims(d).sub_dims_size() > 0 && product < parameter.shape(d))
        fail("plan-shape", "parameter '{}': sub-dimensions of dimension {} have {} elements, expected at least {}",
             parameter.name(), d, product, parameter.shape(d));
    }
  }

  void checkCommunicators() {
    for (const plan::Communicator &communicator : plan.communicators()) {
      for (uint32_t axis : communicator.axes())
        if (axis >= mesh.axes())
          fail("plan-communicator", "communicator '{}': mesh axis {} of {}", communicator.name(), axis, mesh.axes());
      if (communicator.members_size() > 0 && communicator.axes_size() != 1)
        fail("plan-communicator", "communicator '{}': members of {} axes, expected one axis", communicator.name(),
             communicator.axes_size());
    }
  }

  void checkProgram(int pp) {
    const plan::Program &program = plan.programs(pp);
    where = fmt::format("program pp {}", pp);
    if (program.arena_bytes() < 0 || program.arena_bytes() > kMaxBytes)
      fail("plan-buffer", "{}: arena of {} bytes", where, program.arena_bytes());
    size_t before = status.violations().size();
    for (const plan::Buffer &buffer : program.buffers())
      checkBuffer(program, buffer);
    if (status.violations().size() != before)
      return; // operands are measured against sound buffers only
    std::vector<int> registersOf(program.blocks_size(), std::numeric_limits<int>::max());
    for (const auto *schedule : schedulesOf(program))
      for (const plan::ScheduleEntry &entry : *schedule) {
        if (!isBelow(entry.block(), program.blocks_size())) {
          fail("plan-index", "{}: the schedule runs block {} of {}", where, entry.block(), program.blocks_size());
          return;
        }
        checkRegisters(entry);
        registersOf[entry.block()] = std::min(registersOf[entry.block()], entry.registers_size());
      }
    int number = 0;
    for (int block = 0; block < program.blocks_size(); ++block) {
      registers = registersOf[block];
      maxSlots = &slotsOf(program, block);
      for (const plan::Instruction &instruction : program.blocks(block).instructions()) {
        where = fmt::format("program pp {}, instruction {} {}, node '{}'", pp, number++, instructionName(instruction),
                            instruction.node());
        checkInstruction(program, instruction);
      }
    }
    where = fmt::format("program pp {}", pp);
    registers = 0;
    for (const auto *outputs : {&program.outputs(), &program.evaluation().outputs()})
      for (const plan::Output &output : *outputs)
        checkOperand(program, output.value());
  }

  using Schedule = google::protobuf::RepeatedPtrField<plan::ScheduleEntry>;
  static std::array<const Schedule *, 2> schedulesOf(const plan::Program &program) {
    return {&program.schedule(), &program.evaluation().schedule()};
  }

  void checkRegisters(const plan::ScheduleEntry &entry) {
    for (const auto &pair : entry.registers())
      if (static_cast<int64_t>(pair.micro_batch()) >= plan.training().micro_batches())
        fail("plan-index", "{}: the schedule names micro-batch {} of {}", where, pair.micro_batch(),
             plan.training().micro_batches());
  }

  /// For each register, the largest slot that the schedule gives it in runs of a block.
  const std::vector<uint32_t> &slotsOf(const plan::Program &program, int block) {
    slots.clear();
    for (const auto *schedule : schedulesOf(program))
      for (const plan::ScheduleEntry &entry : *schedule) {
        if (entry.block() != static_cast<uint32_t>(block))
          continue;
        slots.resize(std::max<size_t>(slots.size(), entry.registers_size()));
        for (int i = 0; i < entry.registers_size(); ++i)
          slots[i] = std::max(slots[i], entry.registers(i).slot());
      }
    return slots;
  }

  void checkBuffer(const plan::Program &program, const plan::Buffer &buffer) {
    int64_t bytes = elementBytes(buffer.type());
    for (int64_t size : buffer.shape())
      bytes = checkedProduct(bytes, size);
    if (bytes < 0 || elementBytes(buffer.type()) == 0 || bytes > buffer.bytes())
      fail("plan-buffer", "{}, buffer '{}': {} bytes, expected at least {}", where, buffer.name(), buffer.bytes(),
           bytes);
    if (buffer.slots() < 1)
      fail("plan-buffer", "{}, buffer '{}': no slots", where, buffer.name());
    if (buffer.slots() > 1 && buffer.slot_stride() < buffer.bytes())
      fail("plan-buffer", "{}, buffer '{}': slot stride {}, expected at least {}", where, buffer.name(),
           buffer.slot_stride(), buffer.bytes());
    int64_t last = checkedProduct(std::max<int64_t>(buffer.slots(), 1) - 1, buffer.slot_stride());
    if (buffer.offset() < 0 || buffer.bytes() < 0 || last < 0 || buffer.offset() > kMaxBytes ||
        buffer.bytes() > kMaxBytes || buffer.offset() + last + buffer.bytes() > program.arena_bytes())
      fail("plan-buffer", "{}, buffer '{}': lies beyond the arena's {} bytes", where, buffer.name(),
           program.arena_bytes());
    if (buffer.offset() % std::max<int64_t>(elementBytes(buffer.type()), 1) != 0 ||
        buffer.slot_stride() % std::max<int64_t>(elementBytes(buffer.type()), 1) != 0)
      fail("plan-buffer", "{}, buffer '{}': offset {} is not aligned to its elements", where, buffer.name(),
           buffer.offset());
    bool needsParameter = buffer.region() == plan::PARAMETER;
    if (buffer.parameter() >= plan.parameters_size() || (needsParameter && buffer.parameter() < 0))
      fail("plan-index", "{}, buffer '{}': parameter {} of {}", where, buffer.name(), buffer.parameter(),
           plan.parameters_size());
    if (buffer.block() >= program.blocks_size())
      fail("plan-index", "{}, buffer '{}': block {} of {}", where, buffer.name(), buffer.block(),
           program.blocks_size());
  }

  void checkOperand(const plan::Program &program, const plan::Operand &operand) {
    if (!isBelow(operand.buffer(), program.buffers_size())) {
      fail("plan-index", "{}: buffer {} of {}", where, operand.buffer(), program.buffers_size());
      return;
    }
    const plan::Buffer &buffer = program.buffers(operand.buffer());
    if (operand.sizes_size() != operand.strides_size()) {
      fail("plan-operand", "{}: buffer '{}' with {} sizes and {} strides", where, buffer.name(), operand.sizes_size(),
           operand.strides_size());
      return;
    }
    checkRegister(buffer, operand.register_());
    int64_t extent = 1; // one past the last element, from the offset
    for (int i = 0; i < operand.sizes_size(); ++i) {
      if (operand.sizes(i) == 0)
        return;
      int64_t reach = checkedProduct(operand.sizes(i) - 1, operand.strides(i));
      extent += reach;
      if (operand.sizes(i) < 0 || reach < 0 || extent > kMaxBytes) {
        fail("plan-operand", "{}: buffer '{}' with size {} and stride {}", where, buffer.name(), operand.sizes(i),
             operand.strides(i));
        return;
      }
    }
    int64_t elements = buffer.bytes() / elementBytes(buffer.type());
    if (operand.offset() < 0 || operand.offset() > kMaxBytes || operand.offset() + extent > elements)
      fail("plan-operand", "{}: reaches element {} of buffer '{}', which has {}", where, operand.offset() + extent - 1,
           buffer.name(), elements);
  }

  void checkRegister(const plan::Buffer &buffer, int index) {
    if (index < 0)
      return;
    if (index >= registers) {
      fail("plan-index", "{}: buffer '{}' in register {}, but its block runs with {}", where, buffer.name(), index,
           registers);
      return;
    }
    if (index < static_cast<int>(maxSlots->size()) && (*maxSlots)[index] >= buffer.slots())
      fail("plan-index", "{}: slot {} of buffer '{}', which has {}", where, (*maxSlots)[index], buffer.name(),
           buffer.slots());
  }

  void checkInstruction(const plan::Program &program, const plan::Instruction &instruction) {
    for (uint32_t event : instruction.waits())
      if (event >= program.events())
        fail("plan-index", "{}: waits for event {} of {}", where, event, program.events());
    if (instruction.records() >= static_cast<int64_t>(program.events()))
      fail("plan-index", "{}: records event {} of {}", where, instruction.records(), program.events());
    if (instruction.stream() >= std::max(program.streams(), 1u))
      fail("plan-index", "{}: stream {} of {}", where, instruction.stream(), program.streams());
    switch (instruction.kind_case()) {
    case plan::Instruction::kKernel:
      return checkKernel(program, instruction.kernel());
    case plan::Instruction::kGemm:
      return checkGemm(program, instruction.gemm());
    case plan::Instruction::kCollective:
      return checkCollective(program, instruction.collective());
    case plan::Instruction::kGroup:
      for (const plan::Message &message : instruction.group().messages())
        checkMessage(program, message);
      return;
    case plan::Instruction::kLoadInput:
      if (!isBelow(instruction.load_input().input(), plan.inputs_size()))
        fail("plan-index", "{}: input {} of {}", where, instruction.load_input().input(), plan.inputs_size());
      return checkOperand(program, instruction.load_input().value());
    case plan::Instruction::kCopy:
      return checkCopy(program, instruction.copy());
    case plan::Instruction::KIND_NOT_SET:
      fail("plan-index", "{}: of an unknown kind", where);
    }
  }

  void checkKernel(const plan::Program &program, const plan::KernelCall &call) {
    if (!isBelow(call.kernel(), plan.kernels_size()))
      fail("plan-index", "{}: kernel {} of {}", where, call.kernel(), plan.kernels_size());
    if (call.items() < 0)
      fail("plan-shape", "{}: {} work items", where, call.items());
    for (const plan::Operand &operand : call.reads())
      checkOperand(program, operand);
    for (const plan::Operand &operand : call.writes())
      checkOperand(program, operand);
  }

  void checkGemm(const plan::Program &program, const plan::Gemm &gemm) {
    size_t before = status.violations().size();
    checkOperand(program, gemm.a());
    checkOperand(program, gemm.b());
    checkOperand(program, gemm.c());
    if (gemm.has_bias())
      checkOperand(program, gemm.bias());
    if (status.violations().size() != before)
      return;
    auto size = [](const plan::Operand &operand, int fromEnd) { return operand.sizes(operand.sizes_size() - fromEnd); };
    const plan::Operand &a = gemm.a(), &b = gemm.b(), &c = gemm.c();
    if (a.sizes_size() < 2 || b.sizes_size() < 2 || c.sizes_size() < 2 || a.sizes_size() > c.sizes_size() ||
        b.sizes_size() > c.sizes_size()) {
      fail("plan-shape", "{}: operands of rank {}, {} and {}", where, a.sizes_size(), b.sizes_size(), c.sizes_size());
      return;
    }
    bool fits = size(a, 2) == size(c, 2) && size(b, 1) == size(c, 1) && size(a, 1) == size(b, 2);
    for (int i = 3; i <= c.sizes_size(); ++i)
      for (const plan::Operand *operand : {&a, &b})
        fits &= i > operand->sizes_size() || size(*operand, i) == size(c, i) || size(*operand, i) == 1;
    if (gemm.has_bias())
      fits &= gemm.bias().sizes_size() == 1 && gemm.bias().sizes(0) == size(c, 1);
    if (!fits)
      fail("plan-shape", "{}: shapes {} · {} into {} do not fit", where, shapeOf(a), shapeOf(b), shapeOf(c));
  }

  static std::string shapeOf(const plan::Operand &operand) {
    return formatShape({operand.sizes().begin(), operand.sizes().end()});
  }

  void checkCommunicator(uint32_t index) {
    if (!isBelow(index, plan.communicators_size()))
      fail("plan-index", "{}: communicator {} of {}", where, index, plan.communicators_size());
  }

  void checkCollective(const plan::Program &program, const plan::Collective &collective) {
    checkCommunicator(collective.communicator());
    size_t before = status.violations().size();
    checkOperand(program, collective.input());
    checkOperand(program, collective.output());
    if (status.violations().size() != before)
      return;
    if (!isContiguous(collective.input()) || !isContiguous(collective.output()))
      fail("plan-operand", "{}: operands of a collective must be contiguous", where);
    if (program.buffers(collective.input().buffer()).type() != program.buffers(collective.output().buffer()).type())
      fail("plan-shape", "{}: input and output have different element types", where);
  }

  void checkMessage(const plan::Program &program, const plan::Message &message) {
    checkCommunicator(message.communicator());
    if (static_cast<int64_t>(message.peer()) >= mesh.axisSize("pp"))
      fail("plan-index", "{}: message '{}' with pp {} of {}", where, message.identity(), message.peer(),
           mesh.axisSize("pp"));
    checkOperand(program, message.value());
    if (message.value().sizes_size() == message.value().strides_size() && !isContiguous(message.value()))
      fail("plan-operand", "{}: message '{}' is not contiguous", where, message.identity());
  }

  void checkCopy(const plan::Program &program, const plan::Copy &copy) {
    size_t before = status.violations().size();
    checkOperand(program, copy.from());
    checkOperand(program, copy.to());
    if (status.violations().size() != before)
      return;
    if (shapeOf(copy.from()) != shapeOf(copy.to()) ||
        program.buffers(copy.from().buffer()).type() != program.buffers(copy.to().buffer()).type())
      fail("plan-shape", "{}: copies {} to {}", where, shapeOf(copy.from()), shapeOf(copy.to()));
  }

  const plan::Plan &plan;
  MeshView mesh; // of no axes until the axes are checked: sizes must not overflow
  Status status;
  std::string where;
  int registers = 0;           // of the block being checked
  std::vector<uint32_t> slots; // storage of maxSlots
  const std::vector<uint32_t> *maxSlots = nullptr;
};

} // namespace

Status checkPlan(const plan::Plan &plan) { return Checker(plan).run(); }

} // namespace shardc::rt
