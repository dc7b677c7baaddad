#include "runtime/io/IndexBound.h"

#include "runtime/format/Query.h"
#include "runtime/io/Dataset.h"

#include <fmt/format.h>

namespace shardc::rt {
namespace {

template <typename T> Status checkValues(const plan::Input &input, int64_t sample, const T *values) {
  int64_t count = sampleElements(input);
  for (int64_t i = 0; i < count; ++i) {
    int64_t value = static_cast<int64_t>(values[i]);
    if (value >= 0 && value < input.index_bound())
      continue;
    if (input.has_ignore_value() && value == input.ignore_value())
      continue;
    std::string ignored = input.has_ignore_value() ? fmt::format(" or {}", input.ignore_value()) : "";
    return Status(StatusKind::InvalidArgument,
                  fmt::format("input '{}': sample {} has value {} at element {}, expected [0, {}){}", input.name(),
                              sample, value, i, input.index_bound(), ignored));
  }
  return {};
}

} // namespace

Status checkIndexBound(const plan::Input &input, int64_t sample, const void *values) {
  if (input.index_bound() <= 0)
    return {};
  switch (input.type()) {
  case plan::I64:
    return checkValues(input, sample, static_cast<const int64_t *>(values));
  case plan::I32:
    return checkValues(input, sample, static_cast<const int32_t *>(values));
  case plan::I8:
    return checkValues(input, sample, static_cast<const int8_t *>(values));
  case plan::U8:
    return checkValues(input, sample, static_cast<const uint8_t *>(values));
  default:
    return {};
  }
}

} // namespace shardc::rt
