//===-- Gemm.h - matrix products on strided views -----------------------------------------------------------------===//
//
// c = a · b (+ bias) (+ c), a [batch…, m, k], b [batch…, k, n], c [batch…, m, n], bias [n], every operand with strides
// of its own; a and b may lack outer batch dimensions, or have size or stride 0 or 1 there (broadcast).
//
// A product is prepared once: batch dimensions are merged where the operands allow it, and folded into m or n where
// one operand is broadcast; a column-major c is computed as the transposed product; operands in layouts that oneDNN's
// fast path refuses are packed into a workspace. So each product is one oneDNN primitive, run for each index of the
// batch dimensions that could not be handed to it. The choice depends on shapes and strides only, never on data.
//
// f32 runs on oneDNN, and bf16 where the CPU has arithmetic for it; elsewhere bf16, and f16 in any case, are widened
// to f32 in the workspace. All of them sum in f32. f64 takes a plain loop.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CPU_GEMM_H
#define SHARDC_RUNTIME_DEVICE_CPU_GEMM_H

#include "runtime/base/Status.h"
#include "runtime/format/plan.pb.h"

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace shardc::rt {

/// Sizes and strides of an operand in elements, outermost first.
struct GemmOperand {
  std::vector<int64_t> sizes, strides;
  auto operator<=>(const GemmOperand &) const = default;
};

/// Everything that a prepared product depends on.
struct GemmSpec {
  GemmOperand a, b, c;
  bool hasBias = false;
  int64_t biasStride = 1;
  bool accumulate = false;
  plan::ElementType type = plan::F32; // of a and b; also of c and bias unless `widens`
  bool widens = false;                // 16-bit a and b, f32 c and bias
  auto operator<=>(const GemmSpec &) const = default;
};

/// Whether products of a 16-bit float run on the CPU's own arithmetic for it, not widened to f32.
bool hasArithmetic(plan::ElementType type);

/// A prepared product. Belongs to one thread.
class Gemm {
public:
  virtual ~Gemm() = default;
  /// `workspace` has workspaceBytes(), aligned to 64 bytes. `bias` is null where there is none.
  virtual void run(const void *a, const void *b, void *c, const void *bias, void *workspace) = 0;
  virtual int64_t workspaceBytes() const = 0;
  /// The implementation that oneDNN chose, for tests and reports.
  virtual std::string implementation() const = 0;
};

/// Prepares products, each distinct one once. Belongs to one thread, whose oneDNN thread count it fixes.
class GemmCache {
public:
  /// Sets the number of threads that oneDNN uses when called from this thread.
  explicit GemmCache(int threads);
  ~GemmCache();

  /// The product of that shape, which lives as long as the cache.
  Result<Gemm *> get(const GemmSpec &spec);
  /// The largest workspace of the products so far.
  int64_t workspaceBytes() const { return largestWorkspace; }

private:
  struct Library;
  std::unique_ptr<Library> library;
  std::map<GemmSpec, std::unique_ptr<Gemm>> gemms;
  int64_t largestWorkspace = 0;
};

} // namespace shardc::rt

#endif
