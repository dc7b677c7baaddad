//===-- Verify.cpp - the proof that a plan is sound ---------------------------------------------------------------===//

#include "runtime/verify/Verify.h"

#include "runtime/verify/Communication.h"
#include "runtime/verify/Reductions.h"
#include "runtime/verify/Stages.h"
#include "runtime/verify/Structure.h"

#include <algorithm>

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

void verifyMemory(const plan::Plan &plan, Step step, Report &report) {
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
  if (played && step == Step::Training)
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

/// All checks of what the programs' schedules run.
void verifyStep(const plan::Plan &plan, Step step, Report &report, VerifiedCounts &counts) {
  checkStructure(plan, report);
  if (report.empty())
    checkSchedule(plan, step, report);
  if (!report.empty())
    return;
  countInstructions(plan, counts);
  if (step == Step::Training)
    checkStages(plan, report);
  verifyCommunication(plan, report, counts);
  verifyMemory(plan, step, report);
}

/// Whether there is an evaluation; reports one that only some programs have.
bool hasEvaluation(const plan::Plan &plan, Report &report) {
  auto has = [](const plan::Program &program) { return program.evaluation().schedule_size() > 0; };
  auto all = std::ranges::count_if(plan.programs(), has);
  for (int p = 0; p < plan.programs_size() && all > 0; ++p)
    if (!has(plan.programs(p)))
      report.add("plan-schedule", {p}, "schedule of evaluation, expected one as other programs have, got none");
  return all > 0;
}

/// The plan whose step is the evaluation.
plan::Plan takeEvaluation(const plan::Plan &plan) {
  plan::Plan evaluation = plan;
  for (plan::Program &program : *evaluation.mutable_programs()) {
    program.mutable_schedule()->Swap(program.mutable_evaluation()->mutable_schedule());
    program.mutable_outputs()->Swap(program.mutable_evaluation()->mutable_outputs());
  }
  return evaluation;
}

} // namespace

Status verifyPlan(const plan::Plan &plan, VerifiedCounts *counts) {
  VerifiedCounts unused;
  VerifiedCounts &result = counts ? *counts : unused;
  result = {};
  Report report(plan);
  verifyStep(plan, Step::Training, report, result);
  bool evaluates = hasEvaluation(plan, report);
  if (!report.empty() || !evaluates)
    return report.take();
  plan::Plan evaluation = takeEvaluation(plan);
  Report evaluationReport(evaluation);
  VerifiedCounts ofEvaluation;
  verifyStep(evaluation, Step::Evaluation, evaluationReport, ofEvaluation);
  return evaluationReport.take();
}

} // namespace shardc::rt
