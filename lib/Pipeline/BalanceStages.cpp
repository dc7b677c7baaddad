//===-- BalanceStages.cpp - an exact dynamic program over cuts ----------------------------------------------------===//

#include "shardc/Pipeline/BalanceStages.h"

#include <algorithm>
#include <limits>
#include <set>

using namespace shardc::pipeline;

namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

/// The problem with only some cuts: positions 0 … n are those in front of an item (and the end); `points` are the ones
/// where a stage may begin or end.
class Balancer {
public:
  Balancer(const StageProblem &problem, int64_t valueLimit) : problem(problem) {
    int64_t items = problem.costs.size();
    prefix.assign(items + 1, 0);
    for (int64_t i = 0; i < items; ++i)
      prefix[i + 1] = prefix[i] + problem.costs[i];
    points.push_back(0);
    for (int64_t i = 1; i < items; ++i)
      if (problem.cuts[i - 1].values <= valueLimit)
        points.push_back(i);
    points.push_back(items);
  }

  /// The smallest largest stage cost; kNever where the stages are too many.
  int64_t minimiseLargest() const {
    int64_t last = points.size() - 1;
    std::vector<int64_t> best(points.size(), kNever);
    best[0] = 0;
    for (int64_t stage = 0; stage < problem.stages; ++stage) {
      std::vector<int64_t> next(points.size(), kNever);
      for (int64_t to = stage + 1; to <= last; ++to)
        for (int64_t from = stage; from < to; ++from)
          if (best[from] != kNever)
            next[to] = std::min(next[to], std::max(best[from], stageCost(points[from], points[to])));
      best = std::move(next);
    }
    return best[last];
  }

  /// The cheapest cuts, and the earliest among those, whose stages cost at most `largest`.
  std::vector<int64_t> minimiseCuts(int64_t largest) const {
    int64_t last = points.size() - 1;
    std::vector<int64_t> best(points.size(), kNever);
    std::vector<std::vector<int64_t>> previous;
    best[0] = 0;
    for (int64_t stage = 0; stage < problem.stages; ++stage) {
      std::vector<int64_t> next(points.size(), kNever);
      std::vector<int64_t> &from = previous.emplace_back(points.size(), -1);
      for (int64_t to = stage + 1; to <= last; ++to)
        for (int64_t begin = stage; begin < to; ++begin) {
          if (best[begin] == kNever || stageCost(points[begin], points[to]) > largest)
            continue;
          int64_t cost = best[begin] + cutCost(points[begin]);
          if (cost < next[to])
            next[to] = cost, from[to] = begin;
        }
      best = std::move(next);
    }
    std::vector<int64_t> firsts;
    for (int64_t stage = problem.stages - 1, to = last; stage >= 0; --stage) {
      to = previous[stage][to];
      firsts.push_back(points[to]);
    }
    std::reverse(firsts.begin(), firsts.end());
    return firsts;
  }

private:
  int64_t cutCost(int64_t position) const {
    bool inside = position > 0 && position < static_cast<int64_t>(problem.costs.size());
    return inside ? problem.cuts[position - 1].cost : 0;
  }

  int64_t stageCost(int64_t begin, int64_t end) const {
    return prefix[end] - prefix[begin] + cutCost(begin) + cutCost(end);
  }

  const StageProblem &problem;
  std::vector<int64_t> prefix;
  std::vector<int64_t> points;
};

} // namespace

std::optional<std::vector<int64_t>> shardc::pipeline::balanceStages(const StageProblem &problem) {
  int64_t unlimited = Balancer(problem, kNever).minimiseLargest();
  if (unlimited == kNever)
    return std::nullopt;
  std::set<int64_t> limits;
  for (const CutPoint &cut : problem.cuts)
    limits.insert(cut.values);
  limits.insert(kNever);
  for (int64_t limit : limits) {
    Balancer balancer(problem, limit);
    int64_t largest = balancer.minimiseLargest();
    if (largest != kNever && largest <= unlimited + unlimited / 2)
      return balancer.minimiseCuts(largest);
  }
  return std::nullopt; // not reached: without a limit the best is within its own bound
}

int64_t shardc::pipeline::largestStageCost(const StageProblem &problem, const std::vector<int64_t> &firsts) {
  int64_t largest = 0;
  for (size_t stage = 0; stage < firsts.size(); ++stage) {
    int64_t end = stage + 1 < firsts.size() ? firsts[stage + 1] : problem.costs.size();
    int64_t cost = 0;
    for (int64_t i = firsts[stage]; i < end; ++i)
      cost += problem.costs[i];
    if (stage > 0)
      cost += problem.cuts[firsts[stage] - 1].cost;
    if (stage + 1 < firsts.size())
      cost += problem.cuts[end - 1].cost;
    largest = std::max(largest, cost);
  }
  return largest;
}
