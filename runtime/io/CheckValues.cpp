//===-- CheckValues.cpp - are samples what a model can take? ------------------------------------------------------===//

#include "runtime/io/CheckValues.h"

#include "runtime/base/Float16.h"
#include "runtime/format/Query.h"
#include "runtime/io/Dataset.h"

#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace shardc::rt {
namespace {

/// Element `index` of what may be a mapped file, which need not be aligned.
template <typename T> T load(const char *values, int64_t index) {
  T value;
  std::memcpy(&value, values + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <typename T> Status checkBound(const plan::Input &input, int64_t sample, const char *values) {
  int64_t count = sampleElements(input);
  for (int64_t i = 0; i < count; ++i) {
    auto value = int64_t{load<T>(values, i)};
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
    double value = load<T>(values, i);
    if (!std::isfinite(value))
      return Status(StatusKind::InvalidArgument,
                    fmt::format("input '{}': sample {} has value {} at element {}, expected a finite number "
                                "[data-range]",
                                input.name(), sample,
                                std::isnan(value) ? "nan"
                                : value > 0       ? "inf"
                                                  : "-inf",
                                i),
                    "leave such samples out, or replace the value");
  }
  return {};
}

template <typename T> bool isAll(int64_t wanted, int64_t count, const char *values) {
  for (int64_t i = 0; i < count; ++i)
    if (static_cast<int64_t>(load<T>(values, i)) != wanted)
      return false;
  return true;
}

/// Calls `visit` with a zero of an integer type, if it is one that indices have.
template <typename Visit> auto visitIndexType(plan::ElementType type, Visit visit) -> decltype(visit(int64_t())) {
  switch (type) {
  case plan::I64:
    return visit(int64_t());
  case plan::I32:
    return visit(int32_t());
  case plan::I8:
    return visit(int8_t());
  case plan::U8:
    return visit(uint8_t());
  default:
    return {};
  }
}

} // namespace

Status checkValues(const plan::Input &input, int64_t sample, const void *values) {
  const char *bytes = static_cast<const char *>(values);
  switch (input.type()) {
  case plan::F32:
    return checkFinite<float>(input, sample, bytes);
  case plan::F64:
    return checkFinite<double>(input, sample, bytes);
  case plan::F16:
    return checkFinite<Float16>(input, sample, bytes);
  case plan::BF16:
    return checkFinite<BFloat16>(input, sample, bytes);
  default:
    break;
  }
  if (input.index_bound() <= 0)
    return {};
  return visitIndexType(input.type(), [&](auto zero) { return checkBound<decltype(zero)>(input, sample, bytes); });
}

bool isIgnored(const plan::Input &input, const void *values) {
  if (!input.has_ignore_value())
    return false;
  return visitIndexType(input.type(), [&](auto zero) {
    return isAll<decltype(zero)>(input.ignore_value(), sampleElements(input), static_cast<const char *>(values));
  });
}

} // namespace shardc::rt
