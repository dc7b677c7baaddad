//===-- Diagnostics.cpp - faults of the file, told all at once ----------------------------------------------------===//

#include "Diagnostics.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace shardc::importer;

LogicalResult Diagnostics::error(StringRef label, StringRef kind, StringRef name, const Twine &what,
                                 const Twine &remedy) {
  return error(label, NameLoc::get(StringAttr::get(context, name)), kind, name, what, remedy);
}

LogicalResult Diagnostics::error(StringRef label, Location loc, StringRef kind, StringRef name, const Twine &what,
                                 const Twine &remedy) {
  failed = true;
  InFlightDiagnostic diagnostic = emitError(loc);
  diagnostic << kind << " '" << name << "': " << what << " [" << label << "]";
  if (std::string text = remedy.str(); !text.empty())
    diagnostic.attachNote() << text;
  return failure();
}
