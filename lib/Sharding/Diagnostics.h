//===-- Diagnostics.h - how this stage names things ---------------------------------------------------------------===//
#ifndef SHARDC_LIB_SHARDING_DIAGNOSTICS_H
#define SHARDC_LIB_SHARDING_DIAGNOSTICS_H

#include "mlir/IR/Operation.h"

#include <string>

namespace shardc::sharding {

/// `node 'h.0/attn/c_attn'`, from the name that the location carries; `op 'nn.add'` where it has none.
std::string describeNode(mlir::Operation *op);

} // namespace shardc::sharding

#endif
