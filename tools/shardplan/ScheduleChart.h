//===-- ScheduleChart.h - the schedule of all stages on one clock -------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDPLAN_SCHEDULECHART_H
#define SHARDC_TOOLS_SHARDPLAN_SCHEDULECHART_H

#include "runtime/verify/Communication.h"

#include <string>
#include <vector>

namespace shardc::shardplan {

/// Units of time: a forward takes 1, a backward 2, everything else nothing; an action begins when the action before it
/// in its stage, and those that made what it receives, are done.
struct ChartAction {
  plan::Block::Action kind;
  uint32_t microBatch = 0, slot = 0;
  int64_t begin = 0, end = 0;
};

struct ScheduleChart {
  std::vector<std::vector<ChartAction>> rows; // of each pp coordinate, without communication
  int64_t length = 0;                         // units of a step
  /// Units that a stage does not work in.
  int64_t bubble(size_t row) const;
  /// One line for each pp coordinate: `F3` and `B3 ==` in units, `.` for bubbles; the end of long schedules is left
  /// out.
  std::vector<std::string> draw(size_t maxColumns) const;
};

/// `communication` must be of this plan. Where it does not match, times are those of what does.
ScheduleChart chartSchedule(const plan::Plan &plan, const rt::verify::Communication &communication);

} // namespace shardc::shardplan

#endif
