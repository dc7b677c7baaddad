//===-- StandardStreams.h - what a tool prints --------------------------------------------------------------------===//
//
// A disk that is full or a stream that is closed must neither end a training run nor pass in silence: printing never
// fails, and whether standard output has arrived is asked once, at the end.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_STANDARDSTREAMS_H
#define SHARDC_TOOLS_STANDARDSTREAMS_H

#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace shardc::tools {

/// Exit code of what went wrong.
inline constexpr int kFailure = 1;

template <typename... Args> void print(fmt::format_string<Args...> format, Args &&...args) {
  std::string text = fmt::format(format, std::forward<Args>(args)...);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

/// To standard error.
template <typename... Args> void printError(fmt::format_string<Args...> format, Args &&...args) {
  std::string text = fmt::format(format, std::forward<Args>(args)...);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

/// Runs the main function of a tool. Streams that the caller has closed lead nowhere, rather than into the next file
/// that is opened; exceptions become error lines; and what did not arrive on standard output is an error.
int runTool(int argc, char **argv, int (*body)(int argc, char **argv));

} // namespace shardc::tools

#endif
