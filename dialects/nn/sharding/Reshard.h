//===-- Reshard.h - moves a local value from one sharding to another ----------------------------------------------===//
#ifndef SHARDC_DIALECTS_NN_SHARDING_RESHARD_H
#define SHARDC_DIALECTS_NN_SHARDING_RESHARD_H

#include "dialects/nn/NN.h"

namespace shardc::nn {

/// `sharding` with neighbouring sub-dimensions that no axis splits merged: equal layouts become equal attributes.
dist::ShardingAttr canonicalize(dist::ShardingAttr sharding);

/// Builds what turns `value`, which has a sharding, into one that lives as `to` says (same global shape), axis by axis:
///   replicated -> split     reshape, transpose, dist.local_slice, reshape
///   split -> replicated     reshape, dist.all_gather, transpose, reshape
///   split -> split          … dist.all_to_all …
///   partial -> replicated   dist.all_reduce
///   partial -> split        reshape, transpose, dist.reduce_scatter, reshape
/// Collectives work along a leading dimension; the ops around them spell where it lies. A value of zeros is partial as
/// it is. The sub-dimensions of both shardings must nest.
mlir::Value reshard(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, dist::ShardingAttr to);

} // namespace shardc::nn

#endif
