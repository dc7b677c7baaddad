//===-- CommandLine.cpp - the command line of shardc --------------------------------------------------------------===//

#include "shardc/Driver/CommandLine.h"
#include "ParseOptions.h"

#include "shardc/Driver/Compile.h"
#include "shardc/Driver/Diagnostics.h"
#include "shardc/Driver/Register.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace shardc::driver;

namespace {

int report(const OptionError &error) { return printError(error.message, error.note); }

bool asksForHelp(ArrayRef<const char *> words) {
  return any_of(words.take_until([](StringRef word) { return word == "--"; }),
                [](StringRef word) { return word == "--help" || word == "-help" || word == "-h"; });
}

/// What went to standard output must have arrived; LLVM would abort when the stream is destroyed.
bool flushOutput() {
  outs().flush();
  std::error_code error = outs().error();
  if (!error)
    return true;
  outs().clear_error();
  report({"standard output cannot be written: " + error.message() + " [output-file]", ""});
  return false;
}

} // namespace

int shardc::driver::runShardc(int argc, char **argv, const PhaseHook &hook) {
  reportCrashesInOneLine();
  ArrayRef<const char *> words(argv + std::min(argc, 1), argv + argc);
  Options options;
  std::vector<OptionRow> table = makeOptionTable(options);
  if (asksForHelp(words)) {
    printHelp(table, outs());
    return flushOutput() ? 0 : 1;
  }
  if (std::optional<OptionError> error = parseOptions(words, table, options))
    return report(*error);

  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  // Users see messages, never IR.
  context.printOpOnDiagnostic(false);
  DiagnosticPrinter printer(context);
  bool isCompiled = succeeded(compile(context, options, outs(), hook));
  if (!isCompiled && !printer.hasErrors())
    report({"internal error: a phase failed without saying why", ""});
  if (isCompiled && options.emit == Emit::Plan)
    printSummary(options, outs());
  return isCompiled && flushOutput() ? 0 : 1;
}
