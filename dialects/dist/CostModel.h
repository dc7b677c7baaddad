//===-- CostModel.h - what work and communication cost ------------------------------------------------------------===//
//
// The one cost model of the compiler. Local work is a roofline: the larger of its arithmetic at the device's rate and
// its memory traffic at the device's bandwidth. Collectives follow the α–β model of ring algorithms (Thakur et al.
// 2005, Chan et al. 2007): with t ranks, n bytes of the whole value, α a message's latency and β⁻¹ the link's bandwidth
//     all-reduce       2 (t − 1) α + 2 (t − 1)/t · n β      all-gather, reduce-scatter   (t − 1) α + (t − 1)/t · n β
//     all-to-all       (t − 1) α + (t − 1)/t² · n β
// plus a fixed overhead for each collective; a message between two ranks takes α + n β. Times are femtoseconds in
// integers, so that sums do not depend on the order and equal costs are equal.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_DIST_COSTMODEL_H
#define SHARDC_DIALECTS_DIST_COSTMODEL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace shardc::dist {

/// One row of the hardware table. Rates are what well-tuned code reaches, not peaks.
struct Hardware {
  llvm::StringRef name;
  double flops;           // floating-point operations a second, f32 products
  double memoryBandwidth; // bytes a second
  double linkBandwidth;   // bytes a second, one direction, between neighbours on a ring
  double linkLatency;     // seconds, one message
  double launchOverhead;  // seconds, one collective
};

/// The built-in table, and its row of that name (null: none).
llvm::ArrayRef<Hardware> getHardwareTable();
const Hardware *findHardware(llvm::StringRef name);

/// `name: … GFLOP/s, memory … GB/s, link … GB/s, … µs`
std::string describe(const Hardware &hardware);

enum class CollectiveKind { AllReduce, AllGather, ReduceScatter, AllToAll };

class CostModel {
public:
  explicit CostModel(const Hardware &hardware) : hardware(hardware) {}

  /// Local work of so many operations and bytes of memory traffic, in femtoseconds.
  int64_t getWorkTime(double flops, double bytes) const;
  /// A collective of `ranks` on a value of `bytes` (the whole value: the result of a gather, the operand of a
  /// reduce-scatter, what all ranks of an all-to-all hold together), in femtoseconds.
  int64_t getCollectiveTime(CollectiveKind kind, int64_t ranks, int64_t bytes) const;
  /// A message of `bytes` from one rank to another, in femtoseconds.
  int64_t getMessageTime(int64_t bytes) const;

private:
  const Hardware &hardware;
};

/// Elements that each rank sends in a ring, of a value of `elements`: the measure in which collectives compare.
int64_t getRingElements(CollectiveKind kind, int64_t ranks, int64_t elements);

} // namespace shardc::dist

#endif
