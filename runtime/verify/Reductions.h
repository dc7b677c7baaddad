//===-- Reductions.h - partial values are reduced exactly once
//------------------------------------------------------===//
//
// An operand says over which mesh axes its value is still a summand (partial_sum) or a candidate for a maximum
// (partial_max). Reads (Reads.h) make sure that every read says what the write said. Here every instruction is checked
// by itself: a reduction takes exactly its communicator's axes away; nothing else loses an axis; what leaves the stage
// or becomes a parameter is complete.
//
//===----------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_VERIFY_REDUCTIONS_H
#define SHARDC_RUNTIME_VERIFY_REDUCTIONS_H

#include "runtime/verify/Reads.h"

namespace shardc::rt::verify {

/// Reports instructions of a program that lose, invent or doubly reduce a partial axis.
void checkReductions(const plan::Plan &plan, int program, const ProgramAccesses &accesses, Report &report);

/// Reports trainable parameters without a gradient in some micro-batch, and tied parameters (held by several programs)
/// whose gradients are not summed over exactly the programs that hold them.
void checkGradients(const plan::Plan &plan, const std::vector<ReadsFacts> &facts, Report &report);

} // namespace shardc::rt::verify

#endif
