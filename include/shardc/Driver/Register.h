//===-- Register.h - all dialects and passes of the compiler ------------------------------------------------------===//
#ifndef SHARDC_DRIVER_REGISTER_H
#define SHARDC_DRIVER_REGISTER_H

#include "mlir/IR/DialectRegistry.h"

namespace shardc::driver {

/// Registers the house's dialects and those that code generation lowers through.
void registerDialects(mlir::DialectRegistry &registry);
/// Registers every pass under its command-line name.
void registerPasses();

} // namespace shardc::driver

#endif
