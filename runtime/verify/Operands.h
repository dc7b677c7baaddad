//===-- Operands.h - what an instruction reads and writes ---------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_VERIFY_OPERANDS_H
#define SHARDC_RUNTIME_VERIFY_OPERANDS_H

#include "runtime/format/plan.pb.h"

namespace shardc::rt::verify {

enum class Role { Read, Write };

/// Calls visit(operand, role, message) for every operand: reads before writes; `message` is the number within a group,
/// else -1. A product that accumulates reads what it writes.
template <typename Visitor> void visitOperands(const plan::Instruction &instruction, Visitor &&visit) {
  switch (instruction.kind_case()) {
  case plan::Instruction::kKernel:
    for (const plan::Operand &operand : instruction.kernel().reads())
      visit(operand, Role::Read, -1);
    for (const plan::Operand &operand : instruction.kernel().writes())
      visit(operand, Role::Write, -1);
    break;
  case plan::Instruction::kGemm: {
    const plan::Gemm &gemm = instruction.gemm();
    visit(gemm.a(), Role::Read, -1);
    visit(gemm.b(), Role::Read, -1);
    if (gemm.has_bias())
      visit(gemm.bias(), Role::Read, -1);
    if (gemm.accumulate())
      visit(gemm.c(), Role::Read, -1);
    visit(gemm.c(), Role::Write, -1);
    break;
  }
  case plan::Instruction::kCollective:
    visit(instruction.collective().input(), Role::Read, -1);
    visit(instruction.collective().output(), Role::Write, -1);
    break;
  case plan::Instruction::kGroup:
    for (int i = 0; i < instruction.group().messages_size(); ++i)
      if (instruction.group().messages(i).send())
        visit(instruction.group().messages(i).value(), Role::Read, i);
    for (int i = 0; i < instruction.group().messages_size(); ++i)
      if (!instruction.group().messages(i).send())
        visit(instruction.group().messages(i).value(), Role::Write, i);
    break;
  case plan::Instruction::kLoadInput:
    visit(instruction.load_input().value(), Role::Write, -1);
    break;
  case plan::Instruction::kCopy:
    visit(instruction.copy().from(), Role::Read, -1);
    visit(instruction.copy().to(), Role::Write, -1);
    break;
  case plan::Instruction::KIND_NOT_SET:
    break;
  }
}

/// The register that says whose micro-batch an operand belongs to: the one that it names; else 1 for what is received
/// where the entry has two, 0 for all other operands.
inline int registerOf(const plan::Operand &operand, Role role, int message, int registers) {
  if (operand.register_() >= 0)
    return operand.register_();
  return message >= 0 && role == Role::Write && registers > 1 ? 1 : 0;
}

/// Whether a communicator reaches other pp coordinates.
inline bool crossesStages(const plan::Plan &plan, const plan::Communicator &communicator) {
  for (uint32_t axis : communicator.axes())
    if (plan.mesh().axes(axis).name() == "pp" && plan.mesh().axes(axis).size() > 1)
      return true;
  return false;
}

/// Whether pp coordinate `pp` takes part in a communicator.
inline bool isMember(const plan::Communicator &communicator, uint32_t pp) {
  if (communicator.members_size() == 0)
    return true;
  for (uint32_t member : communicator.members())
    if (member == pp)
      return true;
  return false;
}

} // namespace shardc::rt::verify

#endif
