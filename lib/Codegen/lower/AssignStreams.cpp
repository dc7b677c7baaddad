//===-- AssignStreams.cpp - streams and events of instructions ----------------------------------------------------===//

#include "shardc/Codegen/Passes.h"

#include "llvm/ADT/MapVector.h"

namespace shardc::codegen {
#define GEN_PASS_DEF_ASSIGNSTREAMSPASS
#include "shardc/Codegen/Passes.h.inc"
} // namespace shardc::codegen

using namespace mlir;
using namespace shardc;

namespace {

/// An instruction of a block and the order that it needs.
struct Step {
  explicit Step(Operation *op) : op(op) {}

  Operation *op;
  int stream = 0;
  llvm::SmallDenseSet<Operation *> reads, writes; // buffers
  llvm::SetVector<int> waits;                     // steps
  int event = -1;
};

/// Numbers the communicators of a program: axes and members, in order of first use.
class Communicators {
public:
  int getIndex(exec::CollectiveOp collective) {
    std::pair<Attribute, Attribute> key{collective.getAxesAttr(), collective.getMembersAttr()};
    return indices.insert({key, static_cast<int>(indices.size())}).first->second;
  }

private:
  llvm::MapVector<std::pair<Attribute, Attribute>, int> indices;
};

bool haveCommon(const llvm::SmallDenseSet<Operation *> &a, const llvm::SmallDenseSet<Operation *> &b) {
  return llvm::any_of(a, [&](Operation *op) { return b.contains(op); });
}

bool depends(const Step &later, const Step &earlier) {
  return haveCommon(later.reads, earlier.writes) || haveCommon(later.writes, earlier.writes) ||
         haveCommon(later.writes, earlier.reads);
}

class BlockStreams {
public:
  BlockStreams(exec::BlockOp block, Communicators &communicators) {
    for (auto instruction : block.getBody().getOps<exec::InstructionOpInterface>()) {
      Step step(instruction);
      for (Value view : instruction.getReads())
        step.reads.insert(exec::getBuffer(view));
      for (Value view : instruction.getWrites())
        step.writes.insert(exec::getBuffer(view));
      if (auto collective = dyn_cast<exec::CollectiveOp>(instruction.getOperation()))
        step.stream = 1 + communicators.getIndex(collective);
      steps.push_back(std::move(step));
    }
  }

  void run(int &nextEvent) {
    keepEndsOnStreamZero();
    for (int step = 0; step < static_cast<int>(steps.size()); ++step)
      addWaits(step);
    join();
    writeAttributes(nextEvent);
  }

private:
  /// What has no work of stream 0 before or after it cannot be joined with it, and runs there itself.
  void keepEndsOnStreamZero() {
    for (Step &step : steps) {
      if (step.stream == 0)
        break;
      step.stream = 0;
    }
    for (Step &step : llvm::reverse(steps)) {
      if (step.stream == 0)
        break;
      step.stream = 0;
    }
  }

  /// Waits for the newest step of every other stream that `step` depends on, and for stream 0 in any case.
  void addWaits(int step) {
    llvm::SmallDenseSet<int> streams{steps[step].stream};
    int newestOfZero = -1;
    for (int earlier = step - 1; earlier >= 0; --earlier) {
      if (steps[earlier].stream == 0)
        newestOfZero = std::max(newestOfZero, earlier);
      if (depends(steps[step], steps[earlier]) && streams.insert(steps[earlier].stream).second)
        steps[step].waits.insert(earlier);
    }
    bool isFirstOfStream = llvm::none_of(ArrayRef<Step>(steps).take_front(step),
                                         [&](const Step &earlier) { return earlier.stream == steps[step].stream; });
    if (isFirstOfStream && streams.insert(0).second)
      steps[step].waits.insert(newestOfZero);
  }

  /// The last step of stream 0 waits for the last step of every other stream.
  void join() {
    if (steps.empty())
      return;
    int last = steps.size() - 1;
    llvm::SmallDenseSet<int> streams{0};
    for (int step = last; step >= 0; --step) {
      if (!streams.insert(steps[step].stream).second)
        continue;
      bool isJoined = false;
      for (int later = step + 1; later <= last; ++later)
        isJoined |= steps[later].stream == 0 && steps[later].waits.contains(step);
      if (!isJoined)
        steps[last].waits.insert(step);
    }
  }

  void writeAttributes(int &nextEvent) {
    for (Step &step : steps)
      for (int awaited : step.waits)
        if (steps[awaited].event < 0)
          steps[awaited].event = 0;
    for (Step &step : steps)
      if (step.event >= 0)
        step.event = nextEvent++;
    for (Step &step : steps) {
      Builder builder(step.op->getContext());
      SmallVector<int32_t> events;
      for (int awaited : step.waits)
        events.push_back(steps[awaited].event);
      llvm::sort(events);
      step.op->setAttr(exec::kStreamAttr, builder.getI32IntegerAttr(step.stream));
      if (!events.empty())
        step.op->setAttr(exec::kWaitsAttr, builder.getDenseI32ArrayAttr(events));
      if (step.event >= 0)
        step.op->setAttr(exec::kRecordsAttr, builder.getI32IntegerAttr(step.event));
    }
  }

  SmallVector<Step, 0> steps;
};

struct AssignStreamsPass : codegen::impl::AssignStreamsPassBase<AssignStreamsPass> {
  using AssignStreamsPassBase::AssignStreamsPassBase;

  void runOnOperation() override {
    for (auto program : getOperation().getOps<exec::ProgramOp>()) {
      Communicators communicators;
      int nextEvent = 0;
      for (auto block : program.getBody().getOps<exec::BlockOp>())
        BlockStreams(block, communicators).run(nextEvent);
    }
  }
};

} // namespace
