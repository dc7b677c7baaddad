//===-- RowReduce.h - reductions along a split dimension, combined over the ranks ---------------------------------===//
#ifndef SHARDC_DIALECTS_NN_SHARDING_ROWREDUCE_H
#define SHARDC_DIALECTS_NN_SHARDING_ROWREDUCE_H

#include "dialects/nn/sharding/LocalBuilder.h"

namespace shardc::nn {

/// Reduces local tensors that live as `sharding` along dimension `dim` and combines the results over the axes that
/// split it; all ranks get whole rows' values.
class RowReduce {
public:
  RowReduce(mlir::OpBuilder &builder, mlir::Location loc, dist::ShardingAttr sharding, int64_t dim);

  mlir::Value combine(ReduceKind kind, mlir::Value x);
  /// A row value repeated along the dimension in the shape of `like`.
  mlir::Value spread(mlir::Value row, mlir::Value like);
  /// Where the combined values live.
  dist::ShardingAttr getRowSharding() const { return rows; }

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  dist::ShardingAttr whole, rows;
  int64_t dim;
  llvm::SmallVector<mlir::Attribute> axes;
};

} // namespace shardc::nn

#endif
