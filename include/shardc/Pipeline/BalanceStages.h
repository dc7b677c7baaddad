//===-- BalanceStages.h - cutting a chain of work into contiguous stages ------------------------------------------===//
//
// The problem behind CutStages, without IR: items of work in a row, a cut between any two neighbours, and a number of
// stages. What crosses a cut is sent from one stage to the next, which both of them pay for.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_PIPELINE_BALANCESTAGES_H
#define SHARDC_PIPELINE_BALANCESTAGES_H

#include <cstdint>
#include <optional>
#include <vector>

namespace shardc::pipeline {

/// The cut between an item and the next one.
struct CutPoint {
  int64_t values; ///< how many values cross
  int64_t cost;   ///< what sending them costs each of the two stages, in the unit of the items' costs
};

struct StageProblem {
  std::vector<int64_t> costs; ///< of each item
  std::vector<CutPoint> cuts; ///< cuts[i] is between items i and i + 1: one fewer than costs
  int64_t stages;             ///< at least 1
};

/// The first item of each stage; nothing where there are fewer items than stages. Exact: minimises the largest stage
/// cost, then the sum of the cuts' costs, then takes the earliest cuts. Only cuts that few values cross are used (one:
/// the residual stream): the smallest limit whose best largest stage costs at most half as much again as the best
/// without a limit.
std::optional<std::vector<int64_t>> balanceStages(const StageProblem &problem);

/// The largest cost of a stage when stages begin at `firsts`.
int64_t largestStageCost(const StageProblem &problem, const std::vector<int64_t> &firsts);

} // namespace shardc::pipeline

#endif
