//===-- CheckMachine.cpp - can this machine run the plan? ---------------------------------------------------------===//

#include "runtime/executor/CheckMachine.h"

#include "runtime/format/Query.h"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <numeric>
#include <sched.h>
#include <unistd.h>

namespace shardc::rt {
namespace {

Status checkThreads(int64_t ranks, int64_t threadsPerRank, const Machine &machine) {
  int64_t limit = machine.cores * kThreadsPerCore;
  if (threadsPerRank <= limit / ranks)
    return {};
  std::string remedy =
      ranks <= limit ? fmt::format("--threads-per-rank takes at most {} here", limit / ranks)
                     : "compile for fewer ranks to run here (--dp, --pp, --tp); shardplan show needs no such machine";
  return Status(StatusKind::Unsupported,
                fmt::format("plan: {} rank{} of {} thread{} each, expected at most {} threads in all on {} core{} "
                            "[run-threads]",
                            ranks, ranks == 1 ? "" : "s", threadsPerRank, threadsPerRank == 1 ? "" : "s", limit,
                            machine.cores, machine.cores == 1 ? "" : "s"),
                remedy);
}

Status checkMemory(const plan::Plan &plan, const RanksOfStages &ranks, const Machine &machine) {
  int64_t free = machine.memoryBytes, all = std::accumulate(ranks.begin(), ranks.end(), int64_t(0));
  for (int stage = 0; stage < plan.programs_size(); ++stage) {
    if (ranks[stage] == 0)
      continue;
    // Divided, not multiplied: a damaged plan must not overflow.
    if (plan.programs(stage).arena_bytes() > free / ranks[stage])
      return Status(
          StatusKind::OutOfMemory,
          fmt::format("plan: the arenas of {} rank{} need more than the {:.1f} GiB that this machine gives us "
                      "[run-memory]",
                      all, all == 1 ? "" : "s", static_cast<double>(machine.memoryBytes) / (1 << 30)),
          "shardplan show lists what each rank needs; a smaller --micro-batch, --recompute full or fewer "
          "ranks on this machine need less");
    free -= plan.programs(stage).arena_bytes() * ranks[stage];
  }
  return {};
}

/// The number in a file; INT64_MAX if it has none ("max").
int64_t readLimit(const std::string &path) {
  int64_t limit = 0;
  return std::ifstream(path) >> limit ? limit : std::numeric_limits<int64_t>::max();
}

/// The lowest limit from a group up to the root of its hierarchy.
int64_t lowestLimit(const std::string &hierarchy, std::string group, const char *file) {
  int64_t limit = std::numeric_limits<int64_t>::max();
  for (; !group.empty(); group.resize(group.rfind('/')))
    limit = std::min(limit, readLimit(hierarchy + group + "/" + file));
  return std::min(limit, readLimit(hierarchy + "/" + file));
}

} // namespace

int64_t memoryLimitOfGroups(const std::string &groupFile, const std::string &root) {
  int64_t limit = std::numeric_limits<int64_t>::max();
  std::ifstream groups(groupFile);
  for (std::string line; std::getline(groups, line);) { // number:controllers:/path
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos || line.compare(second + 1, 1, "/") != 0)
      continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.size() > second + 2 ? line.substr(second + 1) : std::string();
    if (controllers.empty())
      limit = std::min(limit, lowestLimit(root, group, "memory.max"));
    else if (controllers == "memory")
      limit = std::min(limit, lowestLimit(root + "/memory", group, "memory.limit_in_bytes"));
  }
  return limit;
}

Machine thisMachine() {
  Machine machine;
  cpu_set_t allowed;
  machine.cores =
      sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed) : sysconf(_SC_NPROCESSORS_ONLN);
  int64_t physical = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  machine.memoryBytes = std::min(physical, memoryLimitOfGroups("/proc/self/cgroup", "/sys/fs/cgroup"));
  return machine;
}

Status checkMachine(const plan::Plan &plan, int64_t threadsPerRank, const Machine &machine) {
  MeshView mesh(plan.mesh());
  int64_t stages = mesh.axisSize("pp");
  return checkMachine(plan, RanksOfStages(stages, mesh.ranks() / stages), threadsPerRank, machine);
}

Status checkMachine(const plan::Plan &plan, const RanksOfStages &ranks, int64_t threadsPerRank,
                    const Machine &machine) {
  int64_t all = std::accumulate(ranks.begin(), ranks.end(), int64_t(0));
  SHARDRT_RETURN_IF_ERROR(checkThreads(all, threadsPerRank, machine));
  return checkMemory(plan, ranks, machine);
}

} // namespace shardc::rt
