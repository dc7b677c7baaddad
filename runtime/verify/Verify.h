//===-- Verify.h - is a plan right
//---------------------------------------------------------------------------------===//
//
// The verifier reads a plan alone. It expects one that checkPlan (format/CheckPlan.h) accepts.
//
//===----------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_VERIFY_VERIFY_H
#define SHARDC_RUNTIME_VERIFY_VERIFY_H

#include "runtime/base/Status.h"
#include "runtime/format/plan.pb.h"

namespace shardc::rt {

/// All violations found in the plan: of matching, freedom of deadlock, reads and reuse of memory, and reductions.
Status verifyPlan(const plan::Plan &plan);

} // namespace shardc::rt

#endif
