//===-- Placement.h - which process is which rank -----------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_COMM_PROCESS_PLACEMENT_H
#define SHARDC_RUNTIME_COMM_PROCESS_PLACEMENT_H

#include "runtime/format/Query.h"

namespace shardc::rt {

/// Where a process runs.
struct ProcessPlace {
  char host[64] = {};
  int32_t numaNode = 0; // of the first core that it may use
  int32_t pid = 0;
};

/// This process. SHARDRT_HOST in the environment stands for the host's name, for machines that share one.
ProcessPlace thisPlace();

/// The rank of each process (by launcher's number), so that ranks that talk most live together: processes are taken
/// host by host, hosts in the order of their first process, within a host by NUMA node; ranks with tp running fastest,
/// then pp, then dp, whatever the mesh order is. The order in which a launcher numbers the processes of a host does not
/// matter beyond that.
std::vector<int64_t> assignRanks(const MeshView &mesh, const std::vector<ProcessPlace> &places);

/// A line for each rank: "rank 3 (dp 0, pp 1, tp 1): host node7, process 1234".
std::vector<std::string> describePlacement(const MeshView &mesh, const std::vector<ProcessPlace> &places,
                                           const std::vector<int64_t> &ranks);

} // namespace shardc::rt

#endif
