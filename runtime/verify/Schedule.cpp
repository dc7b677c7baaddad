//===-- Schedule.cpp - whether a schedule runs every micro-batch once ---------------------------------------------===//

#include "runtime/verify/Structure.h"

#include <algorithm>
#include <fmt/format.h>

namespace shardc::rt::verify {
namespace {

/// The actions of one program's schedule.
class ScheduleCheck {
public:
  ScheduleCheck(const plan::Plan &plan, int index, Step step, Report &report)
      : plan(plan), index(index), end(step == Step::Training ? plan::Block::UPDATE : plan::Block::REPORT),
        report(report) {
    if (step == Step::Training)
      actions = {plan::Block::FORWARD, plan::Block::BACKWARD};
    else
      actions = {plan::Block::EVALUATE};
    runs.assign(actions.size(), std::vector<int>(plan.training().micro_batches()));
  }

  void run() {
    const plan::Program &program = plan.programs(index);
    for (int e = 0; e < program.schedule_size(); ++e)
      checkEntry(e, program.schedule(e));
    for (int64_t m = 0; m < plan.training().micro_batches(); ++m)
      for (size_t a = 0; a < actions.size(); ++a)
        if (runs[a][m] != 1)
          bad({index}, fmt::format("{} of micro-batch {}, expected 1, got {}", actionName(actions[a]), m, runs[a][m]));
    if (ends != 1)
      bad({index}, fmt::format("{}, expected 1 a step, got {}", actionName(end), ends));
  }

private:
  const plan::Plan &plan;
  int index;
  plan::Block::Action end;
  Report &report;
  std::vector<plan::Block::Action> actions; // of a micro-batch, in their order
  std::vector<std::vector<int>> runs;       // of each action, by micro-batch
  int ends = 0;

  void bad(const Place &place, const std::string &what) { report.add("plan-schedule", place, what); }

  void checkEntry(int e, const plan::ScheduleEntry &entry) {
    Place place{index, e, int(entry.block())};
    plan::Block::Action action = plan.programs(index).blocks(entry.block()).action();
    if (action == plan::Block::COMMUNICATE)
      return;
    if (ends)
      bad(place,
          fmt::format("runs after the {0}, expected the {0} to end the step, got another action", actionName(end)));
    if (action == end) {
      ++ends;
      return;
    }
    size_t number = std::ranges::find(actions, action) - actions.begin();
    if (number == actions.size())
      return bad(place, fmt::format("action of a step that ends with the {}, expected one of such a step, got {}",
                                    actionName(end), actionName(action)));
    if (entry.registers_size() == 0)
      return bad(place, "registers of an action, expected 1, got 0");
    uint32_t m = entry.registers(0).micro_batch();
    if (number > 0 && runs[number - 1][m] == 0)
      bad(place, fmt::format("{} of micro-batch {}, expected after its {}, got before it", actionName(action), m,
                             actionName(actions[number - 1])));
    ++runs[number][m];
  }
};
} // namespace

void checkSchedule(const plan::Plan &plan, Step step, Report &report) {
  for (int p = 0; p < plan.programs_size(); ++p)
    ScheduleCheck(plan, p, step, report).run();
}

} // namespace shardc::rt::verify
