//===-- Stages.cpp - every op of the model is in exactly one stage ------------------------------------------------===//
//
// Plan.ops is what the model has, noted before it was cut; Program.ops is what each stage took over. Views and what
// kernels fuse have no instruction of their own, so that instructions alone cannot show that an op is missing; they
// show that an op is computed where it does not belong. What is computed nowhere although its stage claims it is an
// unwritten value to whoever reads it (Reads).
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "runtime/verify/Stages.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace shardc::rt::verify {
namespace {

class StagesCheck {
public:
  StagesCheck(const plan::Plan &plan, Report &report) : plan(plan), report(report) {}

  void run() {
    checkAscending(plan.ops(), "ops of the model");
    for (const plan::Program &program : plan.programs())
      checkAscending(program.ops(), fmt::format("ops of stage {}", program.pp()));
    if (!report.empty())
      return;
    for (int64_t op : plan.ops())
      stageOf.emplace(op, kNone);
    for (const plan::Program &program : plan.programs())
      for (int64_t op : program.ops())
        addStage(op, program.pp());
    for (auto [op, stage] : stageOf)
      if (stage == kNone)
        report.add("plan-stage", {}, fmt::format("{}, expected in exactly one stage, got none", describe(op)));
    for (int p = 0; p < plan.programs_size(); ++p)
      for (int b = 0; b < plan.programs(p).blocks_size(); ++b)
        if (isForward(plan.programs(p).blocks(b).action()))
          checkForward({p, -1, b});
  }

private:
  static constexpr int64_t kNone = -1;

  const plan::Plan &plan;
  Report &report;
  std::map<int64_t, int64_t> stageOf;

  static bool isForward(plan::Block::Action action) {
    return action == plan::Block::FORWARD || action == plan::Block::EVALUATE;
  }

  template <typename Ops> void checkAscending(const Ops &ops, const std::string &what) {
    auto wrong = std::adjacent_find(ops.begin(), ops.end(), [](int64_t a, int64_t b) { return a >= b; });
    if (wrong != ops.end())
      report.add("plan-stage", {}, fmt::format("{}, expected ascending, got {} before {}", what, *wrong, wrong[1]));
  }

  /// Ops that the model does not list may be in any number of stages.
  void addStage(int64_t op, int64_t stage) {
    auto found = stageOf.find(op);
    if (found == stageOf.end())
      return;
    if (found->second != kNone)
      report.add("plan-stage", {},
                 fmt::format("{}, expected in exactly one stage, got {} and {}", describe(op), found->second, stage));
    found->second = stage;
  }

  void checkForward(const Place &block) {
    const auto &instructions = plan.programs(block.program).blocks(block.block).instructions();
    for (int i = 0; i < instructions.size(); ++i) {
      auto found = stageOf.find(instructions[i].origin());
      if (found != stageOf.end() && found->second != kNone && found->second != block.program)
        report.add("plan-stage", block.at(i),
                   fmt::format("stage of op {}, expected {}, got {}", found->first, found->second, block.program));
    }
  }

  /// "op 12, node 'h.0/MatMul'", where an instruction still names it.
  std::string describe(int64_t op) const {
    for (const plan::Program &program : plan.programs())
      for (const plan::Block &block : program.blocks())
        for (const plan::Instruction &instruction : block.instructions())
          if (instruction.origin() == op)
            return fmt::format("op {}, node '{}'", op, instruction.node());
    return fmt::format("op {}", op);
  }
};

} // namespace

void checkStages(const plan::Plan &plan, Report &report) { StagesCheck(plan, report).run(); }

} // namespace shardc::rt::verify
