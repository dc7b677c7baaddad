//===-- Signals.cpp - the end that a user asks for ----------------------------------------------------------------===//

#include "tools/shardrun/Signals.h"

#include <csignal>
#include <string_view>
#include <unistd.h>

namespace shardc::shardrun {
namespace {

// What a handler may touch.
volatile std::sig_atomic_t isTraining = 0, requested = 0;

void handle(int signal) {
  if (!isTraining || requested)
    _exit(kSignalled + signal);
  requested = signal;
  // On a terminal the progress line is still open.
  std::string_view text = "\nstopping after this step; once more ends at once\n";
  text.remove_prefix(isatty(STDERR_FILENO) ? 0 : 1);
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) {
    // Nobody is there to be told.
  }
}

} // namespace

void catchSignals() {
  for (int signal : {SIGINT, SIGTERM}) {
    struct sigaction action = {};
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART; // reads and writes go on
    sigaction(signal, &action, nullptr);
  }
}

void beginTraining() { isTraining = 1; }

int stopSignal() { return requested; }

} // namespace shardc::shardrun
