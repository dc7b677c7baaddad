//===-- GemmLayout.h - bringing products into one form ------------------------------------------------------------===//
//
// The part of Gemm that knows no library: which batch dimensions merge, what is transposed, what must be packed.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CPU_GEMMLAYOUT_H
#define SHARDC_RUNTIME_DEVICE_CPU_GEMMLAYOUT_H

#include "runtime/device/cpu/Gemm.h"

namespace shardc::rt {

/// A batch dimension; a stride of 0 means broadcast.
struct GemmBatchDim {
  int64_t size, a, b, c;
};

struct GemmMatrix {
  int64_t rowStride, columnStride;
};

/// A product in normal form: c[i] = a[i] · b[i] for each index of `batch`, outermost first, no size being 1.
struct GemmLayout {
  int64_t m, n, k;
  GemmMatrix a, b, c;
  std::vector<GemmBatchDim> batch;
  bool swapped = false; // computes cᵀ = bᵀ · aᵀ: the caller's a and b are exchanged

  int64_t batchCount() const;
};

/// The normal form of a product that checkPlan accepts.
GemmLayout normalizeGemm(const GemmSpec &spec);

/// True if the library takes a matrix of these strides as it is: one of them 1, the other at least the extent. Strides
/// of dimensions of size 1 are free and are set to what fits.
bool isPlain(GemmMatrix &matrix, int64_t rows, int64_t columns);
/// Likewise for the result, which must be row-major.
bool isPlainResult(GemmMatrix &matrix, int64_t rows, int64_t columns);

} // namespace shardc::rt

#endif
