//===-- Show.h - a plan as text and as JSON -----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDPLAN_SHOW_H
#define SHARDC_TOOLS_SHARDPLAN_SHOW_H

#include "runtime/format/plan.pb.h"
#include "tools/shardplan/Communications.h"
#include "tools/shardplan/MemoryUse.h"
#include "tools/shardplan/ScheduleChart.h"

#include <string>
#include <vector>

namespace shardc::shardplan {

struct ShowOptions {
  bool kernels = false;
  bool instructions = false;
};

/// What is to be told of one pp coordinate.
struct ProgramSummary {
  std::string firstNode, lastNode; // of the forward, by origin
  MemoryUse memory;
  std::vector<CommunicationUse> communications;
};

struct PlanSummary {
  std::vector<ProgramSummary> programs;
  ScheduleChart chart;
};

/// Summarises a well-formed plan.
PlanSummary summarize(const plan::Plan &plan, const rt::verify::Communication &communication);

/// "gemm a='x'[4x8 +0 {8,1}] …": one instruction as text.
std::string describeInstruction(const plan::Plan &plan, const plan::Program &program,
                                const plan::Instruction &instruction);

/// How often each kernel is called in the blocks of all programs.
std::vector<int64_t> countKernelCalls(const plan::Plan &plan);

std::string showText(const plan::Plan &plan, const PlanSummary &summary, const ShowOptions &options);

/// One JSON object; docs/plan-format.md lists its keys.
std::string showJson(const plan::Plan &plan, const PlanSummary &summary, const ShowOptions &options);

} // namespace shardc::shardplan

#endif
