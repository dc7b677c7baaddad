//===-- Options.h - shardrun's command line -----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDRUN_OPTIONS_H
#define SHARDC_TOOLS_SHARDRUN_OPTIONS_H

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardc::shardrun {

/// What samples come from: one of the two, or neither.
struct DataFiles {
  std::string text;
  std::vector<std::pair<std::string, std::string>> arrays; // input, file

  bool empty() const { return text.empty() && arrays.empty(); }
};

struct Options {
  std::string plan;
  // Data: files, or synthetic.
  DataFiles data;
  bool synthetic = false;
  bool noShuffle = false;
  // Evaluation
  DataFiles evaluation;
  int64_t evaluateEvery = 0; // steps; 0: after the last step
  bool evaluateOnly = false;
  // Training
  int64_t steps = 100;
  uint64_t seed = 0;
  std::optional<double> learningRate;
  int32_t threadsPerRank = 1;
  std::string device = "cpu"; // or "emulator"
  int32_t timeout = 20;       // seconds, of silence of another process
  // Output
  std::string logDir;
  std::string dumpGradients, dumpParameters;
  bool quiet = false;
  // Debugging
  bool poison = false;
  bool checkNan = false;
};

/// Reads the command line. Without a value the program is to end with `exitCode`: help has been asked for and printed,
/// or an error line has.
std::optional<Options> parseOptions(int argc, char **argv, int &exitCode);

} // namespace shardc::shardrun

#endif
