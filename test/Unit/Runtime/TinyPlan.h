//===-- TinyPlan.h - a hand-made plan that trains y = x · W0 · W1 -------------------------------------------------===//
#ifndef SHARDC_TEST_UNIT_RUNTIME_TINYPLAN_H
#define SHARDC_TEST_UNIT_RUNTIME_TINYPLAN_H

#include "runtime/format/LoadPlan.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace shardc::rt::test {

/// A folder that lives as long as the object.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;

  const std::string &path() const { return folder; }
  std::string file(const std::string &name) const { return folder + "/" + name; }

private:
  std::string folder;
};

struct TinyOptions {
  int64_t dp = 1;
  int64_t pp = 1; // 1 or 2; with 2, W1 lies on the second stage
  int64_t microBatch = 2;
  int64_t microBatches = 2;
};

/// Loss: half the squared error of y against t, mean over samples; plain SGD. x is [samples, 3], W0 [3, 4], W1 [4, 2].
inline constexpr int64_t kTinyIn = 3, kTinyHidden = 4, kTinyOut = 2;

/// Makes the plan, its weights and its kernels (with the system's C compiler) in a folder.
LoadedPlan makeTinyPlan(const TinyOptions &options, const TemporaryFolder &folder);

/// The weights that makeTinyPlan writes.
std::vector<float> tinyWeights(int index);

/// Writes an array of f32 as .npy.
void writeNpy(const std::string &path, const std::vector<int64_t> &shape, const std::vector<float> &values);

} // namespace shardc::rt::test

#endif
