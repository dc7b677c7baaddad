//===-- StridedCopy.h - copies between strided views --------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CPU_STRIDEDCOPY_H
#define SHARDC_RUNTIME_DEVICE_CPU_STRIDEDCOPY_H

#include <cstdint>
#include <span>
#include <vector>

namespace shardc::rt {

/// A copy of a fixed shape between two layouts, prepared once. Dimensions that lie together in both are merged.
class StridedCopy {
public:
  StridedCopy() = default;
  /// Sizes and strides in elements, outermost first.
  StridedCopy(std::span<const int64_t> sizes, std::span<const int64_t> fromStrides, std::span<const int64_t> toStrides,
              int64_t elementBytes);

  /// Copies; the views may not overlap unless they are equal.
  void run(const void *from, void *to) const;

private:
  struct Dim {
    int64_t size, from, to; // strides in bytes
  };
  void copy(const Dim *dim, const char *from, char *to) const;

  std::vector<Dim> dims; // outermost first; none: one run
  int64_t runBytes = 0;  // contiguous in both
};

} // namespace shardc::rt

#endif
