//===-- CheckMachine.h - can this machine run the plan? -----------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_EXECUTOR_CHECKMACHINE_H
#define SHARDC_RUNTIME_EXECUTOR_CHECKMACHINE_H

#include "runtime/base/Status.h"
#include "runtime/format/plan.pb.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardc::rt {

/// What a machine offers to the ranks of one process.
struct Machine {
  int64_t cores;
  int64_t memoryBytes;
};

/// This one: processors that we may use; physical memory, or what our control groups leave of it.
Machine thisMachine();

/// The lowest limit on memory, in bytes, of the control groups (versions 1 and 2) that `groupFile`, a /proc/PID/cgroup,
/// lists, and of those above them, under `root`, /sys/fs/cgroup. INT64_MAX where there is none.
int64_t memoryLimitOfGroups(const std::string &groupFile, const std::string &root);

/// How many ranks of each stage live on a machine.
using RanksOfStages = std::vector<int64_t>;

/// Checks, before anything is made, that some ranks of a plan (all, if nothing else is said) can live on one machine:
/// that ranks × threads are no more than kThreadsPerCore on each core, and that their arenas fit into its memory.
Status checkMachine(const plan::Plan &plan, int64_t threadsPerRank, const Machine &machine);
Status checkMachine(const plan::Plan &plan, const RanksOfStages &ranks, int64_t threadsPerRank, const Machine &machine);

/// More waiting threads than this on a core are a mistake, not a plan to try things out.
inline constexpr int64_t kThreadsPerCore = 64;

} // namespace shardc::rt

#endif
