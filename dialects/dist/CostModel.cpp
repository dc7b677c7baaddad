//===-- CostModel.cpp - what work and communication cost ----------------------------------------------------------===//

#include "dialects/dist/CostModel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

using namespace shardc::dist;

namespace {

constexpr Hardware kTable[] = {
    // One core with AVX-512 a rank, ranks as threads that exchange through shared memory. Measured on one core of a
    // Xeon server at rest: 175 GFLOP/s in products of 1024³, 130 to 145 in those of layers 64 to 256 wide
    // (bench/kernels.cpp), and 22 GB/s read and written by a copy of 256 MiB. Ranks that run beside each other share
    // memory and power, hence about half of each; a message is such a copy. Latency and overhead are estimates.
    {"cpu", 100e9, 10e9, 5e9, 2e-6, 5e-6},
    // NVIDIA A100 SXM and H100 SXM inside one node, TF32 products: 70 to 77 % of the data sheets' dense rates, about
    // 80 % of their memory and NVLink bandwidth. Not measured.
    {"a100", 120e12, 1.6e12, 240e9, 3e-6, 10e-6},
    {"h100", 350e12, 2.8e12, 380e9, 3e-6, 10e-6},
};

constexpr double kFemtosecondsPerSecond = 1e15;

} // namespace

llvm::ArrayRef<Hardware> shardc::dist::getHardwareTable() { return kTable; }

const Hardware *shardc::dist::findHardware(llvm::StringRef name) {
  for (const Hardware &row : kTable)
    if (row.name == name)
      return &row;
  return nullptr;
}

std::string shardc::dist::describe(const Hardware &hardware) {
  return llvm::formatv(
      "{0}: {1:f0} GFLOP/s, memory {2:f0} GB/s, link {3:f0} GB/s, message {4:f0} us, collective {5:f0} us",
      hardware.name, hardware.flops / 1e9, hardware.memoryBandwidth / 1e9, hardware.linkBandwidth / 1e9,
      hardware.linkLatency * 1e6, hardware.launchOverhead * 1e6);
}

int64_t CostModel::getWorkTime(double flops, double bytes) const {
  double seconds = std::max(flops / hardware.flops, bytes / hardware.memoryBandwidth);
  return std::llround(seconds * kFemtosecondsPerSecond);
}

int64_t CostModel::getCollectiveTime(CollectiveKind kind, int64_t ranks, int64_t bytes) const {
  if (ranks <= 1)
    return 0;
  double steps = ranks - 1, share = static_cast<double>(bytes) / ranks;
  double latency = 0, volume = 0;
  switch (kind) {
  case CollectiveKind::AllReduce:
    latency = 2 * steps;
    volume = 2 * steps * share;
    break;
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
    latency = steps;
    volume = steps * share;
    break;
  case CollectiveKind::AllToAll:
    latency = steps;
    volume = steps * share / ranks;
    break;
  }
  double seconds = hardware.launchOverhead + latency * hardware.linkLatency + volume / hardware.linkBandwidth;
  return std::llround(seconds * kFemtosecondsPerSecond);
}

int64_t CostModel::getMessageTime(int64_t bytes) const {
  double seconds = hardware.linkLatency + static_cast<double>(bytes) / hardware.linkBandwidth;
  return std::llround(seconds * kFemtosecondsPerSecond);
}

int64_t shardc::dist::getRingElements(CollectiveKind kind, int64_t ranks, int64_t elements) {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return 2 * (ranks - 1) * elements / ranks;
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
    return (ranks - 1) * elements / ranks;
  case CollectiveKind::AllToAll:
    return (ranks - 1) * elements / ranks / ranks;
  }
  llvm_unreachable("all kinds are above");
}
