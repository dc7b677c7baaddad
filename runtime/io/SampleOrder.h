//===-- SampleOrder.h - which samples a step sees -----------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_IO_SAMPLEORDER_H
#define SHARDC_RUNTIME_IO_SAMPLEORDER_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace shardc::rt {

/// The order of samples: every epoch visits all of them in an order of its own, given by the seed and the number of the
/// epoch, in steps of one global batch. It does not depend on the layout. What remains after the last whole batch of an
/// epoch is dropped.
class SampleOrder {
public:
  /// An error if there are fewer samples than a global batch.
  static Result<SampleOrder> create(int64_t samples, int64_t globalBatch, uint64_t seed, bool shuffles);

  int64_t stepsPerEpoch() const { return static_cast<int64_t>(order.size()) / globalBatch; }
  int64_t droppedPerEpoch() const { return static_cast<int64_t>(order.size()) % globalBatch; }

  /// The global batch of a step, in order; valid until the next call. Allocates nothing.
  std::span<const int64_t> samplesOfStep(int64_t step);

private:
  SampleOrder() = default;
  void beginEpoch(int64_t number);

  std::vector<int64_t> order;
  int64_t globalBatch = 1;
  int64_t epoch = -1;
  uint64_t seed = 0;
  bool shuffles = true;
};

} // namespace shardc::rt

#endif
