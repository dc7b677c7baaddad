//===-- Placement.cpp - which process is which rank ---------------------------------------------------------------===//

#include "runtime/comm/process/Placement.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <numeric>
#include <sched.h>
#include <string_view>
#include <tuple>
#include <unistd.h>

namespace shardc::rt {
namespace {

/// The node that /sys says a core belongs to; 0 where it does not.
int32_t numaNodeOf(int core) {
  for (int32_t node = 0; node < 1024; ++node) {
    std::error_code ignored;
    std::string folder = fmt::format("/sys/devices/system/node/node{}", node);
    if (!std::filesystem::exists(folder, ignored))
      break;
    if (std::filesystem::exists(fmt::format("{}/cpu{}", folder, core), ignored))
      return node;
  }
  return 0;
}

int firstCore() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    return 0;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &allowed))
      return core;
  return 0;
}

} // namespace

ProcessPlace thisPlace() {
  ProcessPlace place;
  const char *given = std::getenv("SHARDRT_HOST");
  if (given && *given)
    std::snprintf(place.host, sizeof(place.host), "%s", given);
  else if (gethostname(place.host, sizeof(place.host) - 1) != 0)
    std::snprintf(place.host, sizeof(place.host), "unknown");
  place.numaNode = numaNodeOf(firstCore());
  place.pid = getpid();
  return place;
}

std::vector<int64_t> assignRanks(const MeshView &mesh, const std::vector<ProcessPlace> &places) {
  auto count = static_cast<int64_t>(places.size());
  std::vector<int64_t> processes(count), ranks(count), order(count);
  std::iota(processes.begin(), processes.end(), 0);
  auto firstOfHost = [&](int64_t process) {
    std::string_view host = places[process].host;
    return std::ranges::find(places, host, [](const ProcessPlace &place) { return std::string_view(place.host); }) -
           places.begin();
  };
  std::ranges::stable_sort(processes, {}, [&](int64_t process) {
    return std::tuple(firstOfHost(process), places[process].numaNode, process);
  });
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int64_t rank) {
    return std::tuple(mesh.coordinate(rank, "dp"), mesh.coordinate(rank, "pp"), mesh.coordinate(rank, "tp"), rank);
  });
  for (int64_t i = 0; i < count; ++i)
    ranks[processes[i]] = order[i];
  return ranks;
}

std::vector<std::string> describePlacement(const MeshView &mesh, const std::vector<ProcessPlace> &places,
                                           const std::vector<int64_t> &ranks) {
  std::vector<std::string> lines(ranks.size());
  for (size_t process = 0; process < ranks.size(); ++process)
    lines[ranks[process]] = fmt::format("{}: host {}, process {}", mesh.describe(ranks[process]), places[process].host,
                                        places[process].pid);
  return lines;
}

} // namespace shardc::rt
