//===-- SampleOrder.cpp - which samples a step sees ---------------------------------------------------------------===//

#include "runtime/io/SampleOrder.h"

#include "runtime/io/Random.h"

#include <fmt/format.h>
#include <numeric>

namespace shardc::rt {

Result<SampleOrder> SampleOrder::create(int64_t samples, int64_t globalBatch, uint64_t seed, bool shuffles) {
  if (samples < globalBatch)
    return Status(
        StatusKind::InvalidArgument,
        fmt::format("data: {} samples, expected at least one global batch of {} [data-samples]", samples, globalBatch),
        "use more data, or compile with a smaller --global-batch");
  SampleOrder result;
  result.order.resize(samples);
  result.globalBatch = globalBatch;
  result.seed = seed;
  result.shuffles = shuffles;
  return result;
}

void SampleOrder::beginEpoch(int64_t number) {
  epoch = number;
  std::iota(order.begin(), order.end(), 0);
  if (!shuffles)
    return;
  Random random(seed, number);
  for (size_t i = order.size(); i > 1; --i) // Fisher-Yates
    std::swap(order[i - 1], order[random.below(i)]);
}

std::span<const int64_t> SampleOrder::samplesOfStep(int64_t step) {
  int64_t steps = stepsPerEpoch();
  if (step / steps != epoch)
    beginEpoch(step / steps);
  return std::span(order).subspan(step % steps * globalBatch, globalBatch);
}

} // namespace shardc::rt
