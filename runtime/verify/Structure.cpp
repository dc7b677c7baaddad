//===-- Structure.cpp - whether a plan is well formed -------------------------------------------------------------===//

#include "runtime/verify/Structure.h"

#include "runtime/format/Query.h"
#include "runtime/verify/Operands.h"
#include "shardrt/control.h"

#include <algorithm>
#include <fmt/format.h>

namespace shardc::rt::verify {
namespace {

constexpr int kMaxAxes = SHARDRT_MAX_MESH_AXES;
constexpr int kMaxRank = 16; // dimensions of a view
constexpr int64_t kMaxStages = 4096;
constexpr int kMaxOperands = 4096; // of one instruction
constexpr uint32_t kMaxStreams = 32;
constexpr uint32_t kMaxEvents = 1 << 20;
constexpr uint32_t kMaxSlots = 1 << 20;
constexpr int64_t kMaxBytes = int64_t(1) << 56;

/// Sum and product that stick at the largest value.
int64_t saturatingAdd(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_add_overflow(a, b, &result) ? INT64_MAX : result;
}
int64_t saturatingMul(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_mul_overflow(a, b, &result) ? INT64_MAX : result;
}

template <typename Sizes> int64_t product(const Sizes &sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result = saturatingMul(result, size);
  return result;
}

template <typename Sizes> std::string shapeName(const Sizes &sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += fmt::format("{}{}", text.empty() ? "" : "x", size);
  return text.empty() ? "a scalar" : text;
}

bool validType(int type) { return elementBytes(plan::ElementType(type)) > 0; }

class StructureCheck {
public:
  StructureCheck(const plan::Plan &plan, Report &report) : plan(plan), report(report) {}

  void run() {
    checkMesh();
    checkTraining();
    if (!report.empty())
      return; // ranks cannot be named
    checkTensors();
    checkCommunicators();
    if (plan.programs_size() != ppSize)
      report.add(
          "plan-mesh", {},
          fmt::format("programs, expected {} (one for each pp coordinate), got {}", ppSize, plan.programs_size()));
    for (int p = 0; p < plan.programs_size(); ++p)
      if (plan.programs(p).pp() != uint32_t(p))
        report.add("plan-mesh", {},
                   fmt::format("pp coordinate of program {}, expected {}, got {}", p, p, plan.programs(p).pp()));
    if (!report.empty())
      return;
    for (program = 0; program < plan.programs_size(); ++program)
      checkProgram();
  }

private:
  const plan::Plan &plan;
  Report &report;
  int64_t ppSize = 1;
  int program = 0;

  const plan::Program &current() const { return plan.programs(program); }

  /// Reports an index that is not below `count`.
  bool checkIndex(const Place &place, std::string_view what, int64_t index, int64_t count) {
    if (index >= 0 && index < count)
      return true;
    report.add("plan-index", place,
               fmt::format("the index of the {} is out of range, expected less than {}, got {}", what, count, index));
    return false;
  }

  void checkMesh() {
    int64_t ranks = 1;
    int pps = 0;
    if (plan.mesh().axes_size() > kMaxAxes)
      report.add("plan-mesh", {},
                 fmt::format("mesh axes, expected at most {}, got {}", kMaxAxes, plan.mesh().axes_size()));
    for (const plan::Mesh::Axis &axis : plan.mesh().axes()) {
      if (axis.size() < 1)
        report.add("plan-mesh", {},
                   fmt::format("size of mesh axis '{}', expected at least 1, got {}", axis.name(), axis.size()));
      ranks = saturatingMul(ranks, axis.size());
      if (axis.name() == "pp") {
        ++pps;
        ppSize = axis.size();
      }
    }
    if (pps != 1)
      report.add("plan-mesh", {}, fmt::format("mesh axes named 'pp', expected 1, got {}", pps));
    if (ppSize > kMaxStages)
      report.add("plan-mesh", {}, fmt::format("pp, expected at most {}, got {}", kMaxStages, ppSize));
    if (ranks > INT32_MAX)
      report.add("plan-mesh", {}, fmt::format("ranks, expected at most {}, got {}", INT32_MAX, ranks));
  }

  void checkTraining() {
    const plan::Training &training = plan.training();
    if (training.micro_batch() < 1 || training.micro_batches() < 1)
      report.add("plan-training", {},
                 fmt::format("micro-batch and micro-batches, expected at least 1, got {} and {}",
                             training.micro_batch(), training.micro_batches()));
    else if (training.micro_batches() > kMaxSlots || training.micro_batch() > kMaxBytes)
      report.add("plan-training", {},
                 fmt::format("micro-batches, expected at most {}, got {}", kMaxSlots, training.micro_batches()));
  }

  void checkTensors() {
    for (const plan::WeightFile &file : plan.weight_files())
      if (file.bytes() < 0)
        report.add("plan-index", {},
                   fmt::format("bytes of weight file '{}', expected at least 0, got {}", file.path(), file.bytes()));
    for (const plan::Parameter &parameter : plan.parameters()) {
      std::string what = fmt::format("weight file (parameter '{}')", parameter.name());
      if (!checkIndex({}, what, parameter.weight_file(), plan.weight_files_size()))
        continue;
      checkParameter(parameter);
    }
    for (const plan::Input &input : plan.inputs())
      if (!validType(input.type()) || !positive(input.sample_shape()))
        report.add("plan-shape", {},
                   fmt::format("input '{}', expected a type and positive sizes, got type {} and {}", input.name(),
                               int(input.type()), shapeName(input.sample_shape())));
  }

  void checkParameter(const plan::Parameter &parameter) {
    if (!validType(parameter.type()) || !positive(parameter.shape())) {
      report.add("plan-shape", {},
                 fmt::format("parameter '{}', expected a type and positive sizes, got type {} and {}", parameter.name(),
                             int(parameter.type()), shapeName(parameter.shape())));
      return;
    }
    int64_t bytes = saturatingMul(product(parameter.shape()), elementBytes(parameter.type()));
    const plan::WeightFile &file = plan.weight_files(parameter.weight_file());
    if (parameter.file_offset() < 0 || saturatingAdd(parameter.file_offset(), bytes) > file.bytes())
      report.add("plan-index", {},
                 fmt::format("parameter '{}' in weight file '{}', expected to end within {} bytes, got {} bytes at {}",
                             parameter.name(), file.path(), file.bytes(), bytes, parameter.file_offset()));
    checkSharding(parameter);
  }

  void checkSharding(const plan::Parameter &parameter) {
    const plan::Sharding &sharding = parameter.sharding();
    if (sharding.dims_size() != 0 && sharding.dims_size() != parameter.shape_size()) {
      report.add("plan-shape", {},
                 fmt::format("sharding of parameter '{}', expected {} dimensions, got {}", parameter.name(),
                             parameter.shape_size(), sharding.dims_size()));
      return;
    }
    uint32_t used = 0;
    for (int i = 0; i < sharding.dims_size(); ++i) {
      int64_t padded = 1;
      for (const plan::Sharding::SubDim &sub : sharding.dims(i).sub_dims()) {
        padded = saturatingMul(padded, sub.size());
        int64_t ranks = 1;
        for (uint32_t axis : sub.axes()) {
          if (!checkIndex({}, fmt::format("mesh axis (sharding of '{}')", parameter.name()), axis,
                          plan.mesh().axes_size()))
            return;
          if (used >> axis & 1)
            report.add("plan-shape", {},
                       fmt::format("sharding of parameter '{}' uses mesh axis '{}' twice", parameter.name(),
                                   plan.mesh().axes(axis).name()));
          used |= 1u << axis;
          ranks *= plan.mesh().axes(axis).size();
        }
        if (sub.size() < 1 || sub.size() % ranks != 0)
          report.add("plan-shape", {},
                     fmt::format("sharding of parameter '{}', expected a size divisible by {}, got {}",
                                 parameter.name(), ranks, sub.size()));
      }
      if (sharding.dims(i).sub_dims_size() != 0 && padded < parameter.shape(i))
        report.add("plan-shape", {},
                   fmt::format("sharding of parameter '{}', expected dimension {} to hold {}, got {}", parameter.name(),
                               i, parameter.shape(i), padded));
    }
  }

  template <typename Sizes> static bool positive(const Sizes &sizes) {
    return sizes.size() <= kMaxRank && std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size > 0; }) &&
           product(sizes) <= kMaxBytes;
  }

  void checkCommunicators() {
    for (const plan::Communicator &communicator : plan.communicators()) {
      uint32_t used = 0;
      std::string what = fmt::format("mesh axis (communicator '{}')", communicator.name());
      bool valid = true;
      for (uint32_t axis : communicator.axes()) {
        if (!checkIndex({}, what, axis, plan.mesh().axes_size())) {
          valid = false;
          continue;
        }
        if (used >> axis & 1)
          report.add("plan-communicator", {},
                     fmt::format("communicator '{}' names mesh axis '{}' twice", communicator.name(),
                                 plan.mesh().axes(axis).name()));
        used |= 1u << axis;
      }
      if (valid)
        checkMembers(communicator);
    }
  }

  void checkMembers(const plan::Communicator &communicator) {
    if (communicator.axes_size() == 0)
      report.add("plan-communicator", {}, fmt::format("communicator '{}' has no axes", communicator.name()));
    if (communicator.members_size() == 0)
      return;
    if (communicator.axes_size() != 1) {
      report.add("plan-communicator", {},
                 fmt::format("communicator '{}' with members, expected 1 axis, got {}", communicator.name(),
                             communicator.axes_size()));
      return;
    }
    int64_t size = plan.mesh().axes(communicator.axes(0)).size();
    for (int i = 0; i < communicator.members_size(); ++i) {
      checkIndex({}, fmt::format("member (communicator '{}')", communicator.name()), communicator.members(i), size);
      if (i && communicator.members(i) <= communicator.members(i - 1))
        report.add("plan-communicator", {},
                   fmt::format("members of communicator '{}', expected ascending, got {} "
                               "after {}",
                               communicator.name(), communicator.members(i), communicator.members(i - 1)));
    }
  }

  void checkProgram() {
    Place place{program};
    if (current().streams() < 1 || current().streams() > kMaxStreams)
      report.add("plan-index", place,
                 fmt::format("streams, expected 1 to {}, got {}", kMaxStreams, current().streams()));
    if (current().events() > kMaxEvents)
      report.add("plan-index", place,
                 fmt::format("events, expected at most {}, got {}", kMaxEvents, current().events()));
    if (current().arena_bytes() < 0 || current().arena_bytes() > kMaxBytes)
      report.add("plan-buffer", place,
                 fmt::format("arena, expected 0 to {} bytes, got {}", kMaxBytes, current().arena_bytes()));
    size_t before = report.size();
    for (int i = 0; i < current().buffers_size(); ++i)
      checkBuffer(i);
    if (report.size() != before)
      return; // views would be compared with nonsense
    checkPersistentBuffersLieApart();
    std::vector<int> registers = checkEntries();
    for (int b = 0; b < current().blocks_size(); ++b)
      for (int i = 0; i < current().blocks(b).instructions_size(); ++i)
        checkInstruction({program, -1, b, i}, registers[b]);
    checkSlots();
    for (const plan::Output &output : current().outputs())
      if (checkOperand(place, output.value(), Role::Read, 0) && elements(output.value()) != 1)
        report.add(
            "plan-shape", place,
            fmt::format("output '{}', expected a scalar, got {}", output.name(), shapeName(output.value().sizes())));
  }

  void checkBuffer(int index) {
    const plan::Buffer &buffer = current().buffers(index);
    Place place{program};
    auto bad = [&](std::string_view what, auto expected, auto got) {
      report.add("plan-buffer", place,
                 fmt::format("buffer {} '{}': {}, expected {}, got {}", index, buffer.name(), what, expected, got));
    };
    if (buffer.region() < plan::PARAMETER || buffer.region() > plan::OUTPUT)
      bad("region", "1 to 8", int(buffer.region()));
    if (!validType(buffer.type()) || !positive(buffer.shape()))
      return bad("type and sizes", "a type and positive sizes",
                 fmt::format("type {} and {}", int(buffer.type()), shapeName(buffer.shape())));
    int64_t width = elementBytes(buffer.type());
    int64_t bytes = saturatingMul(product(buffer.shape()), width);
    if (buffer.bytes() < bytes)
      bad("bytes of a slot", fmt::format("at least {} for {}", bytes, shapeName(buffer.shape())), buffer.bytes());
    if (buffer.slots() < 1 || buffer.slots() > kMaxSlots)
      return bad("slots", fmt::format("1 to {}", kMaxSlots), buffer.slots());
    if (buffer.slots() > 1 && buffer.slot_stride() < buffer.bytes())
      bad("stride of slots", fmt::format("at least {} bytes", buffer.bytes()), buffer.slot_stride());
    if (buffer.offset() < 0 || buffer.offset() % width != 0 ||
        (buffer.slots() > 1 && buffer.slot_stride() % width != 0))
      bad("offset and stride of slots", fmt::format("multiples of {} bytes", width),
          fmt::format("{} and {}", buffer.offset(), buffer.slot_stride()));
    int64_t end = saturatingAdd(saturatingAdd(std::max<int64_t>(buffer.offset(), 0), buffer.bytes()),
                                buffer.slots() > 1 ? saturatingMul(buffer.slots() - 1, buffer.slot_stride()) : 0);
    if (end > current().arena_bytes())
      bad("end", fmt::format("within the arena of {} bytes", current().arena_bytes()), end);
    if (buffer.parameter() >= plan.parameters_size() || buffer.parameter() < -1)
      bad("parameter", fmt::format("-1 to {}", plan.parameters_size() - 1), buffer.parameter());
    if (buffer.region() == plan::PARAMETER && buffer.parameter() < 0)
      bad("parameter", "one, since the region is parameter", "none");
    if (buffer.region() == plan::PARAMETER && buffer.slots() != 1)
      bad("slots", "1, since the region is parameter", buffer.slots());
    checkLocalShape(place, buffer);
    if (buffer.region() == plan::SCRATCH && (buffer.block() < -1 || buffer.block() >= current().blocks_size()))
      bad("block", fmt::format("-1 to {}", current().blocks_size() - 1), buffer.block());
  }

  /// The buffers of a parameter hold its shard: the runtime reads and writes weight files by it.
  void checkLocalShape(const Place &place, const plan::Buffer &buffer) {
    if (buffer.parameter() < 0 || buffer.parameter() >= plan.parameters_size())
      return;
    const plan::Parameter &parameter = plan.parameters(buffer.parameter());
    int64_t expected = 1;
    for (int i = 0; i < parameter.shape_size(); ++i) {
      if (i >= parameter.sharding().dims_size() || parameter.sharding().dims(i).sub_dims_size() == 0)
        expected = saturatingMul(expected, parameter.shape(i));
      else
        for (const plan::Sharding::SubDim &sub : parameter.sharding().dims(i).sub_dims())
          expected = saturatingMul(expected, localSize(sub));
    }
    if (product(buffer.shape()) != expected)
      report.add("plan-buffer", place,
                 fmt::format("{} '{}', expected {} elements (the shard of '{}'), got {}", regionName(buffer.region()),
                             buffer.name(), expected, parameter.name(), shapeName(buffer.shape())));
  }

  int64_t localSize(const plan::Sharding::SubDim &sub) const {
    int64_t size = sub.size();
    for (uint32_t axis : sub.axes())
      if (axis < uint32_t(plan.mesh().axes_size()))
        size /= plan.mesh().axes(axis).size();
    return size;
  }

  /// Parameters and optimizer states are alive all the time: nothing may share their bytes.
  void checkPersistentBuffersLieApart() {
    std::vector<int> order(current().buffers_size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = int(i);
    auto start = [&](int i) { return current().buffers(i).offset(); };
    auto end = [&](int i) {
      const plan::Buffer &buffer = current().buffers(i);
      return buffer.offset() + buffer.bytes() + int64_t(buffer.slots() - 1) * buffer.slot_stride();
    };
    auto persistent = [&](int i) {
      return current().buffers(i).region() == plan::PARAMETER || current().buffers(i).region() == plan::STATE;
    };
    std::sort(order.begin(), order.end(),
              [&](int a, int b) { return std::pair(start(a), a) < std::pair(start(b), b); });
    int last = -1, lastPersistent = -1; // those that reach furthest
    for (int i : order) {
      int other = persistent(i) ? last : lastPersistent;
      if (other >= 0 && end(other) > start(i)) {
        report.add("plan-overlap", {program},
                   fmt::format("{} '{}' and {} '{}' share memory, expected bytes of their own for what lives across "
                               "steps, got [{}, {}) and [{}, {})",
                               regionName(current().buffers(other).region()), current().buffers(other).name(),
                               regionName(current().buffers(i).region()), current().buffers(i).name(), start(other),
                               end(other), start(i), end(i)));
      }
      if (last < 0 || end(i) > end(last))
        last = i;
      if (persistent(i) && (lastPersistent < 0 || end(i) > end(lastPersistent)))
        lastPersistent = i;
    }
  }

  /// Checks blocks and registers of the schedule; returns how many registers every run of a block has.
  std::vector<int> checkEntries() {
    std::vector<int> registers(current().blocks_size(), INT32_MAX);
    for (int e = 0; e < current().schedule_size(); ++e) {
      const plan::ScheduleEntry &entry = current().schedule(e);
      if (!checkIndex({program}, fmt::format("block (entry {} of the schedule)", e), entry.block(),
                      current().blocks_size()))
        continue;
      registers[entry.block()] = std::min(registers[entry.block()], entry.registers_size());
      for (const plan::ScheduleEntry::Register &reg : entry.registers())
        checkIndex({program}, fmt::format("micro-batch (entry {} of the schedule)", e), reg.micro_batch(),
                   plan.training().micro_batches());
    }
    for (int b = 0; b < current().blocks_size(); ++b) {
      if (current().blocks(b).action() < plan::Block::COMMUNICATE || current().blocks(b).action() > plan::Block::REPORT)
        report.add("plan-index", {program},
                   fmt::format("action of block '{}', expected 0 to 5, got {}", current().blocks(b).name(),
                               int(current().blocks(b).action())));
      if (registers[b] == INT32_MAX)
        registers[b] = 2; // never run
    }
    return registers;
  }

  /// Every run of a block must find the slots that its registers name in the buffers that it uses with them.
  void checkSlots() {
    // For each block and register: the buffer with the fewest slots, and who uses it.
    struct Least {
      uint32_t slots = UINT32_MAX;
      int buffer = -1, instruction = -1, message = -1;
    };
    std::vector<std::vector<Least>> least(current().blocks_size());
    for (int b = 0; b < current().blocks_size(); ++b)
      for (int i = 0; i < current().blocks(b).instructions_size(); ++i)
        visitOperands(current().blocks(b).instructions(i), [&](const plan::Operand &operand, Role, int message) {
          if (operand.register_() < 0 || operand.register_() > 1 ||
              operand.buffer() >= uint32_t(current().buffers_size()))
            return;
          least[b].resize(2);
          Least &entry = least[b][operand.register_()];
          uint32_t slots = current().buffers(operand.buffer()).slots();
          if (slots < entry.slots)
            entry = {slots, int(operand.buffer()), i, message};
        });
    for (int e = 0; e < current().schedule_size(); ++e) {
      const plan::ScheduleEntry &entry = current().schedule(e);
      if (entry.block() >= uint32_t(current().blocks_size()))
        continue;
      const std::vector<Least> &used = least[entry.block()];
      for (size_t r = 0; r < used.size() && r < size_t(entry.registers_size()); ++r)
        if (entry.registers(r).slot() >= used[r].slots)
          report.add("plan-index", {program, e, int(entry.block()), used[r].instruction, used[r].message},
                     fmt::format("slot of '{}' (register {}), expected less than {}, got {}",
                                 current().buffers(used[r].buffer).name(), r, used[r].slots,
                                 entry.registers(r).slot()));
    }
  }

  static int64_t elements(const plan::Operand &operand) { return product(operand.sizes()); }
  plan::ElementType typeOf(const plan::Operand &operand) const { return current().buffers(operand.buffer()).type(); }

  bool checkOperand(const Place &place, const plan::Operand &operand, Role role, int registers) {
    if (!checkIndex(place, "buffer", operand.buffer(), current().buffers_size()))
      return false;
    if (operand.register_() < -1 || operand.register_() >= registers || operand.register_() > 1) {
      report.add("plan-index", place,
                 fmt::format("register of '{}', expected -1 to {}, got {}", current().buffers(operand.buffer()).name(),
                             std::min(registers, 2) - 1, operand.register_()));
      return false;
    }
    return checkView(place, operand, role) && checkPartial(place, operand);
  }

  bool checkView(const Place &place, const plan::Operand &operand, Role role) {
    const plan::Buffer &buffer = current().buffers(operand.buffer());
    if (operand.sizes_size() != operand.strides_size() || operand.sizes_size() > kMaxRank) {
      report.add("plan-operand", place,
                 fmt::format("view of '{}', expected as many strides as sizes and at most {}, got "
                             "{} and {}",
                             buffer.name(), kMaxRank, operand.strides_size(), operand.sizes_size()));
      return false;
    }
    int64_t last = operand.offset();
    for (int i = 0; i < operand.sizes_size(); ++i) {
      if (operand.sizes(i) < 1 || operand.strides(i) < 0) {
        report.add("plan-operand", place,
                   fmt::format("view of '{}', expected positive sizes and no negative strides, got "
                               "{} with {}",
                               buffer.name(), operand.sizes(i), operand.strides(i)));
        return false;
      }
      last = saturatingAdd(last, saturatingMul(operand.sizes(i) - 1, operand.strides(i)));
    }
    int64_t count = product(buffer.shape());
    if (operand.offset() < 0 || last >= count) {
      report.add("plan-operand", place,
                 fmt::format("view of '{}' leaves the buffer, expected elements 0 to {}, got {} to "
                             "{}",
                             buffer.name(), count - 1, operand.offset(), last));
      return false;
    }
    if (role == Role::Write && repeats(operand)) {
      report.add("plan-operand", place,
                 fmt::format("view of '{}' is written, expected every element once, got strides {} "
                             "with sizes {}",
                             buffer.name(), shapeName(operand.strides()), shapeName(operand.sizes())));
      return false;
    }
    return true;
  }

  /// Whether a view may name one element twice. Dimensions, ordered by stride, must step over the ones inside them.
  static bool repeats(const plan::Operand &operand) {
    std::vector<std::pair<int64_t, int64_t>> dims;
    for (int i = 0; i < operand.sizes_size(); ++i)
      if (operand.sizes(i) > 1)
        dims.push_back({operand.strides(i), operand.sizes(i)});
    std::sort(dims.begin(), dims.end());
    int64_t extent = 1;
    for (auto [stride, size] : dims) {
      if (stride < extent)
        return true;
      extent += (size - 1) * stride;
    }
    return false;
  }

  bool checkPartial(const Place &place, const plan::Operand &operand) {
    uint32_t all = (1u << plan.mesh().axes_size()) - 1;
    if (((operand.partial_sum() | operand.partial_max()) & ~all) == 0)
      return true;
    report.add("plan-index", place,
               fmt::format("mesh axes that '{}' is partial over, expected a mask within {:#x}, got "
                           "{:#x}",
                           current().buffers(operand.buffer()).name(), all,
                           operand.partial_sum() | operand.partial_max()));
    return false;
  }

  void checkInstruction(const Place &place, int registers) {
    const plan::Instruction &instruction = current().blocks(place.block).instructions(place.instruction);
    checkIndex(place, "stream", instruction.stream(), current().streams());
    for (uint32_t event : instruction.waits())
      checkIndex(place, "event that it waits for", event, current().events());
    if (instruction.records() != -1)
      checkIndex(place, "event that it records", instruction.records(), current().events());
    int operands = 0;
    visitOperands(instruction, [&](const plan::Operand &, Role, int) { ++operands; });
    if (operands > kMaxOperands) {
      report.add("plan-size", place, fmt::format("operands, expected at most {}, got {}", kMaxOperands, operands));
      return;
    }
    bool valid = true;
    visitOperands(instruction, [&](const plan::Operand &operand, Role role, int message) {
      valid &= checkOperand(place.at(place.instruction, message), operand, role, registers);
      if (valid)
        checkScratchOwner(place.at(place.instruction, message), operand);
    });
    if (!valid)
      return;
    switch (instruction.kind_case()) {
    case plan::Instruction::kKernel:
      return checkKernel(place, instruction.kernel());
    case plan::Instruction::kGemm:
      return checkGemm(place, instruction.gemm());
    case plan::Instruction::kCollective:
      return checkCollective(place, instruction.collective());
    case plan::Instruction::kGroup:
      return checkGroup(place, instruction.group());
    case plan::Instruction::kLoadInput:
      return checkLoadInput(place, instruction.load_input());
    case plan::Instruction::kCopy:
      return checkCopy(place, instruction.copy());
    case plan::Instruction::KIND_NOT_SET:
      report.add("plan-shape", place, "an instruction without a kind, expected one of those in plan.proto, got none");
    }
  }

  void checkScratchOwner(const Place &place, const plan::Operand &operand) {
    const plan::Buffer &buffer = current().buffers(operand.buffer());
    if (buffer.region() == plan::SCRATCH && buffer.block() >= 0 && buffer.block() != place.block)
      report.add("plan-index", place,
                 fmt::format("scratch '{}' of another block, expected '{}', got '{}'", buffer.name(),
                             current().blocks(place.block).name(), current().blocks(buffer.block()).name()));
  }

  void checkKernel(const Place &place, const plan::KernelCall &call) {
    checkIndex(place, "kernel", call.kernel(), plan.kernels_size());
    if (call.items() < 0)
      report.add("plan-shape", place, fmt::format("work items, expected at least 0, got {}", call.items()));
  }

  void badShape(const Place &place, std::string_view what, const std::string &expected, const std::string &got) {
    report.add("plan-shape", place, fmt::format("{}, expected {}, got {}", what, expected, got));
  }

  void checkGemm(const Place &place, const plan::Gemm &gemm) {
    plan::ElementType type = typeOf(gemm.c());
    plan::ElementType factors = typeOf(gemm.a());
    bool low = factors == plan::BF16 || factors == plan::F16,
         floating = low || factors == plan::F32 || factors == plan::F64;
    if (!floating || typeOf(gemm.b()) != factors || (type != factors && !(low && type == plan::F32)) ||
        (gemm.has_bias() && typeOf(gemm.bias()) != type))
      return badShape(place, "element types of a product", "one floating type, or the f32 sum of 16-bit factors",
                      fmt::format("{}, {} and {}", plan::ElementType_Name(typeOf(gemm.a())),
                                  plan::ElementType_Name(typeOf(gemm.b())), plan::ElementType_Name(type)));
    const plan::Operand &a = gemm.a(), &b = gemm.b(), &c = gemm.c();
    auto size = [](const plan::Operand &operand, int fromEnd) { return operand.sizes(operand.sizes_size() - fromEnd); };
    int rank = c.sizes_size();
    bool fits =
        rank >= 2 && a.sizes_size() >= 2 && b.sizes_size() >= 2 && a.sizes_size() <= rank && b.sizes_size() <= rank;
    fits = fits && size(a, 2) == size(c, 2) && size(b, 1) == size(c, 1) && size(a, 1) == size(b, 2);
    for (int i = 3; fits && i <= rank; ++i)
      for (const plan::Operand *operand : {&a, &b})
        fits &= i > operand->sizes_size() || size(*operand, i) == size(c, i) || size(*operand, i) == 1;
    if (!fits)
      return badShape(place, "sizes of a product", "a [batch, m, k], b [batch, k, n], c [batch, m, n]",
                      fmt::format("{}, {}, {}", shapeName(gemm.a().sizes()), shapeName(gemm.b().sizes()),
                                  shapeName(gemm.c().sizes())));
    if (gemm.has_bias() && (gemm.bias().sizes_size() != 1 || gemm.bias().sizes(0) != gemm.c().sizes(rank - 1)))
      badShape(place, "bias of a product", fmt::format("{}", gemm.c().sizes(rank - 1)), shapeName(gemm.bias().sizes()));
  }

  int64_t communicatorSize(const plan::Communicator &communicator) const {
    if (communicator.members_size())
      return communicator.members_size();
    int64_t size = 1;
    for (uint32_t axis : communicator.axes())
      size *= plan.mesh().axes(axis).size();
    return size;
  }

  bool checkCommunicator(const Place &place, uint32_t index) {
    if (!checkIndex(place, "communicator", index, plan.communicators_size()))
      return false;
    const plan::Communicator &communicator = plan.communicators(index);
    bool pp = communicator.axes_size() == 1 && plan.mesh().axes(communicator.axes(0)).name() == "pp";
    if (communicator.members_size() && !pp) {
      report.add("plan-communicator", place,
                 fmt::format("communicator '{}' with members, expected the axis 'pp', got '{}'", communicator.name(),
                             plan.mesh().axes(communicator.axes(0)).name()));
      return false;
    }
    if (isMember(communicator, current().pp()))
      return true;
    report.add("plan-communicator", place,
               fmt::format("communicator '{}', expected pp coordinate {} among its members, "
                           "got others",
                           communicator.name(), current().pp()));
    return false;
  }

  void checkCollective(const Place &place, const plan::Collective &collective) {
    if (!checkCommunicator(place, collective.communicator()))
      return;
    if (!plan::Collective::Kind_IsValid(collective.kind()) ||
        !plan::Collective::Reduction_IsValid(collective.reduction()))
      return badShape(place, "collective", "a kind of 0 to 3 and a reduction of 0 to 1",
                      fmt::format("{} and {}", int(collective.kind()), int(collective.reduction())));
    int64_t members = communicatorSize(plan.communicators(collective.communicator()));
    const plan::Operand &input = collective.input(), &output = collective.output();
    if (typeOf(input) != typeOf(output))
      return badShape(place, "element type of the output", plan::ElementType_Name(typeOf(input)),
                      plan::ElementType_Name(typeOf(output)));
    if (!isContiguous(input) || !isContiguous(output))
      return badShape(place, "operands of a collective", "contiguous views", "strided ones");
    int64_t in = elements(input), out = elements(output);
    auto leads = [&](const plan::Operand &operand) { return operand.sizes_size() > 0 && operand.sizes(0) == members; };
    auto sized = [&](int64_t count) { return fmt::format("{} elements for {} members", count, members); };
    switch (collective.kind()) {
    case plan::Collective::ALL_REDUCE:
      if (in != out)
        badShape(place, "output of all_reduce", fmt::format("{} elements, as many as the input has", in),
                 fmt::format("{}", out));
      return;
    case plan::Collective::ALL_GATHER:
      if (!leads(output) || out != saturatingMul(in, members))
        badShape(place, "output of all_gather", sized(saturatingMul(in, members)) + " along the leading dimension",
                 shapeName(output.sizes()));
      return;
    case plan::Collective::REDUCE_SCATTER:
      if (!leads(input) || in != saturatingMul(out, members))
        badShape(place, "input of reduce_scatter", sized(saturatingMul(out, members)) + " along the leading dimension",
                 shapeName(input.sizes()));
      return;
    case plan::Collective::ALL_TO_ALL:
      if (in != out || !leads(input) || !leads(output))
        badShape(place, "operands of all_to_all", fmt::format("equal sizes with a leading dimension of {}", members),
                 fmt::format("{} and {}", shapeName(input.sizes()), shapeName(output.sizes())));
      return;
    default:
      return;
    }
  }

  void checkGroup(const Place &place, const plan::Group &group) {
    if (group.messages_size() == 0)
      badShape(place, "messages of a group", "at least 1", "0");
    for (int m = 0; m < group.messages_size(); ++m) {
      const plan::Message &message = group.messages(m);
      Place here = place.at(place.instruction, m);
      if (!checkCommunicator(here, message.communicator()))
        continue;
      const plan::Communicator &communicator = plan.communicators(message.communicator());
      if (communicator.axes_size() != 1 || plan.mesh().axes(communicator.axes(0)).name() != "pp") {
        report.add("plan-communicator", here,
                   fmt::format("communicator '{}' of a message, expected the axis 'pp' alone, "
                               "got other axes",
                               communicator.name()));
        continue;
      }
      if (!checkIndex(here, "peer", message.peer(), ppSize))
        continue;
      if (message.peer() == current().pp() || !isMember(communicator, message.peer()))
        report.add("plan-communicator", here,
                   fmt::format("peer, expected another member of '{}', got {}", communicator.name(), message.peer()));
      if (!isContiguous(message.value()))
        badShape(here, "value of a message", "a contiguous view", "a strided one");
    }
  }

  void checkLoadInput(const Place &place, const plan::LoadInput &load) {
    if (!checkIndex(place, "input", load.input(), plan.inputs_size()))
      return;
    const plan::Input &input = plan.inputs(load.input());
    int64_t expected = saturatingMul(plan.training().micro_batch(), product(input.sample_shape()));
    if (typeOf(load.value()) != input.type())
      badShape(place, fmt::format("element type of input '{}'", input.name()), plan::ElementType_Name(input.type()),
               plan::ElementType_Name(typeOf(load.value())));
    if (elements(load.value()) != expected || !isContiguous(load.value()))
      badShape(place, fmt::format("view that input '{}' is loaded to", input.name()),
               fmt::format("{} contiguous elements ({} samples of {})", expected, plan.training().micro_batch(),
                           shapeName(input.sample_shape())),
               shapeName(load.value().sizes()));
  }

  void checkCopy(const Place &place, const plan::Copy &copy) {
    if (typeOf(copy.from()) != typeOf(copy.to()))
      badShape(place, "element type of the target", plan::ElementType_Name(typeOf(copy.from())),
               plan::ElementType_Name(typeOf(copy.to())));
    if (!std::equal(copy.from().sizes().begin(), copy.from().sizes().end(), copy.to().sizes().begin(),
                    copy.to().sizes().end()))
      badShape(place, "sizes of the target", shapeName(copy.from().sizes()), shapeName(copy.to().sizes()));
  }
};

/// The actions of one program's schedule.
class ScheduleCheck {
public:
  ScheduleCheck(const plan::Plan &plan, int index, Step step, Report &report)
      : plan(plan), index(index), end(step == Step::Training ? plan::Block::UPDATE : plan::Block::REPORT),
        report(report) {
    if (step == Step::Training)
      actions = {plan::Block::FORWARD, plan::Block::BACKWARD};
    else
      actions = {plan::Block::EVALUATE};
    runs.assign(actions.size(), std::vector<int>(plan.training().micro_batches()));
  }

  void run() {
    const plan::Program &program = plan.programs(index);
    for (int e = 0; e < program.schedule_size(); ++e)
      checkEntry(e, program.schedule(e));
    for (int64_t m = 0; m < plan.training().micro_batches(); ++m)
      for (size_t a = 0; a < actions.size(); ++a)
        if (runs[a][m] != 1)
          bad({index}, fmt::format("{} of micro-batch {}, expected 1, got {}", actionName(actions[a]), m, runs[a][m]));
    if (ends != 1)
      bad({index}, fmt::format("{}, expected 1 a step, got {}", actionName(end), ends));
  }

private:
  const plan::Plan &plan;
  int index;
  plan::Block::Action end;
  Report &report;
  std::vector<plan::Block::Action> actions; // of a micro-batch, in their order
  std::vector<std::vector<int>> runs;       // of each action, by micro-batch
  int ends = 0;

  void bad(const Place &place, const std::string &what) { report.add("plan-schedule", place, what); }

  void checkEntry(int e, const plan::ScheduleEntry &entry) {
    Place place{index, e, int(entry.block())};
    plan::Block::Action action = plan.programs(index).blocks(entry.block()).action();
    if (action == plan::Block::COMMUNICATE)
      return;
    if (ends)
      bad(place,
          fmt::format("runs after the {0}, expected the {0} to end the step, got another action", actionName(end)));
    if (action == end) {
      ++ends;
      return;
    }
    size_t number = std::ranges::find(actions, action) - actions.begin();
    if (number == actions.size())
      return bad(place, fmt::format("action of a step that ends with the {}, expected one of such a step, got {}",
                                    actionName(end), actionName(action)));
    if (entry.registers_size() == 0)
      return bad(place, "registers of an action, expected 1, got 0");
    uint32_t m = entry.registers(0).micro_batch();
    if (number > 0 && runs[number - 1][m] == 0)
      bad(place, fmt::format("{} of micro-batch {}, expected after its {}, got before it", actionName(action), m,
                             actionName(actions[number - 1])));
    ++runs[number][m];
  }
};

} // namespace

void checkStructure(const plan::Plan &plan, Report &report) { StructureCheck(plan, report).run(); }

void checkSchedule(const plan::Plan &plan, Step step, Report &report) {
  for (int p = 0; p < plan.programs_size(); ++p)
    ScheduleCheck(plan, p, step, report).run();
}

} // namespace shardc::rt::verify
