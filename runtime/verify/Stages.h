//===-- Stages.h - every op of the model is in exactly one stage --------------------------------------------------===//
#ifndef SHARDC_RUNTIME_VERIFY_STAGES_H
#define SHARDC_RUNTIME_VERIFY_STAGES_H

#include "runtime/verify/Report.h"

namespace shardc::rt::verify {

/// Reports ops of the model (Plan.ops) that no program or several have, and instructions of a forward that compute an
/// op of another stage. Relies on a well-formed plan.
void checkStages(const plan::Plan &plan, Report &report);

} // namespace shardc::rt::verify

#endif
