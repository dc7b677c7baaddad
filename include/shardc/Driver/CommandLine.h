//===-- CommandLine.h - the command line of shardc ----------------------------------------------------------------===//
#ifndef SHARDC_DRIVER_COMMANDLINE_H
#define SHARDC_DRIVER_COMMANDLINE_H

#include "shardc/Driver/Pipelines.h"

namespace shardc::driver {

/// All of shardc: parses the options, compiles, and prints the module or what the plan was made with. Returns the exit
/// code: 0, or 1 after an error, which has been printed.
int runShardc(int argc, char **argv, const PhaseHook &hook = {});

} // namespace shardc::driver

#endif
