//===-- StridedCopy.cpp - copies between strided views ------------------------------------------------------------===//

#include "runtime/device/cpu/StridedCopy.h"

#include <cstring>

namespace shardc::rt {

StridedCopy::StridedCopy(std::span<const int64_t> sizes, std::span<const int64_t> fromStrides,
                         std::span<const int64_t> toStrides, int64_t elementBytes)
    : runBytes(elementBytes) {
  std::vector<Dim> inner; // innermost first
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0)
      runBytes = 0;
    if (sizes[i] == 1)
      continue;
    Dim dim = {sizes[i], fromStrides[i] * elementBytes, toStrides[i] * elementBytes};
    if (inner.empty() && dim.from == runBytes && dim.to == runBytes)
      runBytes *= dim.size;
    else if (!inner.empty() && dim.from == inner.back().from * inner.back().size &&
             dim.to == inner.back().to * inner.back().size)
      inner.back().size *= dim.size;
    else
      inner.push_back(dim);
  }
  dims.assign(inner.rbegin(), inner.rend());
}

void StridedCopy::run(const void *from, void *to) const {
  if (runBytes > 0 && from != to)
    copy(dims.data(), static_cast<const char *>(from), static_cast<char *>(to));
}

namespace {

template <typename T>
void copyElements(int64_t count, int64_t fromStride, int64_t toStride, const char *from, char *to) {
  for (int64_t i = 0; i < count; ++i, from += fromStride, to += toStride)
    std::memcpy(to, from, sizeof(T));
}

} // namespace

void StridedCopy::copy(const Dim *dim, const char *from, char *to) const {
  const Dim *end = dims.data() + dims.size();
  if (dim == end) {
    std::memcpy(to, from, runBytes);
    return;
  }
  if (dim + 1 == end && runBytes == 2)
    return copyElements<uint16_t>(dim->size, dim->from, dim->to, from, to);
  if (dim + 1 == end && runBytes == 4)
    return copyElements<uint32_t>(dim->size, dim->from, dim->to, from, to);
  if (dim + 1 == end && runBytes == 8)
    return copyElements<uint64_t>(dim->size, dim->from, dim->to, from, to);
  for (int64_t i = 0; i < dim->size; ++i)
    copy(dim + 1, from + i * dim->from, to + i * dim->to);
}

} // namespace shardc::rt
