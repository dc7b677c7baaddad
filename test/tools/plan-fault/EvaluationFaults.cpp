//===-- EvaluationFaults.cpp - faults of the schedule of evaluation -----------------------------------------------===//

#include "Faults.h"

#include <functional>

namespace shardc::rt::test {
namespace {

using Action = plan::Block::Action;

Action actionOf(const plan::Program &program, int entry) {
  return program.blocks(static_cast<int>(program.evaluation().schedule(entry).block())).action();
}

/// The first entry of a program's evaluation that does `action`; -1: none does.
int findEntry(const plan::Program &program, Action action) {
  for (int e = 0; e < program.evaluation().schedule_size(); ++e)
    if (actionOf(program, e) == action)
      return e;
  return -1;
}

/// Leaves out the first run of an action of the first program.
bool dropEntry(plan::Plan &plan, Action action) {
  plan::Program &program = *plan.mutable_programs(0);
  int entry = findEntry(program, action);
  if (entry < 0)
    return false;
  program.mutable_evaluation()->mutable_schedule()->DeleteSubrange(entry, 1);
  return true;
}

bool dropMessages(plan::Plan &plan) { return dropEntry(plan, plan::Block::COMMUNICATE); }
bool dropRun(plan::Plan &plan) { return dropEntry(plan, plan::Block::EVALUATE); }

/// The last stage receives the second micro-batch before it has evaluated the first.
bool receiveEarly(plan::Plan &plan) {
  plan::Program &program = *plan.mutable_programs(plan.programs_size() - 1);
  int entry = findEntry(program, plan::Block::EVALUATE);
  if (entry < 0 || actionOf(program, entry + 1) != plan::Block::COMMUNICATE)
    return false;
  program.mutable_evaluation()->mutable_schedule()->SwapElements(entry, entry + 1);
  return true;
}

/// The update takes the place of the report.
bool update(plan::Plan &plan) {
  plan::Program &program = *plan.mutable_programs(0);
  int report = findEntry(program, plan::Block::REPORT);
  for (int b = 0; b < program.blocks_size() && report >= 0; ++b)
    if (program.blocks(b).action() == plan::Block::UPDATE) {
      program.mutable_evaluation()->mutable_schedule(report)->set_block(b);
      return true;
    }
  return false;
}

bool writeParameter(plan::Plan &plan) {
  plan::Program &program = *plan.mutable_programs(0);
  for (plan::Block &block : *program.mutable_blocks())
    for (plan::Instruction &instruction : *block.mutable_instructions())
      if (block.action() == plan::Block::EVALUATE && instruction.has_gemm() &&
          program.buffers(static_cast<int>(instruction.gemm().b().buffer())).region() == plan::PARAMETER) {
        plan::Instruction copy;
        copy.set_node("planted");
        copy.set_records(-1);
        *copy.mutable_copy()->mutable_from() = *copy.mutable_copy()->mutable_to() = instruction.gemm().b();
        instruction = copy;
        return true;
      }
  return false;
}

bool dropReductions(plan::Plan &plan) { return dropReduction(plan, plan::Block::EVALUATE, "tp"); }

bool swapOutputs(plan::Plan &plan) {
  plan::Program &program = *plan.mutable_programs(0);
  if (program.outputs().empty() || program.evaluation().outputs().empty())
    return false;
  *program.mutable_evaluation()->mutable_outputs(0) = program.outputs(0);
  return true;
}

bool dropEvaluation(plan::Plan &plan) {
  plan.mutable_programs(0)->clear_evaluation();
  return plan.programs_size() > 1 && plan.programs(1).has_evaluation();
}

} // namespace

const std::vector<Fault> &evaluationFaults() {
  static const std::vector<Fault> list = {
      {"evaluation-send", "an evaluation does not send its first micro-batch", "plan-receive", dropMessages},
      {"evaluation-receive", "an evaluation receives over what it has not used yet", "plan-stale", receiveEarly},
      {"evaluation-run", "an evaluation leaves out a micro-batch", "plan-schedule", dropRun},
      {"evaluation-update", "an evaluation ends with an update", "plan-schedule", update},
      {"evaluation-parameter", "an evaluation writes a parameter", "plan-parameter", writeParameter},
      {"evaluation-reduction", "an all-reduce over tp is missing in an evaluation", "plan-partial", dropReductions},
      {"evaluation-output", "an evaluation never writes an output", "plan-output", swapOutputs},
      {"evaluation-nowhere", "a program has no evaluation, others have", "plan-schedule", dropEvaluation},
  };
  return list;
}

} // namespace shardc::rt::test
