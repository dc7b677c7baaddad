//===-- ParseOptions.h - the words of a command line as options ---------------------------------------------------===//
#ifndef SHARDC_LIB_DRIVER_PARSEOPTIONS_H
#define SHARDC_LIB_DRIVER_PARSEOPTIONS_H

#include "shardc/Driver/Options.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>

namespace shardc::driver {

/// One option: how `--help` shows it, and what it does with its value. Values are never empty.
struct OptionRow {
  llvm::StringRef group, name, value, help;
  std::function<std::optional<OptionError>(llvm::StringRef)> set;
  bool mayRepeat = false;
};

/// The options of shardc, which write to `options`, in the order of `--help` (OptionTable.cpp).
std::vector<OptionRow> makeOptionTable(Options &options);

/// Reads `--name value` and `--name=value` (one dash does too), and one positional word, the model; `--` ends options.
/// The first fault, if any [option-syntax, or what the option says].
std::optional<OptionError> parseOptions(llvm::ArrayRef<const char *> words, const std::vector<OptionRow> &table,
                                        Options &options);

void printHelp(const std::vector<OptionRow> &table, llvm::raw_ostream &out);

} // namespace shardc::driver

#endif
