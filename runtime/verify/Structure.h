//===-- Structure.h - whether a plan is well formed ---------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_VERIFY_STRUCTURE_H
#define SHARDC_RUNTIME_VERIFY_STRUCTURE_H

#include "runtime/verify/Report.h"

namespace shardc::rt::verify {

/// The unrolled instructions of one program that are simulated at most when its blocks are not joined; also the bound
/// of a plan's communication.
inline constexpr int64_t kMaxSimulated = int64_t(1) << 26;

/// Reports every index out of range, view that leaves its buffer, buffer that leaves the arena, and mismatch of shapes
/// and types. When it reports nothing, all of the plan can be used without further checks. Linear in the plan's size.
void checkStructure(const plan::Plan &plan, Report &report);

/// What the programs of a plan run once.
enum class Step { Training, Evaluation };

/// Reports schedules that do not run every micro-batch forward and backward once, each backward after its forward,
/// and one update at the end; or, for an evaluation, every micro-batch once and one report at the end.
void checkSchedule(const plan::Plan &plan, Step step, Report &report);

} // namespace shardc::rt::verify

#endif
