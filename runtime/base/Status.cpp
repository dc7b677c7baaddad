//===-- Status.cpp - errors as values -----------------------------------------------------------------------------===//

#include "runtime/base/Status.h"

namespace shardc::rt {

Status::Status(StatusKind kind, std::string message, std::string note) : statusKind(kind) {
  list.push_back({std::move(message), {}});
  if (!note.empty())
    list.back().notes.push_back(std::move(note));
}

const std::string &Status::message() const {
  static const std::string none;
  return list.empty() ? none : list.front().message;
}

Status &Status::addNote(std::string note) & {
  if (!list.empty())
    list.back().notes.push_back(std::move(note));
  return *this;
}

Status &&Status::addNote(std::string note) && { return std::move(addNote(std::move(note))); }

void Status::append(Status other) {
  if (isOk())
    statusKind = other.statusKind;
  for (Violation &violation : other.list)
    list.push_back(std::move(violation));
}

Status &&Status::withPrefix(const std::string &prefix) && {
  for (Violation &violation : list)
    violation.message.insert(0, prefix);
  return std::move(*this);
}

std::string Status::render(size_t limit) const {
  std::string text;
  for (size_t i = 0; i < list.size(); ++i) {
    if (i == limit) {
      text += "error: and " + std::to_string(list.size() - limit) + " more\n";
      break;
    }
    text += "error: " + list[i].message + "\n";
    for (const std::string &note : list[i].notes)
      text += "note: " + note + "\n";
  }
  return text;
}

} // namespace shardc::rt
