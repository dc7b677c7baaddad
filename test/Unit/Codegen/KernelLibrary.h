//===-- KernelLibrary.h - kernels compiled from text and loaded, for tests ----------------------------------------===//
#ifndef SHARDC_TEST_UNIT_CODEGEN_KERNELLIBRARY_H
#define SHARDC_TEST_UNIT_CODEGEN_KERNELLIBRARY_H

#include "shardc/Codegen/EmitCpu.h"
#include "shardrt/control.h"

#include <memory>
#include <string>
#include <vector>

namespace shardc::test {

/// A shared library of kernels in a temporary folder, removed with the object.
class KernelLibrary {
public:
  /// Compiles a module given as text; null, with the diagnostics in `errors`, where that fails.
  static std::unique_ptr<KernelLibrary> compile(const std::string &text, const codegen::CpuTarget &target,
                                                std::string *errors = nullptr);
  static std::unique_ptr<KernelLibrary> compile(const std::string &text);
  ~KernelLibrary();

  /// Runs items [0, items) of a kernel, `chunk` at a time.
  void run(const std::string &name, const std::vector<const void *> &operands, int64_t items,
           const shardrtControl &control = {}, int64_t chunk = 1 << 30);

  /// The bytes of the library.
  std::string read() const;

private:
  KernelLibrary() = default;
  std::string path;
  void *handle = nullptr;
};

/// A kernel definition: `k` as text, from its parts. `types` are operand types, reads then writes.
std::string defineKernel(const std::string &name, const std::string &head, const std::string &types,
                         const std::string &arguments, const std::string &body, const std::string &extra = "");

/// Reproducible values in [low, high).
std::vector<float> makeValues(size_t count, unsigned seed = 1, float low = -2, float high = 2);

/// Equal bits, any NaN equal to any other.
bool haveEqualBits(const std::vector<float> &a, const std::vector<float> &b);

/// The sum of a row in the order of the kernel model: 16 lanes, runs of `run` elements each starting at lane 0, then
/// the tree.
float sumInLanes(const float *values, size_t count, size_t run);

} // namespace shardc::test

#endif
