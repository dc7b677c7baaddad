//===-- Summarize.cpp - what a plan does, in numbers --------------------------------------------------------------===//

#include "runtime/format/Query.h"
#include "runtime/verify/Operands.h"
#include "runtime/verify/Report.h"
#include "tools/shardplan/Show.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace shardc::shardplan {
namespace {

void findNodes(const plan::Program &program, ProgramSummary &summary) {
  int64_t first = INT64_MAX, last = -1;
  for (const plan::Block &block : program.blocks())
    for (const plan::Instruction &instruction : block.instructions()) {
      if (block.action() != plan::Block::FORWARD || instruction.origin() < 0)
        continue;
      if (instruction.origin() < first) {
        first = instruction.origin();
        summary.firstNode = instruction.node();
      }
      if (instruction.origin() >= last) {
        last = instruction.origin();
        summary.lastNode = instruction.node();
      }
    }
}

std::string describeOperand(const plan::Plan &plan, const plan::Program &program, const plan::Operand &operand) {
  std::string text = fmt::format("'{}'", program.buffers(operand.buffer()).name());
  if (operand.register_() >= 0)
    text += fmt::format(" r{}", operand.register_());
  text += fmt::format(" [{}]", fmt::join(operand.sizes(), "x"));
  if (!rt::isContiguous(operand))
    text += fmt::format(" strides [{}]", fmt::join(operand.strides(), ","));
  if (operand.offset() != 0)
    text += fmt::format(" at {}", operand.offset());
  if (operand.partial_sum() || operand.partial_max())
    text += fmt::format(" ({})", rt::verify::partialName(plan, operand.partial_sum(), operand.partial_max()));
  return text;
}

} // namespace

PlanSummary summarize(const plan::Plan &plan, const rt::verify::Communication &communication) {
  PlanSummary summary;
  for (int p = 0; p < plan.programs_size(); ++p) {
    ProgramSummary &program = summary.programs.emplace_back();
    findNodes(plan.programs(p), program);
    program.memory = measureMemory(plan.programs(p));
    program.communications = findCommunications(plan, p);
  }
  summary.chart = chartSchedule(plan, communication);
  return summary;
}

std::string describeInstruction(const plan::Plan &plan, const plan::Program &program,
                                const plan::Instruction &instruction) {
  std::string text(rt::instructionName(instruction));
  if (instruction.has_kernel())
    text += fmt::format(" {} over {} items", plan.kernels(instruction.kernel().kernel()).symbol(),
                        instruction.kernel().items());
  if (instruction.has_gemm() && instruction.gemm().accumulate())
    text += " accumulate";
  if (instruction.has_collective())
    text += fmt::format(" {} '{}'", instruction.collective().reduction() == plan::Collective::MAX ? "max" : "sum",
                        plan.communicators(instruction.collective().communicator()).name());
  if (instruction.has_load_input())
    text += fmt::format(" '{}'", plan.inputs(instruction.load_input().input()).name());
  std::vector<std::string> reads, writes;
  rt::verify::visitOperands(instruction, [&](const plan::Operand &operand, rt::verify::Role role, int message) {
    std::string value = describeOperand(plan, program, operand);
    if (message >= 0) {
      const plan::Message &part = instruction.group().messages(message);
      value += fmt::format(" {} pp {} as '{}'", part.send() ? "to" : "from", part.peer(), part.identity());
    }
    (role == rt::verify::Role::Write ? writes : reads).push_back(value);
  });
  if (!reads.empty())
    text += fmt::format(" reads {}", fmt::join(reads, ", "));
  if (!writes.empty())
    text += fmt::format(" writes {}", fmt::join(writes, ", "));
  if (instruction.stream() != 0)
    text += fmt::format(" stream {}", instruction.stream());
  if (instruction.waits_size())
    text += fmt::format(" waits [{}]", fmt::join(instruction.waits(), ","));
  if (instruction.records() >= 0)
    text += fmt::format(" records {}", instruction.records());
  return text;
}

std::vector<int64_t> countKernelCalls(const plan::Plan &plan) {
  std::vector<int64_t> calls(plan.kernels_size());
  for (const plan::Program &program : plan.programs())
    for (const plan::Block &block : program.blocks())
      for (const plan::Instruction &instruction : block.instructions())
        if (instruction.has_kernel())
          ++calls[instruction.kernel().kernel()];
  return calls;
}

} // namespace shardc::shardplan
