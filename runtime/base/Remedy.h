//===-- Remedy.h - errors for users -------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BASE_REMEDY_H
#define SHARDC_RUNTIME_BASE_REMEDY_H

#include "runtime/base/Status.h"

#include <string>

namespace shardc::rt {

/// Status::render(), and a last note with what helps against errors of its kind in general, where no place has added
/// one that knows better.
std::string renderWithRemedy(const Status &status);

} // namespace shardc::rt

#endif
