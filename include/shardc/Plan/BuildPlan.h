//===-- BuildPlan.h - from placed programs to the plan ------------------------------------------------------------===//
//
// The plan mirrors the exec programs one to one; nothing is decided here.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_PLAN_BUILDPLAN_H
#define SHARDC_PLAN_BUILDPLAN_H

#include "mlir/IR/BuiltinOps.h"

namespace shardc::plan {

class Plan;

/// Fills `plan` from a module that every phase has been through; target and checksum of the kernels are the caller's.
/// A module that does not keep the contract of docs/phases.md is an error at the op concerned.
mlir::LogicalResult buildPlan(mlir::ModuleOp module, Plan &plan);

} // namespace shardc::plan

#endif
