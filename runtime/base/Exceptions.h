//===-- Exceptions.h - exceptions as values -----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BASE_EXCEPTIONS_H
#define SHARDC_RUNTIME_BASE_EXCEPTIONS_H

#include "runtime/base/Status.h"

namespace shardc::rt {

/// What the exception that is being handled means: memory or threads that the system does not give, or a defect of
/// ours.
Status statusOfException();

} // namespace shardc::rt

#endif
