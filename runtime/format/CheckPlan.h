//===-- CheckPlan.h - is a plan well-formed -----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_FORMAT_CHECKPLAN_H
#define SHARDC_RUNTIME_FORMAT_CHECKPLAN_H

#include "runtime/base/Status.h"
#include "runtime/format/plan.pb.h"

namespace shardc::rt {

/// Checks that whatever names something else in the plan names something that is there: indices of buffers, blocks,
/// kernels, communicators, parameters, events and axes; that buffers lie in the arena and operands in their buffers,
/// and that slots exist. So code behind it may index freely. Meaning (order, reductions, overlap) is the verifier's.
Status checkPlan(const plan::Plan &plan);

} // namespace shardc::rt

#endif
