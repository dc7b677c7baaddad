//===-- Reductions.h - partial values are reduced exactly once ----------------------------------------------------===//
//
// An operand says over which mesh axes its value is still a summand (partial_sum) or a candidate for a maximum
// (partial_max). Reads (Reads.h) make sure that every read says what the write said. Here every instruction is checked
// by itself: a reduction takes exactly its communicator's axes away; nothing else loses an axis; what leaves the stage
// or becomes a parameter is complete.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_VERIFY_REDUCTIONS_H
#define SHARDC_RUNTIME_VERIFY_REDUCTIONS_H

#include "runtime/verify/Reads.h"

namespace shardc::rt::verify {

/// Reports instructions of a program that lose, invent or doubly reduce a partial axis.
void checkReductions(const plan::Plan &plan, int program, const ProgramAccesses &accesses, Report &report);

/// The programs with a buffer of each trainable parameter.
Holders findHolders(const plan::Plan &plan);

/// Reports trainable parameters without a gradient in some micro-batch, and gradients that are summed over other stages
/// than those that hold the parameter.
void checkGradients(const plan::Plan &plan, const Holders &holders, const std::vector<ReadsFacts> &facts,
                    Report &report);

} // namespace shardc::rt::verify

#endif
