//===-- Cells.h - the parts of a buffer that its views tell apart -------------------------------------------------===//
//
// Instructions use views of buffers: the three pieces of a fused QKV are interleaved strided sets of one buffer. To
// know exactly which read finds which write, the elements of a buffer are divided into cells, such that every view is a
// union of cells: elements are in one cell when the same views hold them. A buffer that is only used whole has one
// cell.
//
// Three ways, the first that fits:
// - one view, or contiguous views only: cells are the intervals between their ends;
// - the strides of all views divide one another in ascending order, as those of slices, head splits and transposes of
//   one layout do: element numbers have digits in that mixed radix, a view is a box of digit ranges, and cells are the
//   boxes of a grid. The cost does not depend on the size of the buffer;
// - otherwise elements are told apart one by one, in units of the greatest common divisor of all offsets, strides and
//   run lengths, within a budget.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_VERIFY_CELLS_H
#define SHARDC_RUNTIME_VERIFY_CELLS_H

#include <cstdint>
#include <vector>

namespace shardc::rt::verify {

/// A set of elements of a buffer, in one form for all operands that name the same set: dimensions in ascending order of
/// stride, without those of one element or stride 0, and merged where one continues another.
struct View {
  struct Dim {
    int64_t size, stride;
    auto operator<=>(const Dim &) const = default;
  };
  int64_t offset = 0;
  std::vector<Dim> dims;
  auto operator<=>(const View &) const = default;

  /// The first element beyond the view.
  int64_t end() const;
};

/// The one form of a view with `sizes` and `strides` (both in elements, positive and not negative).
View normalizedView(int64_t offset, const std::vector<int64_t> &sizes, const std::vector<int64_t> &strides);

/// The cells of one buffer.
struct Cells {
  int count = 0;
  std::vector<std::vector<int>> ofView; // ascending; parallel to the views
};

/// Units of elements that the third way may visit for all buffers of a program.
inline constexpr int64_t kMaxEnumerated = int64_t(1) << 25;

/// Divides the `elements` of a buffer by its distinct views, and takes what the third way visits off `budget`. False
/// when that does not suffice, or when there are too many cells.
bool divideIntoCells(int64_t elements, const std::vector<View> &views, int64_t &budget, Cells &cells);

} // namespace shardc::rt::verify

#endif
