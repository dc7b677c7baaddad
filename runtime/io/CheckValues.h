//===-- CheckValues.h - are samples what a model can take? --------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_IO_CHECKVALUES_H
#define SHARDC_RUNTIME_IO_CHECKVALUES_H

#include "runtime/base/Status.h"
#include "runtime/format/plan.pb.h"

namespace shardc::rt {

/// Checks that the values of one sample lie in the input's range, [0, index_bound) and the ignored value, where it has
/// one, and that floats are finite. `values` is in the input's type and need not be aligned.
Status checkValues(const plan::Input &input, int64_t sample, const void *values);

/// Whether all values of a sample are the one that the model ignores, so that the sample teaches nothing.
bool isIgnored(const plan::Input &input, const void *values);

} // namespace shardc::rt

#endif
