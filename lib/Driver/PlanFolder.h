//===-- PlanFolder.h - the folder that a plan is written to -------------------------------------------------------===//
#ifndef SHARDC_LIB_DRIVER_PLANFOLDER_H
#define SHARDC_LIB_DRIVER_PLANFOLDER_H

#include "KernelFiles.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace shardc::driver {

/// Checks before any work that `folder` can become a plan: it does not exist, or is a plan (which will be replaced), or
/// is empty; and its parent exists.
llvm::LogicalResult checkPlanFolder(mlir::MLIRContext *context, const std::string &folder);

/// Emits the kernels and the plan of a module that all passes have been through, verifies the plan, and puts the folder
/// in place as the last step: after an error there is no folder, or the old one.
llvm::LogicalResult writePlanFolder(mlir::ModuleOp module, const std::string &folder, const KernelTarget &target);

} // namespace shardc::driver

#endif
