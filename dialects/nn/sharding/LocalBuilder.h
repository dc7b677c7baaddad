//===-- LocalBuilder.h - builds ops of a local form, each with the sharding of its result -------------------------===//
#ifndef SHARDC_DIALECTS_NN_SHARDING_LOCALBUILDER_H
#define SHARDC_DIALECTS_NN_SHARDING_LOCALBUILDER_H

#include "dialects/nn/Builders.h"

namespace shardc::nn {

/// A TensorBuilder whose ops say where their results live: in `sharding`, until told otherwise.
class LocalBuilder {
public:
  LocalBuilder(mlir::OpBuilder &builder, mlir::Location loc, dist::ShardingAttr sharding)
      : build(builder, loc), sharding(sharding) {}

  /// The same builder for values of another sharding.
  LocalBuilder in(dist::ShardingAttr other) const { return {build.builder, build.loc, other}; }

  mlir::Value splat(mlir::Type type, double number) { return place(build.splat(type, number)); }
  mlir::Value splatLike(mlir::Value like, double number) { return splat(like.getType(), number); }
  mlir::Value exp(mlir::Value x) { return place(build.exp(x)); }
  mlir::Value log(mlir::Value x) { return place(build.log(x)); }
  mlir::Value add(mlir::Value a, mlir::Value b) { return place(build.add(a, b)); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return place(build.sub(a, b)); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return place(build.mul(a, b)); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return place(build.div(a, b)); }
  mlir::Value logicalAnd(mlir::Value a, mlir::Value b) { return place(build.logicalAnd(a, b)); }
  mlir::Value compare(CompareDirection direction, mlir::Value a, mlir::Value b) {
    return place(build.compare(direction, a, b));
  }
  mlir::Value select(mlir::Value predicate, mlir::Value onTrue, mlir::Value onFalse) {
    return place(build.select(predicate, onTrue, onFalse));
  }
  mlir::Value convert(mlir::Value x, mlir::Type elementType) { return placeNew(x, build.convert(x, elementType)); }
  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims) {
    return placeNew(x, build.broadcast(x, shape, dims));
  }
  mlir::Value broadcastScalar(mlir::Value x, llvm::ArrayRef<int64_t> shape) { return broadcast(x, shape, {}); }
  mlir::Value reduce(ReduceKind kind, mlir::Value x, llvm::ArrayRef<int64_t> dims) {
    return placeNew(x, build.reduce(kind, x, dims));
  }
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape) { return placeNew(x, build.reshape(x, shape)); }
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> perm) { return placeNew(x, build.transpose(x, perm)); }
  mlir::Value iota(llvm::ArrayRef<int64_t> shape, mlir::Type elementType, int64_t dimension) {
    return place(build.iota(shape, elementType, dimension));
  }
  mlir::Value axisIndex(mlir::StringAttr axis) {
    auto type = mlir::RankedTensorType::get({}, build.builder.getI64Type());
    return place(dist::AxisIndexOp::create(build.builder, build.loc, type, axis));
  }
  mlir::Value allReduce(mlir::Value x, mlir::ArrayAttr axes, dist::ReductionKind kind) {
    auto op = dist::AllReduceOp::create(build.builder, build.loc, x, axes, kind, mlir::DenseI64ArrayAttr());
    return place(op.getResult());
  }

private:
  mlir::Value place(mlir::Value value) {
    dist::setSharding(value, sharding);
    return value;
  }
  mlir::Value placeNew(mlir::Value from, mlir::Value value) { return value == from ? value : place(value); }

  TensorBuilder build;
  dist::ShardingAttr sharding;
};

} // namespace shardc::nn

#endif
