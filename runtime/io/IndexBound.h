//===-- IndexBound.h - do integer inputs stay in range ------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_IO_INDEXBOUND_H
#define SHARDC_RUNTIME_IO_INDEXBOUND_H

#include "runtime/base/Status.h"
#include "runtime/format/plan.pb.h"

namespace shardc::rt {

/// Checks that the values of one sample lie in the input's range, [0, index_bound) and the ignored value. `values` is
/// in the input's type. Inputs without a bound and floats pass.
Status checkIndexBound(const plan::Input &input, int64_t sample, const void *values);

} // namespace shardc::rt

#endif
