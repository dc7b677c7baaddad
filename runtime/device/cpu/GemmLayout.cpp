//===-- GemmLayout.cpp - bringing products into one form ----------------------------------------------------------===//

#include "runtime/device/cpu/GemmLayout.h"

#include <algorithm>

namespace shardc::rt {
namespace {

/// Stride of an operand along batch dimension `fromEnd` (3 is the innermost one) of the result.
int64_t batchStride(const GemmOperand &operand, size_t fromEnd) {
  if (fromEnd > operand.sizes.size())
    return 0;
  size_t at = operand.sizes.size() - fromEnd;
  return operand.sizes[at] == 1 ? 0 : operand.strides[at];
}

GemmMatrix matrixOf(const GemmOperand &operand) {
  size_t rank = operand.sizes.size();
  return {operand.strides[rank - 2], operand.strides[rank - 1]};
}

std::vector<GemmBatchDim> batchOf(const GemmSpec &spec) {
  std::vector<GemmBatchDim> batch;
  size_t rank = spec.c.sizes.size();
  for (size_t i = 0; i + 2 < rank; ++i) {
    int64_t size = spec.c.sizes[i];
    if (size != 1)
      batch.push_back({size, batchStride(spec.a, rank - i), batchStride(spec.b, rank - i), spec.c.strides[i]});
  }
  return batch;
}

/// Merges neighbouring dimensions that lie together in all operands.
void mergeBatch(std::vector<GemmBatchDim> &batch) {
  for (size_t i = batch.size(); i-- > 1;) {
    GemmBatchDim &outer = batch[i - 1];
    const GemmBatchDim &inner = batch[i];
    if (outer.a != inner.a * inner.size || outer.b != inner.b * inner.size || outer.c != inner.c * inner.size)
      continue;
    outer = {outer.size * inner.size, inner.a, inner.b, inner.c};
    batch.erase(batch.begin() + i);
  }
}

/// Takes batch dimension `dim` as more rows, if b is broadcast over it and the rows of a and c continue in it.
bool foldIntoRows(GemmLayout &layout, const GemmBatchDim &dim) {
  if (dim.b != 0)
    return false;
  bool continues = dim.a == layout.m * layout.a.rowStride && dim.c == layout.m * layout.c.rowStride;
  if (!continues && layout.m != 1)
    return false;
  if (layout.m == 1) {
    layout.a.rowStride = dim.a;
    layout.c.rowStride = dim.c;
  }
  layout.m *= dim.size;
  return true;
}

/// Likewise for columns, if a is broadcast.
bool foldIntoColumns(GemmLayout &layout, const GemmBatchDim &dim) {
  if (dim.a != 0)
    return false;
  bool continues = dim.b == layout.n * layout.b.columnStride && dim.c == layout.n * layout.c.columnStride;
  if (!continues && layout.n != 1)
    return false;
  if (layout.n == 1) {
    layout.b.columnStride = dim.b;
    layout.c.columnStride = dim.c;
  }
  layout.n *= dim.size;
  return true;
}

void swapOperands(GemmLayout &layout) {
  GemmMatrix a = layout.a, b = layout.b;
  layout.a = {b.columnStride, b.rowStride};
  layout.b = {a.columnStride, a.rowStride};
  std::swap(layout.c.rowStride, layout.c.columnStride);
  std::swap(layout.m, layout.n);
  for (GemmBatchDim &dim : layout.batch)
    std::swap(dim.a, dim.b);
  layout.swapped = !layout.swapped;
}

} // namespace

int64_t GemmLayout::batchCount() const {
  int64_t count = 1;
  for (const GemmBatchDim &dim : batch)
    count *= dim.size;
  return count;
}

GemmLayout normalizeGemm(const GemmSpec &spec) {
  size_t rank = spec.c.sizes.size();
  GemmLayout layout;
  layout.m = spec.c.sizes[rank - 2];
  layout.n = spec.c.sizes[rank - 1];
  layout.k = spec.a.sizes.back();
  layout.a = matrixOf(spec.a);
  layout.b = matrixOf(spec.b);
  layout.c = matrixOf(spec.c);
  layout.batch = batchOf(spec);
  mergeBatch(layout.batch);
  // A broadcast operand makes the batch part of the product. The bias lies along the columns, which must stay as they
  // are then.
  while (!layout.batch.empty() &&
         (foldIntoRows(layout, layout.batch.back()) || (!spec.hasBias && foldIntoColumns(layout, layout.batch.back()))))
    layout.batch.pop_back();
  if (!spec.hasBias && layout.c.columnStride != 1 && layout.n != 1 && layout.c.rowStride == 1)
    swapOperands(layout);
  return layout;
}

bool isPlain(GemmMatrix &matrix, int64_t rows, int64_t columns) {
  GemmMatrix rowMajor = {rows == 1 ? std::max<int64_t>(columns, 1) : matrix.rowStride,
                         columns == 1 ? 1 : matrix.columnStride};
  GemmMatrix columnMajor = {rows == 1 ? 1 : matrix.rowStride,
                            columns == 1 ? std::max<int64_t>(rows, 1) : matrix.columnStride};
  if (rowMajor.columnStride == 1 && rowMajor.rowStride >= columns) {
    matrix = rowMajor;
    return true;
  }
  if (columnMajor.rowStride == 1 && columnMajor.columnStride >= rows) {
    matrix = columnMajor;
    return true;
  }
  return false;
}

bool isPlainResult(GemmMatrix &matrix, int64_t rows, int64_t columns) {
  GemmMatrix rowMajor = {rows == 1 ? std::max<int64_t>(columns, 1) : matrix.rowStride,
                         columns == 1 ? 1 : matrix.columnStride};
  if (rowMajor.columnStride != 1 || rowMajor.rowStride < columns)
    return false;
  matrix = rowMajor;
  return true;
}

} // namespace shardc::rt
