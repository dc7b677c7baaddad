//===-- PlaceBuffers.h - from lifetimes to offsets ----------------------------------------------------------------===//
//
// The placement problem, apart from any IR: intervals of time with sizes become offsets such that intervals that
// overlap in time do not overlap in memory. Greedy by size: the largest first, each at the lowest offset where it fits;
// ties go to the earlier start, then to the earlier interval, so that the result is a function of the input alone. (For
// the family of such heuristics see Sekiyama et al. 2018, arXiv 1804.10001.)
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_MEMORY_PLACEBUFFERS_H
#define SHARDC_MEMORY_PLACEBUFFERS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace shardc::memory {

/// What every buffer's start is a multiple of, in bytes, on a CPU (a cache line, and the widest vector) and on a GPU
/// (what its allocator gives, and libraries like).
inline constexpr int64_t kAlignment = 64;
inline constexpr int64_t kGpuAlignment = 256;

/// A piece of memory that is needed during [start, end], both included. Bytes are positive.
struct Interval {
  int64_t start;
  int64_t end;
  int64_t bytes;
};

/// One offset an interval (multiples of the alignment), and the bytes that they need together.
struct Placement {
  llvm::SmallVector<int64_t> offsets;
  int64_t bytes = 0;
};

/// Places intervals at multiples of `alignment` bytes; see the head of this file.
Placement placeIntervals(llvm::ArrayRef<Interval> intervals, int64_t alignment = kAlignment);

/// Whether no two intervals share time and memory, and all is inside `placement.bytes`: what placeIntervals promises.
bool isValidPlacement(llvm::ArrayRef<Interval> intervals, const Placement &placement, int64_t alignment = kAlignment);

} // namespace shardc::memory

#endif
