//===-- ParseErrors.h - what CLI11 finds wrong, in our words ------------------------------------------------------===//
#ifndef SHARDC_TOOLS_PARSEERRORS_H
#define SHARDC_TOOLS_PARSEERRORS_H

#include <CLI/CLI.hpp>

#include <limits>
#include <string>

namespace shardc::tools {

/// Exit code of a command line that cannot be understood.
inline constexpr int kUsageError = 2;

/// The `error:` line and the `note:` for a command line that `app` has refused.
std::string renderParseError(const CLI::App &app, const CLI::ParseError &error);

/// Reads a decimal number, and nothing else beside it; false if it is none, or beyond T.
template <typename T> bool parseNumber(const std::string &text, T &value);

/// A check that a value is a number in [least, most].
template <typename T> CLI::Validator between(T least, T most = std::numeric_limits<T>::max());

} // namespace shardc::tools

#endif
