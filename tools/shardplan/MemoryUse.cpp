//===-- MemoryUse.cpp - what lies in the arena of a program -------------------------------------------------------===//

#include "tools/shardplan/MemoryUse.h"

#include "runtime/format/Query.h"
#include "runtime/verify/Report.h"

#include <algorithm>
#include <map>

namespace shardc::shardplan {
namespace {

/// What a byte belongs to when buffers of several regions share it: the one that lives longest.
int rankOf(plan::Region region) {
  switch (region) {
  case plan::PARAMETER:
    return 0;
  case plan::STATE:
    return 1;
  case plan::GRADIENT:
    return 2;
  case plan::STASH:
    return 3;
  case plan::MESSAGE:
    return 4;
  case plan::INPUT:
    return 5;
  case plan::OUTPUT:
    return 6;
  default:
    return 7;
  }
}

struct Edge {
  int64_t at;
  int rank, change;
};

void addEdges(const plan::Buffer &buffer, std::vector<Edge> &edges) {
  for (uint32_t slot = 0; slot < buffer.slots(); ++slot) {
    int64_t begin = buffer.offset() + slot * buffer.slot_stride();
    edges.push_back({begin, rankOf(buffer.region()), 1});
    edges.push_back({begin + buffer.bytes(), rankOf(buffer.region()), -1});
  }
}

/// Bytes that each rank holds; the last entry is padding.
std::vector<int64_t> sweep(std::vector<Edge> edges, int64_t arenaBytes) {
  std::sort(edges.begin(), edges.end(), [](const Edge &a, const Edge &b) { return a.at < b.at; });
  std::vector<int64_t> bytes(9);
  std::vector<int> open(8);
  int64_t at = 0;
  auto advance = [&](int64_t to) {
    size_t owner = 0;
    while (owner < open.size() && open[owner] == 0)
      ++owner;
    bytes[owner] += to - at;
    at = to;
  };
  for (const Edge &edge : edges) {
    advance(edge.at);
    open[edge.rank] += edge.change;
  }
  advance(arenaBytes);
  return bytes;
}

} // namespace

MemoryUse measureMemory(const plan::Program &program) {
  MemoryUse use;
  use.arenaBytes = program.arena_bytes();
  std::vector<Edge> edges;
  std::vector<MemoryPart> parts(8);
  std::map<int, std::pair<int64_t, int64_t>> scratch; // of each block: begin and end
  for (const plan::Buffer &buffer : program.buffers()) {
    addEdges(buffer, edges);
    int64_t elements = rt::elementCount(buffer.shape());
    MemoryPart &part = parts[rankOf(buffer.region())];
    part.name = rt::verify::regionName(buffer.region());
    ++part.buffers;
    part.elements += elements;
    use.largest.push_back({buffer.name(), part.name, buffer.bytes() * buffer.slots(), buffer.slots()});
    if (buffer.region() == plan::STASH) {
      use.stash.push_back(
          {buffer.name(), {buffer.shape().begin(), buffer.shape().end()}, buffer.type(), elements, buffer.slots()});
      use.stashSlots = std::max(use.stashSlots, buffer.slots());
      use.stashElements += elements;
      use.stashBytes += elements * rt::elementBytes(buffer.type());
    }
    if (buffer.region() == plan::SCRATCH) {
      auto [found, isNew] = scratch.emplace(buffer.block(), std::pair(buffer.offset(), int64_t(0)));
      found->second.first = std::min(found->second.first, buffer.offset());
      found->second.second = std::max(found->second.second, buffer.offset() + buffer.bytes());
    }
  }
  std::vector<int64_t> bytes = sweep(edges, program.arena_bytes());
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i].bytes = bytes[i];
    if (parts[i].buffers > 0)
      use.parts.push_back(parts[i]);
  }
  use.parts.push_back({"padding", bytes[8], 0, 0});
  for (const auto &[block, range] : scratch)
    use.scratchPeakBytes = std::max(use.scratchPeakBytes, range.second - range.first);
  std::stable_sort(use.largest.begin(), use.largest.end(),
                   [](const MemoryHolder &a, const MemoryHolder &b) { return a.bytes > b.bytes; });
  use.largest.resize(std::min<size_t>(use.largest.size(), 5));
  return use;
}

} // namespace shardc::shardplan
