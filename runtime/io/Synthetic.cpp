//===-- Synthetic.cpp - random samples ----------------------------------------------------------------------------===//

#include "runtime/format/Query.h"
#include "runtime/io/Dataset.h"
#include "runtime/io/Random.h"

#include <fmt/format.h>

namespace shardc::rt {
namespace {

class SyntheticDataset final : public Dataset {
public:
  SyntheticDataset(const plan::Plan &plan, uint64_t seed, int64_t samples)
      : inputs(plan.inputs().begin(), plan.inputs().end()), seed(seed), sampleCount(samples) {}

  int64_t samples() const override { return sampleCount; }

  Status read(int index, int64_t sample, void *target) const override {
    const plan::Input &input = inputs[index];
    Random random(seed, static_cast<uint64_t>(sample) * inputs.size() + index);
    int64_t count = sampleElements(input);
    switch (input.type()) {
    case plan::F32:
      return fillFloats(random, static_cast<float *>(target), count);
    case plan::F64:
      return fillFloats(random, static_cast<double *>(target), count);
    case plan::I64:
      return fillIntegers(input, random, static_cast<int64_t *>(target), count);
    case plan::I32:
      return fillIntegers(input, random, static_cast<int32_t *>(target), count);
    default:
      return fillIntegers(input, random, static_cast<uint8_t *>(target), count);
    }
  }

  std::vector<std::string> remarks() const override {
    return {fmt::format("synthetic data: {} random samples", sampleCount)};
  }

private:
  template <typename T> static Status fillFloats(Random &random, T *values, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      values[i] = static_cast<T>(random.symmetric());
    return {};
  }
  template <typename T> static Status fillIntegers(const plan::Input &input, Random &random, T *values, int64_t count) {
    uint64_t bound = input.index_bound() > 0 ? input.index_bound() : 2;
    for (int64_t i = 0; i < count; ++i)
      values[i] = static_cast<T>(random.below(bound));
    return {};
  }

  std::vector<plan::Input> inputs;
  uint64_t seed;
  int64_t sampleCount;
};

} // namespace

Result<std::unique_ptr<Dataset>> makeSynthetic(const plan::Plan &plan, uint64_t seed, int64_t samples) {
  for (const plan::Input &input : plan.inputs())
    if (input.type() == plan::F16 || input.type() == plan::BF16)
      return Status(
          StatusKind::Unsupported,
          fmt::format("input '{}': no synthetic data of type {} [data-type]", input.name(), elementName(input.type())),
          "use --data NAME=FILE.npy");
  return std::unique_ptr<Dataset>(std::make_unique<SyntheticDataset>(plan, seed, samples));
}

} // namespace shardc::rt
