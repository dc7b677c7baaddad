//===-- Faults.h - faults of a compiler, on purpose ---------------------------------------------------------------===//
#ifndef SHARDC_TEST_TOOLS_COMPILERFAULT_FAULTS_H
#define SHARDC_TEST_TOOLS_COMPILERFAULT_FAULTS_H

#include "shardc/Driver/Options.h"

#include "mlir/IR/BuiltinOps.h"

namespace shardc::test {

/// A fault, and the phase behind which it is planted. `plant` fails where the module has no place for it, so that a
/// test cannot pass because nothing was planted.
struct Fault {
  llvm::StringLiteral name;
  driver::Emit phase;
  mlir::LogicalResult (*plant)(mlir::ModuleOp module);
};

llvm::ArrayRef<Fault> getFaults();

} // namespace shardc::test

#endif
