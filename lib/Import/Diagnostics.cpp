//===-- Diagnostics.cpp - faults of the file, told all at once ----------------------------------------------------===//

#include "Diagnostics.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace shardc::importer;

namespace {
/// Names come from the file: control characters must not reach a terminal.
std::string makePrintable(StringRef name) {
  std::string text;
  for (char c : name)
    text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return text;
}
} // namespace

LogicalResult Diagnostics::error(StringRef label, StringRef kind, StringRef name, const Twine &what,
                                 const Twine &remedy) {
  return error(label, NameLoc::get(StringAttr::get(context, makePrintable(name))), kind, name, what, remedy);
}

LogicalResult Diagnostics::error(StringRef label, Location loc, StringRef kind, StringRef name, const Twine &what,
                                 const Twine &remedy) {
  failed = true;
  InFlightDiagnostic diagnostic = emitError(loc);
  diagnostic << kind << " '" << makePrintable(name) << "': " << makePrintable(what.str()) << " [" << label << "]";
  if (std::string text = remedy.str(); !text.empty())
    diagnostic.attachNote() << text;
  return failure();
}
