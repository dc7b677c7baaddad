//===-- Dataset.h - training samples ------------------------------------------------------------------------------===//
//
// A dataset has numbered samples; a sample has one value for each model input. Reading is thread-safe and allocates
// nothing, so that ranks read their rows straight into their arenas.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_IO_DATASET_H
#define SHARDC_RUNTIME_IO_DATASET_H

#include "runtime/base/Status.h"
#include "runtime/format/plan.pb.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shardc::rt {

class Dataset {
public:
  virtual ~Dataset() = default;

  virtual int64_t samples() const = 0;
  /// Fills `target` with the value of input `input` of sample `sample`, row-major, in the input's type.
  virtual Status read(int input, int64_t sample, void *target) const = 0;
  /// What to tell about the data at the start of a run, a line each.
  virtual std::vector<std::string> remarks() const { return {}; }
};

/// Elements of one sample of an input.
int64_t sampleElements(const plan::Input &input);
/// Bytes of one sample of an input.
int64_t sampleBytes(const plan::Input &input);

/// The bytes of a file as tokens: sample i is the window [i · seq, (i + 1) · seq), its labels the bytes that follow
/// each. For models with one input of tokens and one of labels, of equal length, over at least 256 tokens.
Result<std::unique_ptr<Dataset>> openText(const plan::Plan &plan, const std::string &path);

/// One .npy file for each model input (name, path), mapped; the first dimension counts samples.
Result<std::unique_ptr<Dataset>> openArrays(const plan::Plan &plan,
                                            const std::vector<std::pair<std::string, std::string>> &files);

/// Random values, the same for a seed: floats in [-1, 1), integers below their bound (or 2). Has `samples` samples.
Result<std::unique_ptr<Dataset>> makeSynthetic(const plan::Plan &plan, uint64_t seed, int64_t samples);

} // namespace shardc::rt

#endif
