//===-- Compile.h - the whole way from a model to a plan ----------------------------------------------------------===//
#ifndef SHARDC_DRIVER_COMPILE_H
#define SHARDC_DRIVER_COMPILE_H

#include "shardc/Driver/Options.h"
#include "shardc/Driver/Pipelines.h"

#include "mlir/IR/MLIRContext.h"

#include "llvm/Support/raw_ostream.h"

namespace shardc::driver {

/// Compiles as the options say: prints the module to `out` where they ask for IR, else writes the plan folder. Errors
/// go through the context's diagnostics; nothing is left behind after one.
llvm::LogicalResult compile(mlir::MLIRContext &context, const Options &options, llvm::raw_ostream &out,
                            const PhaseHook &hook = {});

} // namespace shardc::driver

#endif
