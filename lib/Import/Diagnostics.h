//===-- Diagnostics.h - faults of the file, told all at once ------------------------------------------------------===//
#ifndef SHARDC_LIB_IMPORT_DIAGNOSTICS_H
#define SHARDC_LIB_IMPORT_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"

#include <string>

namespace shardc::importer {

/// Emits `error: <kind> '<name>': <what> [label]` with a note for the remedy, and remembers that it did. Every label
/// stands in docs/errors.md.
class Diagnostics {
public:
  explicit Diagnostics(mlir::MLIRContext *context) : context(context) {}

  mlir::MLIRContext *getContext() const { return context; }
  bool hasErrors() const { return failed; }

  /// `kind` is "model", "node", "tensor", "input", … ; a remedy that is empty gives no note.
  mlir::LogicalResult error(mlir::StringRef label, mlir::StringRef kind, mlir::StringRef name, const mlir::Twine &what,
                            const mlir::Twine &remedy = {});
  /// The same at a location that already exists.
  mlir::LogicalResult error(mlir::StringRef label, mlir::Location loc, mlir::StringRef kind, mlir::StringRef name,
                            const mlir::Twine &what, const mlir::Twine &remedy = {});

private:
  mlir::MLIRContext *context;
  bool failed = false;
};

} // namespace shardc::importer

#endif
