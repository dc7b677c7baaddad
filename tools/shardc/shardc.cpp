//===-- shardc.cpp - compiles a model to a plan -------------------------------------------------------------------===//

#include "shardc/Driver/CommandLine.h"

int main(int argc, char **argv) { return shardc::driver::runShardc(argc, argv); }
