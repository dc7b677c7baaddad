//===-- Folding.h - what is known at import is computed at import -------------------------------------------------===//
#ifndef SHARDC_LIB_IMPORT_FOLDING_H
#define SHARDC_LIB_IMPORT_FOLDING_H

#include "NodeBuilder.h"

#include <array>

namespace shardc::importer {

/// No folded tensor is larger than this; what would be becomes ops.
constexpr int64_t kMaxFoldedElements = int64_t(1) << 22;

/// Walks the elements of `shape` in row-major order with an offset for each of several strides.
template <size_t N, typename Body>
void forEachElement(mlir::ArrayRef<int64_t> shape, const std::array<Shape, N> &strides, Body body) {
  int64_t count = countElements(shape).value_or(0);
  Shape index(shape.size(), 0);
  std::array<int64_t, N> offsets{};
  for (int64_t i = 0; i < count; ++i) {
    body(i, offsets);
    for (int64_t dim = static_cast<int64_t>(shape.size()) - 1; dim >= 0; --dim) {
      for (size_t n = 0; n < N; ++n)
        offsets[n] += strides[n][dim];
      if (++index[dim] < shape[dim])
        break;
      for (size_t n = 0; n < N; ++n)
        offsets[n] -= strides[n][dim] * shape[dim];
      index[dim] = 0;
    }
  }
}

inline Shape getStrides(mlir::ArrayRef<int64_t> shape) { return getBroadcastStrides(shape, shape); }

/// One element of each op, in double or in two's complement of 64 bits; the result is rounded to its type where it is
/// stored (Constant::setFloat, setInt).
double evaluateUnary(UnaryKind kind, double x);
double evaluateFloat(BinaryKind kind, double a, double b);
/// The divisor is not 0.
int64_t evaluateInt(BinaryKind kind, int64_t a, int64_t b);
bool evaluateCompare(nn::CompareDirection direction, double a, double b);
bool evaluateCompare(nn::CompareDirection direction, int64_t a, int64_t b);
/// A float as an integer of `type`: towards zero, the nearest end of the range outside of it, 0 for NaN.
int64_t saturateToInt(double value, int32_t type);

} // namespace shardc::importer

#endif
