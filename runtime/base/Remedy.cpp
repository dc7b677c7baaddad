//===-- Remedy.cpp - errors for users -----------------------------------------------------------------------------===//

#include "runtime/base/Remedy.h"

#include <algorithm>

namespace shardc::rt {
namespace {

const char *generalRemedy(StatusKind kind) {
  switch (kind) {
  case StatusKind::Corrupt:
  case StatusKind::Unsupported:
    return "the plan is damaged, or of another version: compile the model again, and report it with the command line "
           "if it comes back";
  case StatusKind::Mismatch:
  case StatusKind::Deadlock:
  case StatusKind::Internal:
    return "this is a defect of shardc: report it with the model and the command line";
  default:
    return nullptr;
  }
}

} // namespace

std::string renderWithRemedy(const Status &status) {
  std::string text = status.render();
  const char *remedy = generalRemedy(status.kind());
  bool hasNote = std::ranges::any_of(status.violations(), [](const Violation &one) { return !one.notes.empty(); });
  if (remedy && !hasNote)
    text += std::string("note: ") + remedy + "\n";
  return text;
}

} // namespace shardc::rt
