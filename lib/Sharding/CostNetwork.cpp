//===-- CostNetwork.cpp - exact minimisation of sums of small tables ----------------------------------------------===//

#include "lib/Sharding/CostNetwork.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <set>

using namespace mlir;
using namespace shardc::sharding;

int64_t shardc::sharding::addCosts(int64_t a, int64_t b) { return std::min(a + b, kInfeasible); }

int CostNetwork::addVariable(int size) {
  unary.emplace_back(size, 0);
  return unary.size() - 1;
}

void CostNetwork::addCost(int variable, int value, int64_t cost) {
  unary[variable][value] = sharding::addCosts(unary[variable][value], cost);
}

void CostNetwork::addCosts(int first, int second, llvm::function_ref<int64_t(int, int)> cost) {
  assert(first != second && "a table over one variable is a unary cost");
  Table table{first, second, {}};
  for (int a = 0; a < getSize(first); ++a)
    for (int b = 0; b < getSize(second); ++b)
      table.costs.push_back(cost(a, b));
  tables.push_back(std::move(table));
}

int64_t CostNetwork::evaluate(ArrayRef<int> values) const {
  int64_t cost = 0;
  for (auto [costs, value] : llvm::zip_equal(unary, values))
    cost = sharding::addCosts(cost, costs[value]);
  for (const Table &table : tables)
    cost = sharding::addCosts(cost, table.costs[values[table.first] * getSize(table.second) + values[table.second]]);
  return cost;
}

namespace {

/// A table over any number of variables, row-major in the order of `scope`.
struct Bucket {
  std::vector<int> scope;
  std::vector<int64_t> costs;
};

/// The elimination: buckets over what is left of the variables.
class Elimination {
public:
  Elimination(std::vector<int> sizes, int64_t maxTableSize) : sizes(std::move(sizes)), maxTableSize(maxTableSize) {
    neighbours.resize(this->sizes.size());
    mentions.resize(this->sizes.size());
  }

  void add(Bucket bucket) {
    int id = buckets.size();
    for (int a : bucket.scope) {
      mentions[a].insert(id);
      for (int b : bucket.scope)
        if (a != b)
          neighbours[a].insert(b);
    }
    buckets.push_back(std::move(bucket));
  }

  FailureOr<CostNetwork::Solution> run() {
    std::set<std::pair<int64_t, int>> queue;
    std::vector<int64_t> keys(sizes.size());
    for (size_t variable = 0; variable < sizes.size(); ++variable)
      queue.insert({keys[variable] = getTableSize(variable), variable});
    while (!queue.empty()) {
      auto [key, variable] = *queue.begin();
      queue.erase(queue.begin());
      if (key > maxTableSize)
        return failure();
      std::vector<int> around(neighbours[variable].begin(), neighbours[variable].end());
      eliminate(variable, around);
      for (int other : around) {
        queue.erase({keys[other], other});
        queue.insert({keys[other] = getTableSize(other), other});
      }
    }
    if (constant >= kInfeasible)
      return failure();
    return CostNetwork::Solution{constant, trace()};
  }

private:
  /// One elimination: what the variable should be for each assignment of the others.
  struct Step {
    int variable;
    std::vector<int> scope;
    std::vector<int> best;
  };

  /// The entries that eliminating the variable visits.
  int64_t getTableSize(int variable) const {
    int64_t size = sizes[variable];
    for (int other : neighbours[variable]) {
      size *= sizes[other];
      if (size > maxTableSize)
        return maxTableSize + 1;
    }
    return size;
  }

  /// A bucket of the variable at hand, with its strides along the scope and along the variable.
  struct View {
    const Bucket *bucket;
    std::vector<int64_t> strides;
    int64_t own;
  };

  std::vector<View> getViews(int variable, const std::vector<int> &scope) const {
    std::vector<View> views;
    for (int id : mentions[variable]) {
      View view{&buckets[id], std::vector<int64_t>(scope.size(), 0), 0};
      int64_t stride = 1;
      for (int other : llvm::reverse(buckets[id].scope)) {
        if (other == variable)
          view.own = stride;
        else
          view.strides[llvm::lower_bound(scope, other) - scope.begin()] = stride;
        stride *= sizes[other];
      }
      views.push_back(std::move(view));
    }
    return views;
  }

  /// The best value of the variable, and its cost, where the others stand at `positions` of the views.
  std::pair<int, int64_t> choose(int variable, const std::vector<View> &views,
                                 const std::vector<int64_t> &positions) const {
    std::pair<int, int64_t> best{0, kInfeasible};
    for (int value = 0; value < sizes[variable]; ++value) {
      int64_t cost = 0;
      for (auto [view, position] : llvm::zip_equal(views, positions))
        cost = shardc::sharding::addCosts(cost, view.bucket->costs[position + value * view.own]);
      if (cost < best.second)
        best = {value, cost};
    }
    return best;
  }

  /// Counts the values of the scope up by one, row-major, and moves the positions along.
  void advance(const std::vector<int> &scope, const std::vector<View> &views, std::vector<int> &values,
               std::vector<int64_t> &positions) const {
    for (int64_t digit = static_cast<int64_t>(scope.size()) - 1; digit >= 0; --digit) {
      bool carries = ++values[digit] == sizes[scope[digit]];
      for (auto [view, position] : llvm::zip_equal(views, positions))
        position += carries ? -view.strides[digit] * (sizes[scope[digit]] - 1) : view.strides[digit];
      if (!carries)
        return;
      values[digit] = 0;
    }
  }

  void eliminate(int variable, const std::vector<int> &scope) {
    Step step{variable, scope, {}};
    Bucket merged{scope, {}};
    int64_t entries = 1;
    for (int other : scope)
      entries *= sizes[other];
    std::vector<View> views = getViews(variable, scope);
    std::vector<int> values(scope.size(), 0);
    std::vector<int64_t> positions(views.size(), 0);
    for (int64_t entry = 0; entry < entries; ++entry) {
      auto [value, cost] = choose(variable, views, positions);
      step.best.push_back(value);
      merged.costs.push_back(cost);
      advance(scope, views, values, positions);
    }
    forget(variable, scope);
    steps.push_back(std::move(step));
    if (scope.empty())
      constant = shardc::sharding::addCosts(constant, merged.costs[0]);
    else
      add(std::move(merged));
  }

  /// Drops the buckets of a variable.
  void forget(int variable, const std::vector<int> &scope) {
    for (int id : std::set<int>(mentions[variable])) {
      for (int other : buckets[id].scope)
        mentions[other].erase(id);
      buckets[id] = {};
    }
    for (int other : scope)
      neighbours[other].erase(variable);
    neighbours[variable].clear();
  }

  /// The values, from the last eliminated variable back to the first.
  std::vector<int> trace() const {
    std::vector<int> values(sizes.size(), 0);
    for (const Step &step : llvm::reverse(steps)) {
      int64_t position = 0;
      for (int other : step.scope)
        position = position * sizes[other] + values[other];
      values[step.variable] = step.best[position];
    }
    return values;
  }

  std::vector<int> sizes;
  int64_t maxTableSize;
  std::vector<Bucket> buckets;
  std::vector<std::set<int>> mentions, neighbours;
  std::vector<Step> steps;
  int64_t constant = 0;
};

} // namespace

std::vector<std::vector<bool>> CostNetwork::findAlive() const {
  std::vector<std::vector<bool>> alive;
  for (const std::vector<int64_t> &costs : unary) {
    alive.emplace_back();
    for (int64_t cost : costs)
      alive.back().push_back(cost < kInfeasible);
  }
  bool changed = true;
  auto prune = [&](const Table &table, bool byFirst) {
    int mine = byFirst ? table.first : table.second, other = byFirst ? table.second : table.first;
    for (int a = 0; a < getSize(mine); ++a) {
      bool supported = false;
      for (int b = 0; b < getSize(other) && alive[mine][a] && !supported; ++b) {
        int64_t position = byFirst ? a * getSize(other) + b : b * getSize(mine) + a;
        supported = alive[other][b] && table.costs[position] < kInfeasible;
      }
      changed |= alive[mine][a] && !supported;
      alive[mine][a] = supported;
    }
  };
  auto pruneBoth = [&](const Table &table) {
    prune(table, true);
    prune(table, false);
  };
  while (changed) {
    changed = false;
    llvm::for_each(tables, pruneBoth);
    llvm::for_each(llvm::reverse(tables), pruneBoth);
  }
  return alive;
}

FailureOr<CostNetwork::Solution> CostNetwork::solve(int64_t maxTableSize) const {
  std::vector<std::vector<bool>> alive = findAlive();
  std::vector<std::vector<int>> kept(unary.size());
  std::vector<int> sizes;
  for (size_t variable = 0; variable < unary.size(); ++variable) {
    for (int value = 0; value < getSize(variable); ++value)
      if (alive[variable][value])
        kept[variable].push_back(value);
    if (kept[variable].empty())
      return failure();
    sizes.push_back(kept[variable].size());
  }

  Elimination elimination(sizes, maxTableSize);
  for (size_t variable = 0; variable < unary.size(); ++variable) {
    Bucket bucket{{static_cast<int>(variable)}, {}};
    for (int value : kept[variable])
      bucket.costs.push_back(unary[variable][value]);
    elimination.add(std::move(bucket));
  }
  for (const Table &table : tables) {
    int low = std::min(table.first, table.second), high = std::max(table.first, table.second);
    Bucket bucket{{low, high}, {}};
    for (int a : kept[low])
      for (int b : kept[high]) {
        int first = table.first == low ? a : b, second = table.first == low ? b : a;
        bucket.costs.push_back(table.costs[first * getSize(table.second) + second]);
      }
    elimination.add(std::move(bucket));
  }
  FailureOr<Solution> solution = elimination.run();
  if (failed(solution))
    return failure();
  for (auto [variable, value] : llvm::enumerate(solution->values))
    value = kept[variable][value];
  return solution;
}
