//===-- Diagnostics.h - how shardc talks to its user --------------------------------------------------------------===//
#ifndef SHARDC_DRIVER_DIAGNOSTICS_H
#define SHARDC_DRIVER_DIAGNOSTICS_H

#include "shardc/Driver/Options.h"

#include "mlir/IR/Diagnostics.h"

#include "llvm/Support/raw_ostream.h"

namespace shardc::driver {

/// Prints `error: <message>` and `note: <note>`, by default the remedy of the message's label. Returns exit code 1.
int printError(llvm::StringRef message, llvm::StringRef note = "");

/// Turns an abort or a fault of the compiler into one line that asks for a report, instead of a stack dump.
void reportCrashesInOneLine();

/// Prints the settings that a plan was made with.
void printSummary(const Options &options, llvm::raw_ostream &out);

/// Prints diagnostics as `error:`, `warning:`, `note:` lines, at most 20 errors. A message that does not name its node
/// gets the name from the location, an error without a note the remedy of its label; one without a label is called an
/// internal error.
class DiagnosticPrinter {
public:
  explicit DiagnosticPrinter(mlir::MLIRContext &context);
  ~DiagnosticPrinter();
  bool hasErrors() const { return errors > 0; }

private:
  void print(mlir::Diagnostic &diagnostic);

  mlir::MLIRContext &context;
  mlir::DiagnosticEngine::HandlerID handler;
  int errors = 0;
};

} // namespace shardc::driver

#endif
