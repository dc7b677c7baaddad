//===-- Report.cpp - the violations of a plan, and where they are -------------------------------------------------===//

#include "runtime/verify/Report.h"

#include "runtime/format/Query.h"

#include <fmt/format.h>

namespace shardc::rt::verify {
namespace {

std::string axesName(const plan::Plan &plan, uint32_t axes) {
  std::string text;
  for (int axis = 0; axis < 32; ++axis) {
    if (!(axes >> axis & 1))
      continue;
    text += text.empty() ? "" : ", ";
    text += axis < plan.mesh().axes_size() ? plan.mesh().axes(axis).name() : fmt::format("axis {}", axis);
  }
  return text;
}

} // namespace

std::string_view instructionKind(const plan::Instruction &instruction, int message) {
  if (instruction.has_group() && message >= 0)
    return instruction.group().messages(message).send() ? "send" : "receive";
  return instructionName(instruction);
}

std::string_view actionName(plan::Block::Action action) {
  switch (action) {
  case plan::Block::COMMUNICATE:
    return "communicate";
  case plan::Block::FORWARD:
    return "forward";
  case plan::Block::BACKWARD:
    return "backward";
  case plan::Block::UPDATE:
    return "update";
  case plan::Block::EVALUATE:
    return "evaluate";
  case plan::Block::REPORT:
    return "report";
  default:
    return "unknown action";
  }
}

std::string_view regionName(plan::Region region) {
  switch (region) {
  case plan::PARAMETER:
    return "parameter";
  case plan::GRADIENT:
    return "gradient";
  case plan::STATE:
    return "state";
  case plan::STASH:
    return "stash";
  case plan::MESSAGE:
    return "message";
  case plan::INPUT:
    return "input";
  case plan::SCRATCH:
    return "scratch";
  case plan::OUTPUT:
    return "output";
  default:
    return "unknown region";
  }
}

std::string rankName(const plan::Plan &plan, int pp) {
  MeshView mesh(plan.mesh());
  Coordinates first(mesh.axes());
  if (int axis = mesh.axisIndex("pp"); axis >= 0)
    first[axis] = pp;
  return mesh.describe(mesh.rank(first));
}

std::string partialName(const plan::Plan &plan, uint32_t sum, uint32_t max) {
  std::string text;
  if (sum)
    text = "a sum over " + axesName(plan, sum);
  if (max)
    text += (text.empty() ? "a maximum over " : " and a maximum over ") + axesName(plan, max);
  return text.empty() ? "nothing" : text;
}

std::string Report::describe(const Place &place) const {
  if (place.program < 0)
    return "plan";
  const plan::Program &program = plan.programs(place.program);
  std::string text = rankName(plan, program.pp());
  if (place.entry >= 0) {
    const plan::ScheduleEntry &entry = program.schedule(place.entry);
    int reg = place.message >= 0 && entry.registers_size() > 1 &&
              instructionKind(program.blocks(place.block).instructions(place.instruction), place.message) == "receive";
    text += fmt::format(", {} {}", actionName(program.blocks(entry.block()).action()),
                        reg < entry.registers_size() ? entry.registers(reg).micro_batch() : 0);
  } else if (place.block >= 0) {
    text += fmt::format(", block '{}'", program.blocks(place.block).name());
  }
  if (place.instruction < 0)
    return text;
  const plan::Instruction &instruction = program.blocks(place.block).instructions(place.instruction);
  return text + fmt::format(", instruction {} {}, node '{}'", place.instruction,
                            instructionKind(instruction, place.message), instruction.node());
}

void Report::add(std::string_view label, const Place &place, std::string_view what, std::string note) {
  // Places without an instruction are told apart by what is said of them.
  std::string key(label);
  if (place.instruction < 0)
    key += what;
  if (!seen.insert({key, place.program, place.block, place.instruction, place.message}).second)
    return;
  if (++found > kMaxKept)
    return;
  Status violation(StatusKind::Corrupt, fmt::format("{}: {} [{}]", describe(place), what, label));
  if (!note.empty())
    violation.addNote(std::move(note));
  status.append(std::move(violation));
}

Status Report::take() { return std::move(status); }

} // namespace shardc::rt::verify
