//===-- Accesses.cpp - a program as accesses to cells of buffers --------------------------------------------------===//

#include "runtime/verify/Accesses.h"

#include "runtime/format/Query.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace shardc::rt::verify {
namespace {

class AccessFinder {
public:
  AccessFinder(const plan::Plan &plan, int index, Report &report, ProgramAccesses &result)
      : index(index), program(plan.programs(index)), report(report), result(result), real(realAxes(plan)),
        views(program.buffers_size()) {}

  bool run() {
    result.buffers.resize(program.buffers_size());
    result.blocks.resize(program.blocks_size());
    std::vector<int> registers(program.blocks_size(), 2);
    for (const plan::ScheduleEntry &entry : program.schedule())
      registers[entry.block()] = std::min(registers[entry.block()], entry.registers_size());
    for (int b = 0; b < program.blocks_size(); ++b)
      addBlock(b, registers[b]);
    for (int i = 0; i < program.buffers_size(); ++i)
      addWholeView(i);
    std::vector<int> outputViews;
    for (const plan::Output &output : program.outputs())
      outputViews.push_back(viewNumber(output.value()));
    findSharedMemory();
    if (!divide())
      return false;
    for (int o = 0; o < program.outputs_size(); ++o)
      result.outputs.push_back(result.buffers[program.outputs(o).value().buffer()].cells.ofView[outputViews[o]]);
    for (int b = 0; b < program.blocks_size(); ++b)
      checkInPlace(b);
    return true;
  }

private:
  int index;
  const plan::Program &program;
  Report &report;
  ProgramAccesses &result;
  uint32_t real;
  std::vector<std::map<View, int>> views; // of each buffer

  int viewNumber(const plan::Operand &operand) {
    View view = normalizedView(operand.offset(), {operand.sizes().begin(), operand.sizes().end()},
                               {operand.strides().begin(), operand.strides().end()});
    std::map<View, int> &known = views[operand.buffer()];
    return known.emplace(std::move(view), int(known.size())).first->second;
  }

  void addBlock(int b, int registers) {
    BlockAccesses &block = result.blocks[b];
    for (int i = 0; i < program.blocks(b).instructions_size(); ++i) {
      block.firstOf.push_back(int(block.accesses.size()));
      bool loads = program.blocks(b).instructions(i).has_load_input(); // always register 0's micro-batch
      visitOperands(program.blocks(b).instructions(i), [&](const plan::Operand &operand, Role role, int message) {
        block.accesses.push_back({int(operand.buffer()), operand.register_(),
                                  loads ? 0 : registerOf(operand, role, message, registers), role == Role::Write,
                                  viewNumber(operand), operand.partial_sum() & real, operand.partial_max() & real, i,
                                  message, &operand});
      });
    }
    block.firstOf.push_back(int(block.accesses.size()));
  }

  /// What is initialised, updated and reduced as a whole has a view of all its elements.
  void addWholeView(int i) {
    const plan::Buffer &buffer = program.buffers(i);
    if (buffer.region() != plan::PARAMETER && buffer.region() != plan::STATE && buffer.region() != plan::GRADIENT)
      return;
    View whole;
    if (int64_t elements = elementCount(buffer.shape()); elements > 1)
      whole.dims.push_back({elements, 1});
    result.buffers[i].whole = views[i].emplace(whole, int(views[i].size())).first->second;
  }

  bool divide() {
    int64_t budget = kMaxEnumerated;
    for (int i = 0; i < program.buffers_size(); ++i) {
      std::vector<View> list(views[i].size());
      for (const auto &[view, number] : views[i])
        list[number] = view;
      if (list.empty() ||
          divideIntoCells(elementCount(program.buffers(i).shape()), list, budget, result.buffers[i].cells))
        continue;
      report.add(
          "plan-view", {index},
          fmt::format("the {} views of '{}' are too irregular to be told apart, expected strides that divide one "
                      "another or a smaller buffer, got {} elements",
                      list.size(), program.buffers(i).name(), elementCount(program.buffers(i).shape())));
      return false;
    }
    return true;
  }

  int64_t end(int i) const {
    const plan::Buffer &buffer = program.buffers(i);
    return buffer.offset() + buffer.bytes() + int64_t(buffer.slots() - 1) * buffer.slot_stride();
  }

  /// One sweep in each direction: whether a buffer meets one that begins before it, and one that begins after it.
  void findSharedMemory() {
    std::vector<int> order(program.buffers_size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = int(i);
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return std::pair(program.buffers(a).offset(), a) < std::pair(program.buffers(b).offset(), b);
    });
    for (BufferAccesses &buffer : result.buffers)
      buffer.isolated = true;
    int64_t furthest = -1, furthestOther = -1;
    for (int i : order) {
      BufferAccesses &buffer = result.buffers[i];
      buffer.isolated &= furthest <= program.buffers(i).offset();
      buffer.meetsOthers |= furthestOther > program.buffers(i).offset();
      furthest = std::max(furthest, end(i));
      if (program.buffers(i).region() != plan::SCRATCH)
        furthestOther = std::max(furthestOther, end(i));
    }
    int64_t nearest = INT64_MAX, nearestOther = INT64_MAX;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      BufferAccesses &buffer = result.buffers[*it];
      buffer.isolated &= nearest >= end(*it);
      buffer.meetsOthers |= nearestOther < end(*it);
      nearest = program.buffers(*it).offset();
      if (program.buffers(*it).region() != plan::SCRATCH)
        nearestOther = program.buffers(*it).offset();
    }
  }

  /// An instruction may write what it reads in the same layout only, products not at all, and nothing twice.
  void checkInPlace(int b) {
    const BlockAccesses &block = result.blocks[b];
    for (size_t i = 0; i + 1 < block.firstOf.size(); ++i)
      for (int w = block.firstOf[i]; w < block.firstOf[i + 1]; ++w)
        if (block.accesses[w].write)
          for (int other = block.firstOf[i]; other < block.firstOf[i + 1]; ++other)
            if (other != w && block.accesses[other].buffer == block.accesses[w].buffer)
              checkPair(b, block.accesses[w], block.accesses[other], other < w);
  }

  void checkPair(int b, const Access &write, const Access &other, bool before) {
    if ((other.write && !before) || !meet(write, other))
      return;
    const plan::Instruction &instruction = program.blocks(b).instructions(write.instruction);
    Place place{index, -1, b, write.instruction, write.message};
    const std::string &name = program.buffers(write.buffer).name();
    if (other.write)
      return report.add("plan-alias", place,
                        fmt::format("writes parts of '{}' twice, expected once, got two operands", name));
    if (instruction.has_group())
      return report.add("plan-alias", place,
                        fmt::format("sends and receives '{}' in one group, expected other memory, "
                                    "got the same",
                                    name));
    bool ownSum = instruction.has_gemm() && other.operand == write.operand;
    if (ownSum || (!instruction.has_gemm() && sameLayout(*write.operand, *other.operand)))
      return;
    report.add("plan-alias", place,
               fmt::format("writes '{}' while it reads it, expected {}, got another view of it", name,
                           instruction.has_gemm() ? "other memory" : "the same view"));
  }

  /// Whether two accesses of one buffer have cells in common, in the same slot or one that may be the same.
  bool meet(const Access &a, const Access &b) const {
    bool sameSlot = a.slotRegister == b.slotRegister || program.buffers(a.buffer).slots() == 1;
    if (!sameSlot)
      return false;
    if (a.view == b.view)
      return true;
    const std::vector<int> &x = result.cellsOf(a), &y = result.cellsOf(b);
    for (size_t i = 0, j = 0; i < x.size() && j < y.size();) {
      if (x[i] == y[j])
        return true;
      x[i] < y[j] ? ++i : ++j;
    }
    return false;
  }
};

} // namespace

uint32_t realAxes(const plan::Plan &plan) {
  uint32_t mask = 0;
  for (int axis = 0; axis < plan.mesh().axes_size(); ++axis)
    if (plan.mesh().axes(axis).size() > 1)
      mask |= 1u << axis;
  return mask;
}

bool sameLayout(const plan::Operand &a, const plan::Operand &b) {
  if (a.offset() != b.offset())
    return false;
  if (isContiguous(a) && isContiguous(b))
    return elementCount(a.sizes()) == elementCount(b.sizes());
  std::vector<std::pair<int64_t, int64_t>> dims[2];
  for (int side = 0; side < 2; ++side) {
    const plan::Operand &operand = side ? b : a;
    for (int i = 0; i < operand.sizes_size(); ++i)
      if (operand.sizes(i) > 1)
        dims[side].push_back({operand.sizes(i), operand.strides(i)});
  }
  return dims[0] == dims[1];
}

bool findAccesses(const plan::Plan &plan, int program, Report &report, ProgramAccesses &result) {
  return AccessFinder(plan, program, report, result).run();
}

} // namespace shardc::rt::verify
