//===-- PropagateAxis.h - a layout that follows from what is split ------------------------------------------------===//
#ifndef SHARDC_LIB_SHARDING_PROPAGATEAXIS_H
#define SHARDC_LIB_SHARDING_PROPAGATEAXIS_H

#include "lib/Sharding/Placement.h"

namespace shardc::sharding {

/// Splits every atom of the given classes over `axis` and says what follows: sums over such an atom are partial, and
/// stay so through linear ops. Nothing is resharded. Reports every op that mixes elements along a split atom, has two
/// of them, or uses a partial value in a way that is not linear (`size` is that of the axis, for the message).
mlir::FailureOr<AxisLayout> propagateAxis(mlir::func::FuncOp function, const SubDimensions &subDimensions,
                                          const std::vector<bool> &splitClasses, llvm::StringRef axis, int64_t size);

} // namespace shardc::sharding

#endif
