//===-- CostNetwork.h - exact minimisation of sums of small tables ------------------------------------------------===//
//
// Variables with few values each, and tables that give a cost to every assignment of one or two of them. The cheapest
// assignment is found exactly by bucket elimination (Bertelè and Brioschi 1972; Dechter 1999): eliminating a variable
// replaces the tables that mention it by one table over its neighbours, which holds for each of their assignments the
// best it can do. Work is linear in the number of variables and exponential only in the number of neighbours at the
// time of elimination; variables go in the order of the smallest resulting table. Values that no assignment of
// a neighbour goes with are dropped before.
//
// Everything is deterministic: costs are integers, and ties take the value with the smallest number.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_LIB_SHARDING_COSTNETWORK_H
#define SHARDC_LIB_SHARDING_COSTNETWORK_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace shardc::sharding {

/// A cost that no solution has.
inline constexpr int64_t kInfeasible = int64_t(1) << 60;

/// a + b, infeasible where either is.
int64_t addCosts(int64_t a, int64_t b);

class CostNetwork {
public:
  /// A variable with values 0 … size - 1.
  int addVariable(int size);
  int getNumVariables() const { return unary.size(); }
  int getSize(int variable) const { return unary[variable].size(); }
  void addCost(int variable, int value, int64_t cost);
  /// Adds cost(a, b) for all values of two different variables.
  void addCosts(int first, int second, llvm::function_ref<int64_t(int, int)> cost);

  struct Solution {
    int64_t cost;
    std::vector<int> values;
  };
  /// The cheapest assignment; failure where none is feasible or a table would exceed `maxTableSize` entries.
  mlir::FailureOr<Solution> solve(int64_t maxTableSize = int64_t(1) << 26) const;
  /// The cost of an assignment.
  int64_t evaluate(llvm::ArrayRef<int> values) const;

private:
  /// Which values of each variable have a feasible partner in every table: others are in no solution.
  std::vector<std::vector<bool>> findAlive() const;

  struct Table {
    int first, second;
    std::vector<int64_t> costs; // [first value][second value]
  };

  std::vector<std::vector<int64_t>> unary;
  std::vector<Table> tables;
};

} // namespace shardc::sharding

#endif
