//===-- Program.cpp - whether a program is well formed: buffers, schedule entries, slots --------------------------===//

#include "runtime/verify/Form.h"

namespace shardc::rt::verify {
namespace {

class ProgramCheck {
public:
  ProgramCheck(const plan::Plan &plan, int program, Report &report) : plan(plan), program(program), report(report) {}

  void run() {
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
        checkInstruction(plan, {program, -1, b, i}, registers[b], report);
    checkSlots();
    for (const plan::Output &output : current().outputs())
      if (checkOperand(plan, place, output.value(), Role::Read, 0, report) && product(output.value().sizes()) != 1)
        report.add(
            "plan-shape", place,
            fmt::format("output '{}', expected a scalar, got {}", output.name(), shapeName(output.value().sizes())));
  }

private:
  const plan::Plan &plan;
  int program;
  Report &report;

  const plan::Program &current() const { return plan.programs(program); }
  bool checkIndex(const Place &place, std::string_view what, int64_t index, int64_t count) {
    return verify::checkIndex(report, place, what, index, count);
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
};

} // namespace

void checkProgram(const plan::Plan &plan, int program, Report &report) { ProgramCheck(plan, program, report).run(); }

} // namespace shardc::rt::verify
