//===-- Exceptions.cpp - exceptions as values ---------------------------------------------------------------------===//

#include "runtime/base/Exceptions.h"

#include <exception>
#include <new>
#include <system_error>

namespace shardc::rt {
namespace {

Status statusOf(const std::system_error &error) {
  if (error.code() == std::errc::resource_unavailable_try_again)
    return Status(StatusKind::OutOfMemory, "cannot start a thread: " + error.code().message() + " [run-threads]",
                  "run fewer ranks or threads, or raise the limits on processes and memory (ulimit -u, ulimit -v)");
  return Status(StatusKind::Io, error.what(), "look at what the system says");
}

} // namespace

Status statusOfException() {
  try {
    throw;
  } catch (const std::bad_alloc &) {
    return Status(StatusKind::OutOfMemory, "out of memory [run-memory]",
                  "a smaller --micro-batch, --recompute full or fewer ranks on this machine need less");
  } catch (const std::system_error &error) {
    return statusOf(error);
  } catch (const std::exception &error) {
    return Status(StatusKind::Internal, std::string("internal error: ") + error.what(),
                  "this is a defect of shardc: report it with the model and the command line");
  }
}

} // namespace shardc::rt
