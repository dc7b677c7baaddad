//===-- WorldExchange.h - what all ranks must know before they update ---------------------------------------------===//
//
// One f64 vector is summed over all ranks at the beginning of an update. Its layout is global: every rank has the same
// vector, in which it fills its own places and leaves the others zero, so that each place has one contributor and the
// sum is exact in any order.
//
//     [ S, one slot for each coordinate of the axes over which it is partial (dp) | W, likewise |
//       Σg² of each block of 4096 elements of the reduced gradients: first those of one set of axes that split them, in
//       parameter order, one run of blocks for each coordinate of these axes (tp; one run where they are replicated),
//       then those of the next set, in the order in which the sets appear ]
//
// A replicated value is contributed by coordinate 0, the gradient of a tied parameter by the first stage that has it.
// Since neither the layout nor the blocks know of stages, the norm does not depend on the depth of the pipeline.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_LIB_PIPELINE_WORLDEXCHANGE_H
#define SHARDC_LIB_PIPELINE_WORLDEXCHANGE_H

#include "StageGraph.h"

namespace shardc::pipeline {

/// The elements of a gradient whose squares are summed together.
inline constexpr int64_t kNormBlock = 4096;

/// Consecutive places of the vector: `values` for each combination of coordinates on `axes` (mesh axes of a size above
/// 1).
struct Section {
  llvm::SmallVector<dist::AxisAttr> axes;
  int64_t values;

  int64_t countSlots() const;
  int64_t getLength() const { return values * countSlots(); }
};

/// The axes of the mesh, without pp and those of size 1, for which `select` holds.
llvm::SmallVector<dist::AxisAttr> filterAxes(dist::MeshAttr mesh, llvm::function_ref<bool(dist::AxisAttr)> select);

/// The layout of the vector: S, W, then the block sums. `blocks` are those of each parameter, in order, `sections` says
/// in which section of `squares` they are.
struct WorldLayout {
  Section lossSum;
  Section lossWeight;
  llvm::SmallVector<Section> squares;
  llvm::SmallVector<int64_t> blocks;
  llvm::SmallVector<size_t> sections;

  /// Appends a parameter of so many elements on this rank, split over `axes`.
  void addParameter(int64_t elements, llvm::ArrayRef<dist::AxisAttr> axes);
  int64_t getLength() const;
};

/// What came out of the exchange; f64 scalars.
struct WorldSums {
  mlir::Value lossSum;
  mlir::Value lossWeight;
  mlir::Value squares;
};

/// Fills the vector at the insertion point, exchanges it and adds it up. S, W (scalars) and the gradients are null
/// where this stage does not contribute them.
WorldSums exchange(mlir::OpBuilder &builder, dist::MeshAttr mesh, const WorldLayout &layout, mlir::Value lossSum,
                   mlir::Value lossWeight, llvm::ArrayRef<mlir::Value> gradients);

} // namespace shardc::pipeline

#endif
