//===-- Remedies.h - what to do about an error, by its label ------------------------------------------------------===//
#ifndef SHARDC_DRIVER_REMEDIES_H
#define SHARDC_DRIVER_REMEDIES_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace shardc::driver {

/// The remedy for the errors of a label of docs/errors.md that do not say one themselves; for text without a known
/// label, which is a fault of the compiler, a request to report it.
llvm::StringRef getRemedy(llvm::StringRef label);

/// What stands in the brackets at the end of a message; empty if nothing does.
llvm::StringRef findLabel(llvm::StringRef message);

/// The text with control characters and bytes that are no UTF-8 as \xNN: names come from files, terminals obey.
std::string makePrintable(llvm::StringRef text);

} // namespace shardc::driver

#endif
