//===-- Status.h - errors as values -------------------------------------------------------------------------------===//
//
// Every function of the runtime that can fail returns a Status, or a Result with the value. A Status is either success
// or a list of violations, each with a message (lower case, no full stop) and notes with the remedy. Nothing in the
// runtime exits, and nothing throws across the C interface.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BASE_STATUS_H
#define SHARDC_RUNTIME_BASE_STATUS_H

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardc::rt {

enum class StatusKind {
  Ok,
  InvalidArgument, // the caller's or the user's input is wrong
  NotFound,        // a file or a name does not exist
  Io,              // the operating system refused to read or write
  Corrupt,         // a file is not what it should be
  Unsupported,     // right, but not on this machine or in this version
  Mismatch,        // ranks disagree about what they communicate
  Deadlock,        // every rank waits
  OutOfMemory,
  Aborted, // another rank failed; its error is the one to report
  Internal,
};

/// One violation: what is wrong, and notes that say what to do.
struct Violation {
  std::string message;
  std::vector<std::string> notes;
};

class [[nodiscard]] Status {
public:
  /// Success.
  Status() = default;
  Status(StatusKind kind, std::string message, std::string note = {});

  bool isOk() const { return statusKind == StatusKind::Ok; }
  explicit operator bool() const = delete;
  StatusKind kind() const { return statusKind; }

  /// The message of the first violation; empty on success.
  const std::string &message() const;
  const std::vector<Violation> &violations() const { return list; }

  /// Adds a note to the last violation.
  Status &addNote(std::string note) &;
  Status &&addNote(std::string note) &&;
  /// Adds the violations of another status; the first failure decides the kind.
  void append(Status other);
  /// Puts `prefix` in front of every message.
  Status &&withPrefix(const std::string &prefix) &&;

  /// `error: …` and `note: …` lines, each ending in a line break; at most `limit` violations, then "and N more".
  std::string render(size_t limit = 20) const;

private:
  StatusKind statusKind = StatusKind::Ok;
  std::vector<Violation> list;
};

/// A value, or the Status that says why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : held(std::move(value)) {}
  Result(Status status) : failure(std::move(status)) {}

  bool isOk() const { return held.has_value(); }
  const Status &status() const { return failure; }
  Status takeStatus() { return std::move(failure); }
  T &operator*() { return *held; }
  const T &operator*() const { return *held; }
  T *operator->() { return &*held; }
  const T *operator->() const { return &*held; }

private:
  std::optional<T> held;
  Status failure;
};

} // namespace shardc::rt

/// Returns from the enclosing function when `expression`, a Status, is a failure.
#define SHARDRT_RETURN_IF_ERROR(expression)                                                                            \
  do {                                                                                                                 \
    if (::shardc::rt::Status statusOfExpression = (expression); !statusOfExpression.isOk())                            \
      return statusOfExpression;                                                                                       \
  } while (false)

// Declarations and names cannot stand in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define SHARDRT_CONCAT_(a, b) a##b
#define SHARDRT_CONCAT(a, b) SHARDRT_CONCAT_(a, b)
#define SHARDRT_ASSIGN_(result, declaration, expression)                                                               \
  auto result = (expression);                                                                                          \
  if (!result.isOk())                                                                                                  \
    return result.takeStatus();                                                                                        \
  declaration = std::move(*result)
// NOLINTEND(bugprone-macro-parentheses)

/// Declares a variable with the value of `expression`, a Result, or returns its Status.
#define SHARDRT_ASSIGN(declaration, expression)                                                                        \
  SHARDRT_ASSIGN_(SHARDRT_CONCAT(resultOfLine, __LINE__), declaration, expression)

#endif
