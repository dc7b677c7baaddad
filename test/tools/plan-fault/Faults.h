//===-- Faults.h - plans broken on purpose ------------------------------------------------------------------------===//
//
// Each fault is a small edit that a defect of the compiler, or a damaged file, could make. Faults look for a place that
// fits in whatever plan they get, so that they work on plans made by hand and by shardc.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_TEST_TOOLS_PLANFAULT_FAULTS_H
#define SHARDC_TEST_TOOLS_PLANFAULT_FAULTS_H

#include "runtime/format/plan.pb.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardc::rt::test {

struct Fault {
  const char *name;
  const char *summary;
  const char *label; // that the verifier must report
  bool (*plant)(plan::Plan &plan);
};

const std::vector<Fault> &faults();
/// Those of a schedule of evaluation, for plans that have one.
const std::vector<Fault> &evaluationFaults();

/// Leaves out the first all-reduce over an axis in blocks of an action, in all variants of the block.
bool dropReduction(plan::Plan &plan, plan::Block::Action action, std::string_view axis);

/// Plants the fault of that name. False when there is none of that name, or no place for it in the plan.
bool plantFault(plan::Plan &plan, const std::string &name);

} // namespace shardc::rt::test

#endif
