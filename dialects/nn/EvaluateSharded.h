//===-- EvaluateSharded.h - sequential = parallel -----------------------------------------------------------------===//
//
// Takes global tensors apart as their shardings say, puts local ones together again, and compares a function on one
// rank with its partitioned form on all ranks of the mesh.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_NN_EVALUATESHARDED_H
#define SHARDC_DIALECTS_NN_EVALUATESHARDED_H

#include "dialects/nn/Evaluate.h"

namespace shardc::nn {

/// The part of `global` that `rank` of `mesh` holds. Elements of the padding are 0. What `sharding` says about partial
/// values is ignored.
Tensor sliceShard(const Tensor &global, dist::ShardingAttr sharding, dist::MeshAttr mesh, int64_t rank);

/// Puts the parts that all ranks hold together to a tensor of type `type`: partial values are combined, the padding is
/// dropped. Replicas that differ by more than `tolerance`, relative to the largest element, are an error at `loc`.
mlir::FailureOr<Tensor> assembleShards(llvm::ArrayRef<Tensor> locals, dist::ShardingAttr sharding, dist::MeshAttr mesh,
                                       mlir::RankedTensorType type, double tolerance, mlir::Location loc);

/// The largest difference of two tensors of one shape, relative to the largest element of `expected` (absolute where
/// that is 0). NaN equals NaN; a NaN on one side only is an infinite difference.
double getDifference(const Tensor &actual, const Tensor &expected);

/// Arguments made from `seed`: floats in [-1, 1], states and scalars in (0, 1), integers below the index bound that
/// `nn.inputs` of the module has for the argument (below 2 where it has none; one label in eight is the value to
/// ignore).
Tensors makeArguments(mlir::func::FuncOp function, uint64_t seed);

/// Whether `local`, on every rank of the mesh of its module, computes what `global` does on one rank, up to
/// `tolerance`. Arguments and results of `local` carry `dist.sharding` (replicated where they carry none). Reports
/// every result that differs as an error at `local`.
mlir::LogicalResult checkSequentialEqualsParallel(mlir::func::FuncOp global, mlir::func::FuncOp local,
                                                  const Tensors &arguments, const ControlValues &control,
                                                  double tolerance = 1e-9);

} // namespace shardc::nn

#endif
