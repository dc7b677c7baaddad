//===-- MemoryUse.h - what lies in the arena of a program ---------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDPLAN_MEMORYUSE_H
#define SHARDC_TOOLS_SHARDPLAN_MEMORYUSE_H

#include "runtime/format/plan.pb.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardc::shardplan {

/// Every byte of the arena belongs to exactly one part, so that the parts' bytes add up to the arena's.
struct MemoryPart {
  std::string name;  // of the region; "scratch" is what all blocks share; "padding" belongs to no buffer
  int64_t bytes = 0; // that the part occupies
  int buffers = 0;
  int64_t elements = 0; // of one slot of its buffers
};

struct MemoryHolder {
  std::string name, region;
  int64_t bytes = 0; // of all slots
  uint32_t slots = 1;
};

struct StashTensor {
  std::string name;
  std::vector<int64_t> shape;
  plan::ElementType type;
  int64_t elements = 0; // of one slot
  uint32_t slots = 1;
};

struct MemoryUse {
  int64_t arenaBytes = 0;
  std::vector<MemoryPart> parts;
  std::vector<MemoryHolder> largest; // at most five
  std::vector<StashTensor> stash;    // in the order of the buffers
  uint32_t stashSlots = 0;           // micro-batches in flight
  int64_t stashElements = 0;         // of one slot
  int64_t stashBytes = 0;            // of one slot
  int64_t scratchPeakBytes = 0;      // of the block that needs most
};

MemoryUse measureMemory(const plan::Program &program);

} // namespace shardc::shardplan

#endif
