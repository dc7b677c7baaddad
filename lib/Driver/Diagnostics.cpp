//===-- Diagnostics.cpp - how shardc talks to its user ------------------------------------------------------------===//

#include "shardc/Driver/Diagnostics.h"
#include "shardc/Driver/Remedies.h"

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
constexpr llvm::StringLiteral kInternal = "internal error: ";

/// Async-signal-safe: one line, then the end.
void reportSignal(int) {
  static const char text[] = "error: internal error: the compiler crashed\n"
                             "note: this is a defect of shardc: report it with the model and the command line\n";
  (void)!write(STDERR_FILENO, text, std::strlen(text));
  _exit(1);
}

void reportFatalError(void *, const char *reason, bool) {
  printError((kInternal + llvm::Twine(reason)).str(), getRemedy(""));
  _exit(1);
}

/// There is no defect in a model that is too large for this machine.
void reportOutOfMemory(void *, const char *, bool) {
  static const char text[] = "error: the compiler is out of memory\n"
                             "note: give it more, or a model with smaller tensors\n";
  (void)!write(STDERR_FILENO, text, std::strlen(text));
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
  llvm::StringRef label = findLabel(message);
  bool isOurs = label.empty() && note.empty() && !message.starts_with(kInternal);
  llvm::errs() << "error: " << (isOurs ? kInternal : "") << makePrintable(message) << "\n";
  llvm::errs() << "note: " << makePrintable(note.empty() ? getRemedy(label) : note) << "\n";
  return 1;
}

void shardc::driver::reportCrashesInOneLine() {
  llvm::install_fatal_error_handler(reportFatalError);
  llvm::install_bad_alloc_error_handler(reportOutOfMemory);
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
    llvm::errs() << "note: and " << errors - kMostErrors << " more errors\n";
}

void DiagnosticPrinter::print(Diagnostic &diagnostic) {
  bool isError = diagnostic.getSeverity() == DiagnosticSeverity::Error;
  if (isError && ++errors > kMostErrors)
    return;
  std::string message = diagnostic.str(), node = getNodeName(diagnostic.getLocation());
  StringRef label = findLabel(message);
  // A fault of the user's has a label.
  bool isInternal = isError && label.empty(), saysSo = StringRef(message).starts_with(kInternal);
  llvm::errs() << getSeverity(diagnostic.getSeverity()) << (isInternal && !saysSo ? kInternal : "");
  if (!node.empty() && !StringRef(message).contains(node))
    llvm::errs() << "node '" << makePrintable(node) << "': ";
  llvm::errs() << makePrintable(message) << "\n";
  for (Diagnostic &note : diagnostic.getNotes())
    llvm::errs() << "note: " << makePrintable(note.str()) << "\n";
  if (isInternal || (isError && diagnostic.getNotes().empty()))
    llvm::errs() << "note: " << getRemedy(label) << "\n";
}
