//===-- LocalIndex.h - between a rank's own indices and global ones -----------------------------------------------===//
//
// A split dimension's local index l and global index g are numbers with the sub-dimensions' digits. With local size sᵢ,
// local stride λᵢ and global stride γᵢ of sub-dimension i (outermost first), rank coordinate cᵢ on a split one:
//     g = l + Σᵢ ⌊l / λᵢ⌋ · (γᵢ − sᵢ₊₁ · γᵢ₊₁) + Σᵢ cᵢ · sᵢ · γᵢ
// where most terms of the first sum vanish: only those above a split sub-dimension stay.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_NN_SHARDING_LOCALINDEX_H
#define SHARDC_DIALECTS_NN_SHARDING_LOCALINDEX_H

#include "dialects/nn/NN.h"

namespace shardc::nn {

/// One sub-dimension as digits of an index.
struct Digit {
  int64_t size, localSize;
  int64_t stride, localStride;
  llvm::SmallVector<mlir::StringAttr> axes;
};

/// The sub-dimensions of a dimension, outermost first.
llvm::SmallVector<Digit> getDigits(dist::MeshAttr mesh, dist::DimAttr dim);

/// Whether any axis splits the dimension.
bool isSplit(dist::DimAttr dim);

/// Whether a split dimension's shard is one run of consecutive indices: only the outermost sub-dimension is split.
bool isContiguous(dist::DimAttr dim);

/// A scalar tensor<i64>: the sum of coordinate · localSize · stride over the split digits, `scale` times.
mlir::Value buildShardOffset(mlir::OpBuilder &builder, mlir::Location loc, dist::MeshAttr mesh, dist::DimAttr dim,
                             int64_t scale = 1);

/// The i64 tensor of the local shape of `sharding` that holds the global index along `dim`.
mlir::Value buildGlobalIndex(mlir::OpBuilder &builder, mlir::Location loc, dist::MeshAttr mesh,
                             dist::ShardingAttr sharding, int64_t dim);

/// Local indices from global ones (any shape, i32 or i64, sharded as `sharding`) along a split dimension; indices of
/// other ranks and indices out of range become ones out of range.
mlir::Value buildLocalIndices(mlir::OpBuilder &builder, mlir::Location loc, dist::MeshAttr mesh, mlir::Value indices,
                              dist::DimAttr dim, dist::ShardingAttr sharding);

} // namespace shardc::nn

#endif
