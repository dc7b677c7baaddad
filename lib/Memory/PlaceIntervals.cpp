//===-- PlaceIntervals.cpp - from lifetimes to offsets ------------------------------------------------------------===//

#include "shardc/Memory/PlaceBuffers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

using namespace shardc::memory;

namespace {

bool overlapInTime(const Interval &a, const Interval &b) { return a.start <= b.end && b.start <= a.end; }

/// The lowest offset at which `bytes` fit between the taken ranges (pairs of begin and end, sorted).
int64_t findGap(llvm::ArrayRef<std::pair<int64_t, int64_t>> taken, int64_t bytes, int64_t alignment) {
  int64_t offset = 0;
  for (auto [begin, end] : taken) {
    if (begin - offset >= bytes)
      break;
    offset = std::max<int64_t>(offset, llvm::alignTo(end, alignment));
  }
  return offset;
}

} // namespace

Placement shardc::memory::placeIntervals(llvm::ArrayRef<Interval> intervals, int64_t alignment) {
  auto order = llvm::to_vector(llvm::seq<size_t>(0, intervals.size()));
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return std::make_pair(-intervals[a].bytes, intervals[a].start) <
           std::make_pair(-intervals[b].bytes, intervals[b].start);
  });

  Placement placement;
  placement.offsets.resize(intervals.size(), 0);
  llvm::SmallVector<size_t> placed;
  for (size_t index : order) {
    llvm::SmallVector<std::pair<int64_t, int64_t>> taken;
    for (size_t other : placed)
      if (overlapInTime(intervals[index], intervals[other]))
        taken.emplace_back(placement.offsets[other], placement.offsets[other] + intervals[other].bytes);
    llvm::sort(taken);
    placement.offsets[index] = findGap(taken, intervals[index].bytes, alignment);
    placement.bytes = std::max(placement.bytes, placement.offsets[index] + intervals[index].bytes);
    placed.push_back(index);
  }
  return placement;
}

bool shardc::memory::isValidPlacement(llvm::ArrayRef<Interval> intervals, const Placement &placement,
                                      int64_t alignment) {
  for (size_t a = 0; a < intervals.size(); ++a) {
    int64_t begin = placement.offsets[a], end = begin + intervals[a].bytes;
    if (begin % alignment != 0 || begin < 0 || end > placement.bytes)
      return false;
    for (size_t b = 0; b < a; ++b) {
      int64_t otherBegin = placement.offsets[b], otherEnd = otherBegin + intervals[b].bytes;
      if (overlapInTime(intervals[a], intervals[b]) && begin < otherEnd && otherBegin < end)
        return false;
    }
  }
  return true;
}
