//===-- Diagnostics.h - faults of the file, told all at once
//-------------------------------------------------------===//
#ifndef SHARDC_LIB_IMPORT_DIAGNOSTICS_H
#define SHARDC_LIB_IMPORT_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"

#include <string>

namespace shardc::importer {

/// Emits `error: <kind> '<name>': <what> [label]` with a note for the remedy. At most 20 errors are told; the rest is
/// counted. Every label stands in docs/errors.md.
class Diagnostics {
public:
  explicit Diagnostics(mlir::MLIRContext *context) : context(context) {}

  mlir::MLIRContext *getContext() const { return context; }
  bool hasErrors() const { return count != 0; }

  /// `kind` is "model", "node", "tensor", "input", … ; a remedy that is empty gives no note.
  mlir::LogicalResult error(mlir::StringRef label, mlir::StringRef kind, mlir::StringRef name, const mlir::Twine &what,
                            const mlir::Twine &remedy = {});
  /// The same at a location that already exists.
  mlir::LogicalResult error(mlir::StringRef label, mlir::Location loc, mlir::StringRef kind, mlir::StringRef name,
                            const mlir::Twine &what, const mlir::Twine &remedy = {});
  /// Tells how many errors were held back; failure if there was any error.
  mlir::LogicalResult finish();

private:
  mlir::MLIRContext *context;
  int64_t count = 0;
};

} // namespace shardc::importer

#endif
