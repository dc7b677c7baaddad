//===-- Text.cpp - a file's bytes as tokens -----------------------------------------------------------------------===//

#include "runtime/base/File.h"
#include "runtime/format/Query.h"
#include "runtime/io/Dataset.h"

#include <fmt/format.h>

namespace shardc::rt {
namespace {

constexpr int64_t kByteValues = 256;
constexpr const char *kUseArrays = "use --data NAME=FILE.npy";

template <typename T> void widen(const char *bytes, int64_t count, void *target) {
  for (int64_t i = 0; i < count; ++i)
    static_cast<T *>(target)[i] = static_cast<T>(static_cast<unsigned char>(bytes[i]));
}

class TextDataset final : public Dataset {
public:
  TextDataset(const plan::Plan &plan, MappedFile file, int64_t length)
      : inputs(plan.inputs().begin(), plan.inputs().end()), file(std::move(file)), length(length) {}

  /// The last window needs one byte more, its last label.
  int64_t samples() const override { return (bytes() - 1) / length; }

  Status read(int input, int64_t sample, void *target) const override {
    int64_t shift = inputs[input].role() == plan::Input::LABELS ? 1 : 0;
    const char *window = file.contents().data() + sample * length + shift;
    if (inputs[input].type() == plan::I32)
      widen<int32_t>(window, length, target);
    else
      widen<int64_t>(window, length, target);
    return {};
  }

  std::vector<std::string> remarks() const override {
    std::vector<std::string> lines = {
        fmt::format("text '{}': {} bytes, {} windows of {} tokens", file.path(), bytes(), samples(), length)};
    if (int64_t rest = (bytes() - 1) % length)
      lines.back() += fmt::format("; the last {} bytes fill no window and are dropped", rest);
    return lines;
  }

private:
  int64_t bytes() const { return static_cast<int64_t>(file.contents().size()); }

  std::vector<plan::Input> inputs;
  MappedFile file;
  int64_t length;
};

const char *roleName(plan::Input::Role role) { return role == plan::Input::TOKENS ? "tokens" : "labels"; }

/// The only input of a role; null, with the status set, if there is another number of them.
const plan::Input *findRole(const plan::Plan &plan, plan::Input::Role role, Status &status) {
  const plan::Input *found = nullptr;
  for (const plan::Input &input : plan.inputs()) {
    if (input.role() != role)
      continue;
    if (found)
      status = Status(StatusKind::InvalidArgument,
                      fmt::format("input '{}': a second input of {}, after '{}'; text fills only one [data-text]",
                                  input.name(), roleName(role), found->name()),
                      kUseArrays);
    found = &input;
  }
  if (!found)
    status = Status(StatusKind::InvalidArgument,
                    fmt::format("text: the model has no input of {} [data-text]", roleName(role)), kUseArrays);
  return status.isOk() ? found : nullptr;
}

Status checkTextInput(const plan::Input &input) {
  if (input.type() != plan::I64 && input.type() != plan::I32)
    return Status(StatusKind::InvalidArgument,
                  fmt::format("input '{}': type {}, expected i64 or i32 for text [data-text]", input.name(),
                              elementName(input.type())),
                  kUseArrays);
  if (input.sample_shape_size() != 1 || input.sample_shape(0) < 1)
    return Status(StatusKind::InvalidArgument,
                  fmt::format("input '{}': samples of {} dimensions, expected 1 for text [data-text]", input.name(),
                              input.sample_shape_size()),
                  kUseArrays);
  if (input.index_bound() > 0 && input.index_bound() < kByteValues)
    return Status(StatusKind::InvalidArgument,
                  fmt::format("input '{}': a vocabulary of {}, expected at least {} for bytes of text [data-text]",
                              input.name(), input.index_bound(), kByteValues),
                  "tokenize the text and give it with --data NAME=FILE.npy");
  return {};
}

} // namespace

Result<std::unique_ptr<Dataset>> openText(const plan::Plan &plan, const std::string &path) {
  Status status;
  const plan::Input *tokens = findRole(plan, plan::Input::TOKENS, status);
  const plan::Input *labels = tokens ? findRole(plan, plan::Input::LABELS, status) : nullptr;
  if (!labels)
    return status;
  for (const plan::Input &input : plan.inputs()) {
    if (&input != tokens && &input != labels)
      return Status(StatusKind::InvalidArgument,
                    fmt::format("input '{}': neither tokens nor labels; text cannot fill it [data-text]", input.name()),
                    kUseArrays);
    SHARDRT_RETURN_IF_ERROR(checkTextInput(input));
  }
  int64_t length = tokens->sample_shape(0);
  if (labels->sample_shape(0) != length)
    return Status(StatusKind::InvalidArgument,
                  fmt::format("input '{}': {} labels a sample, expected {} [data-text]", labels->name(),
                              labels->sample_shape(0), length),
                  kUseArrays);
  SHARDRT_ASSIGN(MappedFile file, MappedFile::open(path));
  int64_t bytes = static_cast<int64_t>(file.contents().size());
  if (bytes < length + 1)
    return Status(
        StatusKind::InvalidArgument,
        fmt::format("text '{}': {} bytes, expected at least {} for one window [data-text]", path, bytes, length + 1),
        "give a longer text");
  return std::unique_ptr<Dataset>(std::make_unique<TextDataset>(plan, std::move(file), length));
}

} // namespace shardc::rt
