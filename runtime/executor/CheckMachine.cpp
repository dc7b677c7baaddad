//===-- CheckMachine.cpp - can this machine run the plan? ---------------------------------------------------------===//

#include "runtime/executor/CheckMachine.h"

#include "runtime/format/Query.h"

#include <fmt/format.h>
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
                fmt::format("plan: {} ranks of {} thread{} each, expected at most {} threads in all on {} core{} "
                            "[run-threads]",
                            ranks, threadsPerRank, threadsPerRank == 1 ? "" : "s", limit, machine.cores,
                            machine.cores == 1 ? "" : "s"),
                remedy);
}

Status checkMemory(const plan::Plan &plan, const MeshView &mesh, const Machine &machine) {
  int64_t ranksPerStage = mesh.ranks() / mesh.axisSize("pp");
  int64_t free = machine.memoryBytes;
  for (const plan::Program &program : plan.programs()) {
    // Divided, not multiplied: a damaged plan must not overflow.
    if (program.arena_bytes() > free / ranksPerStage)
      return Status(StatusKind::OutOfMemory,
                    fmt::format("plan: the arenas of its {} ranks need more than the {:.1f} GiB of this machine "
                                "[run-memory]",
                                mesh.ranks(), static_cast<double>(machine.memoryBytes) / (1 << 30)),
                    "shardplan show lists what each rank needs; a smaller --micro-batch, --recompute full or fewer "
                    "ranks on this machine need less");
    free -= program.arena_bytes() * ranksPerStage;
  }
  return {};
}

} // namespace

Machine thisMachine() {
  Machine machine;
  cpu_set_t allowed;
  machine.cores =
      sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed) : sysconf(_SC_NPROCESSORS_ONLN);
  machine.memoryBytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  return machine;
}

Status checkMachine(const plan::Plan &plan, int64_t threadsPerRank, const Machine &machine) {
  MeshView mesh(plan.mesh());
  SHARDRT_RETURN_IF_ERROR(checkThreads(mesh.ranks(), threadsPerRank, machine));
  return checkMemory(plan, mesh, machine);
}

} // namespace shardc::rt
