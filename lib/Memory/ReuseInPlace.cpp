//===-- ReuseInPlace.cpp - kernels that write over what they read last --------------------------------------------===//

#include "Liveness.h"
#include "shardc/Memory/Passes.h"

using namespace mlir;
using namespace shardc::exec;

namespace shardc::memory {
#define GEN_PASS_DEF_REUSEINPLACEPASS
#include "shardc/Memory/Passes.h.inc"
} // namespace shardc::memory

using namespace shardc::memory;

namespace {

/// The scratch buffer that `view` is the whole of, contiguous; null where it is anything else.
BufferOp getWholeScratch(Value view) {
  auto buffer = view.getDefiningOp<BufferOp>();
  return buffer && buffer.getRegion() == shardc::exec::Region::Scratch && buffer.getSlots() == 1 ? buffer : BufferOp();
}

bool isTouchedOnOtherStream(BlockOp block, BufferOp buffer) {
  for (auto instruction : block.getBody().getOps<InstructionOpInterface>()) {
    if (getStream(instruction) == 0)
      continue;
    SmallVector<Value> touched = instruction.getReads();
    llvm::append_range(touched, instruction.getWrites());
    if (llvm::any_of(touched, [&](Value view) { return getBuffer(view) == buffer; }))
      return true;
  }
  return false;
}

struct ReuseInPlacePass : shardc::memory::impl::ReuseInPlacePassBase<ReuseInPlacePass> {
  void runOnOperation() override {
    getOperation().walk([](BlockOp block) { reuseInBlock(block); });
  }

  static void reuseInBlock(BlockOp block) {
    int64_t position = 0;
    for (auto instruction : block.getBody().getOps<InstructionOpInterface>()) {
      if (auto kernel = dyn_cast<KernelOp>(instruction.getOperation()); kernel && kernel.getInPlace())
        reuse(block, kernel, position);
      ++position;
    }
  }

  static void reuse(BlockOp block, KernelOp kernel, int64_t position) {
    ArrayRef<int64_t> pairs = *kernel.getInPlace();
    auto liveness = computeLiveness(block);
    SmallVector<BufferOp> taken;
    for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
      BufferOp from = getWholeScratch(kernel.getReads()[pairs[i]]),
               to = getWholeScratch(kernel.getWrites()[pairs[i + 1]]);
      if (!from || !to || from == to || from.getSlotBytes() != to.getSlotBytes() || llvm::is_contained(taken, from) ||
          llvm::is_contained(taken, to))
        continue;
      // Another read of the same kernel may look at the buffer through another view.
      if (llvm::count_if(kernel.getReads(), [&](Value view) { return getBuffer(view) == from; }) != 1)
        continue;
      bool isLastUse = liveness.find(from)->second.end == 2 * position + 1;
      bool isFirstWrite = liveness.find(to)->second.start == 2 * position;
      if (!isLastUse || !isFirstWrite || isTouchedOnOtherStream(block, from) || isTouchedOnOtherStream(block, to))
        continue;
      taken.append({from, to});
      merge(from, to);
    }
  }

  /// Makes `to` a view of `from`.
  static void merge(BufferOp from, BufferOp to) {
    OpBuilder builder(to);
    builder.setInsertionPointAfter(from->isBeforeInBlock(to) ? to : from);
    auto view = ViewOp::create(builder, to.getLoc(), to.getType(), from.getResult());
    to.getResult().replaceAllUsesWith(view.getResult());
    to.erase();
  }
};

} // namespace
