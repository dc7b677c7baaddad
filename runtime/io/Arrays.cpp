//===-- Arrays.cpp - a dataset of .npy files, one for each input --------------------------------------------------===//

#include "runtime/format/Query.h"
#include "runtime/io/CheckValues.h"
#include "runtime/io/Dataset.h"
#include "runtime/io/Npy.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace shardc::rt {
namespace {

/// Datasets up to this size are checked before the first step; larger ones as they are read.
constexpr int64_t kCheckedAtOnce = int64_t(256) << 20;

class ArraysDataset final : public Dataset {
public:
  ArraysDataset(const plan::Plan &plan, std::vector<NpyArray> arrays)
      : inputs(plan.inputs().begin(), plan.inputs().end()), arrays(std::move(arrays)) {}

  int64_t samples() const override { return arrays.empty() ? 0 : arrays.front().shape[0]; }

  Status read(int input, int64_t sample, void *target) const override {
    const char *values = at(input, sample);
    SHARDRT_RETURN_IF_ERROR(checkValues(inputs[input], sample, values));
    std::memcpy(target, values, sampleBytes(inputs[input]));
    return {};
  }

  Status checkSmallArrays() const {
    for (int input = 0; input < static_cast<int>(inputs.size()); ++input) {
      if (sampleBytes(inputs[input]) * samples() > kCheckedAtOnce)
        continue;
      for (int64_t sample = 0; sample < samples(); ++sample)
        SHARDRT_RETURN_IF_ERROR(checkValues(inputs[input], sample, at(input, sample)));
      SHARDRT_RETURN_IF_ERROR(checkSomethingCounts(input));
    }
    return {};
  }

private:
  /// Labels that are all ignored would train nothing.
  Status checkSomethingCounts(int input) const {
    for (int64_t sample = 0; sample < samples(); ++sample)
      if (!isIgnored(inputs[input], at(input, sample)))
        return {};
    if (samples() == 0) // which is told with the number that is needed
      return {};
    return Status(StatusKind::InvalidArgument,
                  fmt::format("input '{}': every label is {}, which the model ignores, expected others [data-labels]",
                              inputs[input].name(), inputs[input].ignore_value()),
                  "look at how the array was made: nothing could be learnt from it");
  }

  const char *at(int input, int64_t sample) const { return arrays[input].data + sample * sampleBytes(inputs[input]); }

  std::vector<plan::Input> inputs;
  std::vector<NpyArray> arrays; // by input
};

std::string inputNames(const plan::Plan &plan) {
  std::string names;
  for (const plan::Input &input : plan.inputs())
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", input.name());
  return names;
}

/// Checks that every input is given once and that nothing else is; path of each input, by index.
Result<std::vector<std::string>> assignFiles(const plan::Plan &plan,
                                             const std::vector<std::pair<std::string, std::string>> &files) {
  std::vector<std::string> paths(plan.inputs_size());
  for (const auto &[name, path] : files) {
    auto found = std::ranges::find(plan.inputs(), name, &plan::Input::name);
    if (found == plan.inputs().end())
      return Status(StatusKind::InvalidArgument,
                    fmt::format("data '{}': the model has no such input [data-input]", name),
                    fmt::format("its inputs are {}", inputNames(plan)));
    std::string &own = paths[found - plan.inputs().begin()];
    if (!own.empty())
      return Status(StatusKind::InvalidArgument, fmt::format("data '{}': given twice [data-input]", name),
                    "give one file for each input");
    own = path;
  }
  for (int i = 0; i < plan.inputs_size(); ++i)
    if (paths[i].empty())
      return Status(StatusKind::InvalidArgument,
                    fmt::format("input '{}': no data given [data-input]", plan.inputs(i).name()),
                    fmt::format("the inputs are {}; give each one as NAME=FILE.npy", inputNames(plan)));
  return paths;
}

Status checkArray(const plan::Input &input, const std::string &path, const NpyArray &array) {
  if (array.type != input.type())
    return Status(StatusKind::InvalidArgument,
                  fmt::format("input '{}': '{}' has type {}, expected {} [data-type]", input.name(), path,
                              numpyName(array.type), numpyName(input.type())),
                  fmt::format("save array.astype(numpy.{})", numpyName(input.type())));
  std::vector<int64_t> expected(input.sample_shape().begin(), input.sample_shape().end());
  bool fits = array.shape.size() == expected.size() + 1 &&
              std::equal(expected.begin(), expected.end(), array.shape.begin() + 1);
  if (fits)
    return {};
  std::string shape = "[samples";
  for (int64_t size : expected)
    shape += fmt::format(", {}", size);
  return Status(StatusKind::InvalidArgument,
                fmt::format("input '{}': '{}' has shape {}, expected {}] [data-shape]", input.name(), path,
                            formatShape(array.shape), shape),
                "dimension 0 counts samples, the others are the model's; save an array of that shape");
}

} // namespace

int64_t sampleElements(const plan::Input &input) { return elementCount(input.sample_shape()); }

int64_t sampleBytes(const plan::Input &input) { return sampleElements(input) * elementBytes(input.type()); }

Result<std::unique_ptr<Dataset>> openArrays(const plan::Plan &plan,
                                            const std::vector<std::pair<std::string, std::string>> &files) {
  SHARDRT_ASSIGN(std::vector<std::string> paths, assignFiles(plan, files));
  std::vector<NpyArray> arrays;
  for (int i = 0; i < plan.inputs_size(); ++i) {
    SHARDRT_ASSIGN(NpyArray array, openNpy(paths[i]));
    SHARDRT_RETURN_IF_ERROR(checkArray(plan.inputs(i), paths[i], array));
    if (i > 0 && array.shape[0] != arrays[0].shape[0])
      return Status(StatusKind::InvalidArgument,
                    fmt::format("input '{}': {} samples, but input '{}' has {} [data-samples]", plan.inputs(i).name(),
                                array.shape[0], plan.inputs(0).name(), arrays[0].shape[0]),
                    "give every input the same number of samples");
    arrays.push_back(std::move(array));
  }
  auto dataset = std::make_unique<ArraysDataset>(plan, std::move(arrays));
  SHARDRT_RETURN_IF_ERROR(dataset->checkSmallArrays());
  return std::unique_ptr<Dataset>(std::move(dataset));
}

} // namespace shardc::rt
