//===-- PlaceBuffers.cpp - offsets of all buffers -----------------------------------------------------------------===//

#include "shardc/Memory/PlaceBuffers.h"
#include "Liveness.h"
#include "shardc/Memory/Passes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace shardc::exec;

namespace shardc::memory {
#define GEN_PASS_DEF_PLACEBUFFERSPASS
#include "shardc/Memory/Passes.h.inc"
} // namespace shardc::memory

using namespace shardc::memory;

namespace {

void place(BufferOp buffer, int64_t offset, int64_t alignment) {
  buffer.setOffset(offset);
  buffer.setSlotStride(llvm::alignTo(buffer.getSlotBytes(), alignment));
}

/// Places the buffers of one region that outlives blocks, from `offset` on; returns where they end.
int64_t placeRegion(ProgramOp program, shardc::exec::Region region, int64_t offset, int64_t alignment) {
  for (auto buffer : program.getBody().getOps<BufferOp>())
    if (buffer.getRegion() == region) {
      place(buffer, offset, alignment);
      offset += *buffer.getSlotStride() * buffer.getSlots();
    }
  return offset;
}

/// Packs the scratch of one block from `base` on; returns where it ends.
int64_t placeScratch(BlockOp block, int64_t base, int64_t alignment) {
  auto liveness = computeLiveness(block).takeVector();
  SmallVector<Interval> intervals;
  for (auto &[buffer, span] : liveness)
    intervals.push_back({span.start, span.end, buffer.getSlotBytes()});
  Placement placement = placeIntervals(intervals, alignment);
  for (auto [entry, offset] : llvm::zip(liveness, placement.offsets))
    place(entry.first, base + offset, alignment);
  return base + placement.bytes;
}

/// Buffers without bytes (a dimension of 0) have no place; nothing the importer lets through makes one.
LogicalResult checkBuffers(ProgramOp program) {
  for (auto buffer : program.getBody().getOps<BufferOp>())
    if (buffer.getSlotBytes() <= 0 || buffer.getSlots() <= 0)
      return buffer.emitOpError("'") << buffer.getName() << "' has no bytes";
  return success();
}

struct PlaceBuffersPass : shardc::memory::impl::PlaceBuffersPassBase<PlaceBuffersPass> {
  using PlaceBuffersPassBase::PlaceBuffersPassBase;

  void runOnOperation() override {
    for (auto program : getOperation().getOps<ProgramOp>()) {
      if (failed(checkBuffers(program)))
        return signalPassFailure();
      placeProgram(program);
    }
  }

  void placeProgram(ProgramOp program) {
    int64_t end = 0;
    for (shardc::exec::Region region :
         {shardc::exec::Region::Parameter, shardc::exec::Region::Gradient, shardc::exec::Region::State,
          shardc::exec::Region::Stash, shardc::exec::Region::Message, shardc::exec::Region::Input,
          shardc::exec::Region::Output})
      end = placeRegion(program, region, end, alignment);
    int64_t arena = end;
    for (auto block : program.getBody().getOps<BlockOp>())
      arena = std::max(arena, placeScratch(block, end, alignment));
    // A scratch buffer that no instruction touches has no lifetime; it goes.
    for (auto buffer : llvm::make_early_inc_range(program.getBody().getOps<BufferOp>()))
      if (buffer.getRegion() == shardc::exec::Region::Scratch && buffer->use_empty())
        buffer.erase();
    program.setArenaBytes(llvm::alignTo(arena, alignment));
  }
};

} // namespace
