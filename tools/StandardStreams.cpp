//===-- StandardStreams.cpp - what a tool prints ------------------------------------------------------------------===//

#include "tools/StandardStreams.h"

#include "runtime/base/Exceptions.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>

namespace shardc::tools {
namespace {

void openClosedStreams() {
  for (int descriptor : {0, 1, 2})
    if (::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
      (void)::open("/dev/null", O_RDWR); // takes the lowest number that is free
}

/// Whether all that was printed has arrived.
bool flushOutput() {
  bool isComplete = std::ferror(stdout) == 0;
  errno = 0;
  if (std::fflush(stdout) == 0 && isComplete)
    return true;
  printError("error: standard output: cannot write{}\nnote: free some space, or send the output elsewhere\n",
             errno != 0 ? fmt::format(": {}", std::strerror(errno)) : " all of it");
  return false;
}

} // namespace

int runTool(int argc, char **argv, int (*body)(int argc, char **argv)) {
  openClosedStreams();
  std::signal(SIGXFSZ, SIG_IGN); // a file beyond the limit of its size is an error of the write
  int exitCode = kFailure;
  try {
    exitCode = body(argc, argv);
  } catch (...) {
    printError("{}", rt::statusOfException().render());
  }
  return flushOutput() || exitCode != 0 ? exitCode : kFailure;
}

} // namespace shardc::tools
