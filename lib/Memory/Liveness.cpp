//===-- Liveness.cpp - when the buffers of a block are needed -----------------------------------------------------===//

#include "Liveness.h"

using namespace mlir;
using namespace shardc::exec;
using namespace shardc::memory;

namespace {

SmallVector<int64_t> getEvents(Operation *instruction, StringRef name) {
  if (auto single = instruction->getAttrOfType<IntegerAttr>(name))
    return {single.getInt()};
  SmallVector<int64_t> events;
  if (auto many = instruction->getAttrOfType<ArrayAttr>(name))
    for (Attribute event : many)
      events.push_back(cast<IntegerAttr>(event).getInt());
  if (auto dense = instruction->getAttrOfType<DenseI32ArrayAttr>(name))
    events.append(dense.asArrayRef().begin(), dense.asArrayRef().end());
  return events;
}

/// The span of the instruction at `position` on another stream than 0: from the completion of the latest instruction of
/// stream 0 that it waits for (directly, or through its predecessors on its stream) to the start of the first one that
/// waits for it.
Span getAsynchronousSpan(ArrayRef<Operation *> instructions, int64_t position) {
  int64_t stream = getStream(instructions[position]);
  Span span{0, 2 * static_cast<int64_t>(instructions.size())};
  for (int64_t before = position; before >= 0; --before) {
    if (getStream(instructions[before]) != stream)
      continue;
    for (int64_t event : getEvents(instructions[before], kWaitsAttr))
      for (int64_t source = before - 1; source >= 0; --source)
        if (getStream(instructions[source]) == 0 &&
            llvm::is_contained(getEvents(instructions[source], kRecordsAttr), event)) {
          span.start = std::max(span.start, 2 * source + 2);
          break;
        }
  }
  SmallVector<int64_t> fired;
  for (int64_t after = position; after < static_cast<int64_t>(instructions.size()); ++after) {
    if (getStream(instructions[after]) == stream)
      llvm::append_range(fired, getEvents(instructions[after], kRecordsAttr));
    else if (getStream(instructions[after]) == 0 &&
             llvm::any_of(getEvents(instructions[after], kWaitsAttr),
                          [&](int64_t event) { return llvm::is_contained(fired, event); })) {
      span.end = 2 * after - 1;
      break;
    }
  }
  return span;
}

} // namespace

int64_t shardc::memory::getStream(Operation *instruction) {
  auto stream = instruction->getAttrOfType<IntegerAttr>(kStreamAttr);
  return stream ? stream.getInt() : 0;
}

llvm::MapVector<BufferOp, Span> shardc::memory::computeLiveness(BlockOp block) {
  SmallVector<Operation *> instructions;
  for (auto instruction : block.getBody().getOps<InstructionOpInterface>())
    instructions.push_back(instruction);

  llvm::MapVector<BufferOp, Span> liveness;
  for (auto [position, operation] : llvm::enumerate(instructions)) {
    auto instruction = cast<InstructionOpInterface>(operation);
    int64_t start = 2 * static_cast<int64_t>(position);
    Span span = getStream(operation) == 0 ? Span{start, start + 1} : getAsynchronousSpan(instructions, position);
    SmallVector<Value> touched = instruction.getReads();
    llvm::append_range(touched, instruction.getWrites());
    for (Value view : touched) {
      BufferOp buffer = getBuffer(view);
      if (buffer.getRegion() != shardc::exec::Region::Scratch)
        continue;
      auto [entry, isNew] = liveness.try_emplace(buffer, span);
      entry->second.start = std::min(entry->second.start, span.start);
      entry->second.end = std::max(entry->second.end, span.end);
    }
  }
  return liveness;
}
