//===-- CheckFinite.h - where a NaN or an infinity comes from -----------------------------------------------------===//
//
// After a step whose loss or gradient is not finite, the step is run again (its update was left out, so that nothing
// has changed) and what each instruction has written is looked at. An infinity may be meant, such as a mask: the first
// one of a rank is remembered, and is an error of its own only where no NaN follows.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_EXECUTOR_CHECKFINITE_H
#define SHARDC_RUNTIME_EXECUTOR_CHECKFINITE_H

#include "runtime/executor/Instructions.h"

#include <string>

namespace shardc::rt {

/// What an instruction wrote that is not finite.
enum class NotFinite { None, Infinity, NaN };

/// The worst element that `instruction` has just written, and in `buffer` the name of where it lies.
NotFinite findNotFinite(const plan::Program &program, const plan::Instruction &instruction, const RunContext &context,
                        std::string &buffer);

} // namespace shardc::rt

#endif
