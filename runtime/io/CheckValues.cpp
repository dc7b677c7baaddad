//===-- CheckValues.cpp - are samples what a model can take? ------------------------------------------------------===//

#include "runtime/io/CheckValues.h"

#include "runtime/format/Query.h"
#include "runtime/io/Dataset.h"

#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace shardc::rt {
namespace {

template <typename T> Status checkBound(const plan::Input &input, int64_t sample, const char *values) {
  int64_t count = sampleElements(input);
  for (int64_t i = 0; i < count; ++i) {
    T element; // a mapped file need not be aligned
    std::memcpy(&element, values + i * sizeof(T), sizeof(T));
    int64_t value = static_cast<int64_t>(element);
    if (value >= 0 && value < input.index_bound())
      continue;
    if (input.has_ignore_value() && value == input.ignore_value())
      continue;
    std::string ignored = input.has_ignore_value() ? fmt::format(" or {}", input.ignore_value()) : "";
    return Status(StatusKind::InvalidArgument,
                  fmt::format("input '{}': sample {} has value {} at element {}, expected [0, {}){} [data-range]",
                              input.name(), sample, value, i, input.index_bound(), ignored),
                  "look at how the array was made: tokens and labels are indices into the model's tables");
  }
  return {};
}

template <typename T> Status checkFinite(const plan::Input &input, int64_t sample, const char *values) {
  int64_t count = sampleElements(input);
  for (int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, values + i * sizeof(T), sizeof(T));
    if (!std::isfinite(value))
      return Status(StatusKind::InvalidArgument,
                    fmt::format("input '{}': sample {} has value {} at element {}, expected a finite number "
                                "[data-range]",
                                input.name(), sample, value, i),
                    "leave such samples out, or replace the value");
  }
  return {};
}

} // namespace

Status checkValues(const plan::Input &input, int64_t sample, const void *values) {
  const char *bytes = static_cast<const char *>(values);
  if (input.type() == plan::F32)
    return checkFinite<float>(input, sample, bytes);
  if (input.type() == plan::F64)
    return checkFinite<double>(input, sample, bytes);
  if (input.index_bound() <= 0)
    return {};
  switch (input.type()) {
  case plan::I64:
    return checkBound<int64_t>(input, sample, bytes);
  case plan::I32:
    return checkBound<int32_t>(input, sample, bytes);
  case plan::I8:
    return checkBound<int8_t>(input, sample, bytes);
  case plan::U8:
    return checkBound<uint8_t>(input, sample, bytes);
  default:
    return {};
  }
}

} // namespace shardc::rt
