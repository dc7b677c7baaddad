//===-- ScheduleChart.cpp - the schedule of all stages on one clock -----------------------------------------------===//

#include "tools/shardplan/ScheduleChart.h"

#include <algorithm>
#include <fmt/format.h>

namespace shardc::shardplan {
namespace {

int64_t durationOf(plan::Block::Action action) {
  return action == plan::Block::FORWARD ? 1 : action == plan::Block::BACKWARD ? 2 : 0;
}

/// Walks all schedules together, each as far as what it receives has been sent.
class Clock {
public:
  Clock(const plan::Plan &plan, const rt::verify::Communication &communication)
      : plan(plan), communication(communication), next(plan.programs_size()), time(plan.programs_size()),
        nextTransfer(plan.programs_size()), sentAt(communication.channels.size()) {
    chart.rows.resize(plan.programs_size());
  }

  ScheduleChart run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int p = 0; p < plan.programs_size(); ++p)
        while (step(p))
          moved = true;
    }
    for (int64_t end : time)
      chart.length = std::max(chart.length, end);
    return std::move(chart);
  }

private:
  const plan::Plan &plan;
  const rt::verify::Communication &communication;
  std::vector<int> next;     // entry of each program
  std::vector<int64_t> time; // of each program
  std::vector<int> nextTransfer;
  std::vector<std::vector<int64_t>> sentAt; // of each channel
  ScheduleChart chart;

  /// Runs the next entry of a program. False when it has to wait, or there is none.
  bool step(int p) {
    const plan::Program &program = plan.programs(p);
    if (next[p] >= program.schedule_size())
      return false;
    int e = next[p];
    const auto &transfers = communication.transfers[p];
    int first = nextTransfer[p], last = first;
    while (last < int(transfers.size()) && transfers[last].place.entry == e)
      ++last;
    // What is sent is on its way even while this stage waits for what it receives.
    for (int t = first; t < last; ++t)
      if (transfers[t].message->send() && size_t(transfers[t].number) == sentAt[transfers[t].channel].size())
        sentAt[transfers[t].channel].push_back(time[p]);
    int64_t arrival = 0;
    for (int t = first; t < last; ++t) {
      if (transfers[t].message->send())
        continue;
      const std::vector<int64_t> &sent = sentAt[transfers[t].channel];
      if (size_t(transfers[t].number) >= sent.size())
        return false;
      arrival = std::max(arrival, sent[transfers[t].number]);
    }
    nextTransfer[p] = last;
    time[p] = std::max(time[p], arrival);
    play(p, program.schedule(e), program.blocks(program.schedule(e).block()).action());
    ++next[p];
    return true;
  }

  void play(int p, const plan::ScheduleEntry &entry, plan::Block::Action action) {
    if (action == plan::Block::COMMUNICATE)
      return;
    ChartAction result{action};
    if (entry.registers_size()) {
      result.microBatch = entry.registers(0).micro_batch();
      result.slot = entry.registers(0).slot();
    }
    result.begin = time[p];
    result.end = time[p] += durationOf(action);
    chart.rows[p].push_back(result);
  }
};

} // namespace

int64_t ScheduleChart::bubble(size_t row) const {
  int64_t busy = 0;
  for (const ChartAction &action : rows[row])
    busy += action.end - action.begin;
  return length - busy;
}

std::vector<std::string> ScheduleChart::draw(size_t maxColumns) const {
  uint32_t largest = 0;
  for (const auto &row : rows)
    for (const ChartAction &action : row)
      largest = std::max(largest, action.microBatch);
  size_t width = fmt::format("F{} ", largest).size();
  size_t units = std::min<size_t>(length, maxColumns / width);
  std::vector<std::string> lines;
  for (const auto &row : rows) {
    std::vector<std::string> cells(units, ".");
    for (const ChartAction &action : row)
      for (int64_t at = action.begin; at < action.end && size_t(at) < units; ++at)
        cells[at] = at > action.begin
                        ? "="
                        : fmt::format("{}{}", action.kind == plan::Block::FORWARD ? "F" : "B", action.microBatch);
    std::string line;
    for (const std::string &cell : cells)
      line += fmt::format("{:<{}}", cell, width);
    line += size_t(length) > units ? "…" : "U";
    lines.push_back(line);
  }
  return lines;
}

ScheduleChart chartSchedule(const plan::Plan &plan, const rt::verify::Communication &communication) {
  return Clock(plan, communication).run();
}

} // namespace shardc::shardplan
