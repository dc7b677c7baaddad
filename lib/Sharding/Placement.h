//===-- Placement.h - where values are along one mesh axis --------------------------------------------------------===//
#ifndef SHARDC_LIB_SHARDING_PLACEMENT_H
#define SHARDC_LIB_SHARDING_PLACEMENT_H

#include "lib/Sharding/SubDimensions.h"

namespace shardc::sharding {

/// What the ranks along one axis have of a value.
struct Placement {
  enum Kind { Replicated, PartialSum, PartialMax, Split };
  Kind kind = Replicated;
  nn::FactorPart part = {}; // of a split value

  static Placement split(nn::FactorPart part) { return {Split, part}; }
  static Placement partial(dist::ReductionKind kind) {
    return {kind == dist::ReductionKind::Max ? PartialMax : PartialSum, {}};
  }
  bool isPartial() const { return kind == PartialSum || kind == PartialMax; }
  bool operator==(const Placement &other) const {
    return kind == other.kind && part.dim == other.part.dim && part.inner == other.part.inner;
  }
};

/// What an op takes and gives along one axis.
struct OpPlacement {
  llvm::SmallVector<Placement> operands, results;
};

/// The layout of a function along one axis: of its arguments, its ops, and the values it returns.
struct AxisLayout {
  llvm::SmallVector<Placement> arguments;
  llvm::DenseMap<mlir::Operation *, OpPlacement> ops;
  llvm::SmallVector<Placement> returned;

  /// Where a value is as its op (or the caller) leaves it.
  Placement get(mlir::Value value) const {
    if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value))
      return argument.getArgNumber() < arguments.size() ? arguments[argument.getArgNumber()] : Placement();
    auto result = llvm::cast<mlir::OpResult>(value);
    auto entry = ops.find(result.getOwner());
    return entry == ops.end() ? Placement() : entry->second.results[result.getResultNumber()];
  }
};

} // namespace shardc::sharding

#endif
