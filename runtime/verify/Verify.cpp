//===-- Verify.cpp - the proof that a plan is sound ---------------------------------------------------------------===//

#include "runtime/verify/Verify.h"

#include "runtime/verify/Communication.h"
#include "runtime/verify/Reductions.h"
#include "runtime/verify/Stages.h"
#include "runtime/verify/Structure.h"

namespace shardc::rt {
namespace {

using namespace verify;

/// Matching and deadlock of all programs. Communication that does not match stops for that reason already.
void verifyCommunication(const plan::Plan &plan, Report &report, VerifiedCounts &counts) {
  Communication communication;
  size_t before = report.size();
  if (!unrollCommunication(plan, report, communication))
    return;
  for (const Channel &channel : communication.channels)
    counts.messages += int64_t(channel.sends.size());
  checkMatching(plan, communication, report);
  if (report.size() == before)
    checkDeadlock(plan, communication, report);
}

void verifyMemory(const plan::Plan &plan, Report &report) {
  std::vector<ReadsFacts> facts(plan.programs_size());
  Holders holders = findHolders(plan);
  bool played = true;
  for (int p = 0; p < plan.programs_size(); ++p) {
    ProgramAccesses accesses;
    if (!findAccesses(plan, p, report, accesses)) {
      played = false;
      continue;
    }
    checkReductions(plan, p, accesses, report);
    checkReads(plan, p, accesses, holders, report, facts[p]);
  }
  if (played)
    checkGradients(plan, holders, facts, report);
}

void countInstructions(const plan::Plan &plan, VerifiedCounts &counts) {
  counts.programs = plan.programs_size();
  for (const plan::Program &program : plan.programs()) {
    std::vector<int64_t> collectives(program.blocks_size());
    for (int b = 0; b < program.blocks_size(); ++b) {
      counts.instructions += program.blocks(b).instructions_size();
      for (const plan::Instruction &instruction : program.blocks(b).instructions())
        collectives[b] += instruction.has_collective();
    }
    for (const plan::ScheduleEntry &entry : program.schedule()) {
      counts.runs += program.blocks(entry.block()).instructions_size();
      counts.collectives += collectives[entry.block()];
    }
  }
}

} // namespace

Status verifyPlan(const plan::Plan &plan, VerifiedCounts *counts) {
  VerifiedCounts unused;
  VerifiedCounts &result = counts ? *counts : unused;
  result = {};
  Report report(plan);
  checkStructure(plan, report);
  if (report.empty())
    checkSchedule(plan, report);
  if (!report.empty())
    return report.take();
  countInstructions(plan, result);
  checkStages(plan, report);
  verifyCommunication(plan, report, result);
  verifyMemory(plan, report);
  return report.take();
}

} // namespace shardc::rt
