//===-- Signals.h - the end that a user asks for ------------------------------------------------------------------===//
//
// SIGINT and SIGTERM end shardrun with 128 + their number, as shells expect. Before training they do so at once: there
// is nothing to lose, and nothing that starts up can be in their way. During training the first one asks for the end of
// the step, after which everything is written that was asked for; the next one ends at once.
//
// SIGBUS is what the system sends when a mapped file, such as an array of samples, has become shorter: an error.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDRUN_SIGNALS_H
#define SHARDC_TOOLS_SHARDRUN_SIGNALS_H

namespace shardc::shardrun {

void catchSignals();

/// One of several processes leaves it to the launcher to say what happens.
void leaveTellingToLauncher();

/// From here on there is something to lose.
void beginTraining();

/// The signal that has asked for the end; 0: none has.
int stopSignal();

/// Of a process that ends on a signal: this and its number.
inline constexpr int kSignalled = 128;

} // namespace shardc::shardrun

#endif
