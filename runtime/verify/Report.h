//===-- Report.h - the violations of a plan, and where they are ---------------------------------------------------===//
#ifndef SHARDC_RUNTIME_VERIFY_REPORT_H
#define SHARDC_RUNTIME_VERIFY_REPORT_H

#include "runtime/base/Status.h"
#include "runtime/format/plan.pb.h"

#include <set>
#include <string>
#include <string_view>
#include <tuple>

namespace shardc::rt::verify {

/// A place in a plan; what does not apply is -1. `message` counts within a group. An entry names a run of a block.
struct Place {
  int program = -1;
  int entry = -1;
  int block = -1;
  int instruction = -1;
  int message = -1;

  Place at(int newInstruction, int newMessage = -1) const {
    return {program, entry, block, newInstruction, newMessage};
  }
};

/// Collects violations. One label is reported once for an instruction, at the first run that shows it.
class Report {
public:
  explicit Report(const plan::Plan &plan) : plan(plan) {}

  void add(std::string_view label, const Place &place, std::string_view what, std::string note = {});

  /// `rank 5 (dp 0, pp 1, tp 1), backward 3, instruction 12 gemm, node 'h.3/mlp/MatMul'`. Every index of the place
  /// must be in range.
  std::string describe(const Place &place) const;

  /// How often add() was called for something new.
  size_t size() const { return found; }
  bool empty() const { return found == 0; }
  Status take();

private:
  static constexpr size_t kMaxKept = 1000;

  const plan::Plan &plan;
  std::set<std::tuple<std::string, int, int, int, int>> seen;
  Status status;
  size_t found = 0;
};

/// The name of an instruction's kind: "kernel", "gemm", "all_reduce", "send", …
std::string_view instructionKind(const plan::Instruction &instruction, int message = -1);
std::string_view actionName(plan::Block::Action action);
std::string_view regionName(plan::Region region);
/// "rank 5 (dp 0, pp 1, tp 0)": the first rank of a pp coordinate.
std::string rankName(const plan::Plan &plan, int pp);
/// "sum over dp, tp and max over tp", "nothing"
std::string partialName(const plan::Plan &plan, uint32_t sum, uint32_t max);

} // namespace shardc::rt::verify

#endif
