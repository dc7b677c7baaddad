//===-- Diagnostics.cpp - how shardc talks to its user ------------------------------------------------------------===//

#include "shardc/Driver/Diagnostics.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <csignal>
#include <cstring>
#include <unistd.h>

using namespace mlir;
using namespace shardc::driver;

namespace {

constexpr int kMostErrors = 20;

/// Async-signal-safe: one line, then the end.
void reportSignal(int) {
  static const char text[] = "error: internal error of the compiler (a crash); please report it with the model and the "
                             "command line\n";
  (void)!write(STDERR_FILENO, text, std::strlen(text));
  _exit(1);
}

void reportFatalError(void *, const char *reason, bool) {
  llvm::errs() << "error: internal error of the compiler: " << reason << "\n";
  _exit(1);
}

std::string getNodeName(Location location) {
  std::string name;
  location->walk([&](Location part) {
    auto named = dyn_cast<NameLoc>(part);
    if (!named)
      return WalkResult::advance();
    name = named.getName().str();
    return WalkResult::interrupt();
  });
  return name;
}

StringRef getSeverity(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return "error: ";
  case DiagnosticSeverity::Warning:
    return "warning: ";
  case DiagnosticSeverity::Note:
  case DiagnosticSeverity::Remark:
    return "note: ";
  }
  return "";
}

} // namespace

int shardc::driver::printError(llvm::StringRef message, llvm::StringRef note) {
  llvm::errs() << "error: " << message << "\n";
  if (!note.empty())
    llvm::errs() << "note: " << note << "\n";
  return 1;
}

void shardc::driver::reportCrashesInOneLine() {
  llvm::install_fatal_error_handler(reportFatalError);
  llvm::install_bad_alloc_error_handler(reportFatalError);
  for (int number : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE})
    std::signal(number, reportSignal);
}

void shardc::driver::printSummary(const Options &options, llvm::raw_ostream &out) {
  out << llvm::formatv("{0}: {1} ranks (dp {2}, pp {3}, tp {4}; order {5}), {6}, recompute {7}\n", options.output,
                       options.dp * options.pp * options.tp, options.dp, options.pp, options.tp, options.meshOrder,
                       options.schedule, options.recompute);
  out << llvm::formatv("micro-batch {0}, {1} micro-batches a step, global batch {2}\n", options.microBatch,
                       options.getMicroBatches(), options.getGlobalBatch());
  out << options.optimizer << llvm::format(", lr %g", options.learningRate) << " (" << options.lrSchedule
      << llvm::format("), weight decay %g, clip norm ", options.getWeightDecay());
  if (options.clipNorm > 0)
    out << llvm::format("%g\n", options.clipNorm);
  else
    out << "off\n";
  if (options.precision == "bf16")
    out << "precision bf16\n";
  if (options.precision == "fp16")
    out << llvm::format("precision fp16, loss scale %g", options.getLossScaleInit())
        << llvm::formatv(", growing every {0} good steps\n", options.getLossScaleGrowthInterval());
}

DiagnosticPrinter::DiagnosticPrinter(MLIRContext &context) : context(context) {
  handler = context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) { print(diagnostic); });
}

DiagnosticPrinter::~DiagnosticPrinter() {
  context.getDiagEngine().eraseHandler(handler);
  if (errors > kMostErrors)
    llvm::errs() << "error: and " << errors - kMostErrors << " more\n";
}

void DiagnosticPrinter::print(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() == DiagnosticSeverity::Error && ++errors > kMostErrors)
    return;
  std::string message = diagnostic.str(), node = getNodeName(diagnostic.getLocation());
  llvm::errs() << getSeverity(diagnostic.getSeverity());
  if (!node.empty() && !StringRef(message).contains(node))
    llvm::errs() << "node '" << node << "': ";
  llvm::errs() << message << "\n";
  for (Diagnostic &note : diagnostic.getNotes())
    llvm::errs() << "note: " << note.str() << "\n";
}
