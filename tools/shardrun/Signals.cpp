//===-- Signals.cpp - the end that a user asks for ----------------------------------------------------------------===//

#include "tools/shardrun/Signals.h"

#include "shardrt/shardrt.h"
#include "tools/StandardStreams.h"

#include <csignal>
#include <string_view>
#include <unistd.h>

namespace shardc::shardrun {
namespace {

// What a handler may touch.
volatile std::sig_atomic_t isTraining = 0, requested = 0, isQuiet = 0;

/// Begins with a line break, for a terminal, on which the progress line is still open.
void tell(std::string_view text) {
  text.remove_prefix(isatty(STDERR_FILENO) ? 0 : 1);
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) {
    // Nobody is there to be told.
  }
}

void handleStop(int signal) {
  if (!isTraining || requested)
    _exit(kSignalled + signal);
  requested = signal;
  shardrtNoteTermination();
  if (!isQuiet)
    tell("\nstopping after this step; once more ends at once\n");
}

void handleMissingPage(int) {
  tell("\nerror: a file that this run reads has become shorter, or cannot be read any more [run-file]\n"
       "note: leave data and plans as they are while they are in use\n");
  _exit(tools::kFailure);
}

void onSignal(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART; // reads and writes go on
  sigaction(signal, &action, nullptr);
}

} // namespace

void catchSignals() {
  onSignal(SIGINT, handleStop);
  onSignal(SIGTERM, handleStop);
  onSignal(SIGBUS, handleMissingPage);
}

void leaveTellingToLauncher() { isQuiet = 1; }

void beginTraining() { isTraining = 1; }

int stopSignal() { return requested; }

} // namespace shardc::shardrun
