//===-- Builders.h - writes tensor mathematics the way one writes it on paper -------------------------------------===//
//
// A TensorBuilder is an OpBuilder with a location and a method for every op of nn that formulas are made of. Result
// types follow from the operands. It only refers to the OpBuilder, so that insertion points and listeners stay the
// caller's.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_NN_BUILDERS_H
#define SHARDC_DIALECTS_NN_BUILDERS_H

#include "dialects/nn/NN.h"

namespace shardc::nn {

/// The type of a tensor; every value of nn has one.
mlir::RankedTensorType getTensorType(mlir::Value value);

/// The attribute that stands for `value` in `elementType` (a float or an integer type).
mlir::TypedAttr getScalarAttr(mlir::Type elementType, double value);

/// 0, 1, … count - 1.
llvm::SmallVector<int64_t> getIotaDims(int64_t count);

/// The permutation that undoes `permutation`.
llvm::SmallVector<int64_t> invertPermutation(llvm::ArrayRef<int64_t> permutation);

class TensorBuilder {
public:
  TensorBuilder(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  /// A constant of one number, in the tensor type `type` or in that of `like`.
  mlir::Value splat(mlir::Type type, double number);
  mlir::Value splatLike(mlir::Value like, double number) { return splat(like.getType(), number); }

  mlir::Value neg(mlir::Value x) { return NegOp::create(builder, loc, x); }
  mlir::Value exp(mlir::Value x) { return ExpOp::create(builder, loc, x); }
  mlir::Value log(mlir::Value x) { return LogOp::create(builder, loc, x); }
  mlir::Value sqrt(mlir::Value x) { return SqrtOp::create(builder, loc, x); }
  mlir::Value rsqrt(mlir::Value x) { return RsqrtOp::create(builder, loc, x); }
  mlir::Value sin(mlir::Value x) { return SinOp::create(builder, loc, x); }
  mlir::Value cos(mlir::Value x) { return CosOp::create(builder, loc, x); }

  mlir::Value add(mlir::Value a, mlir::Value b) { return AddOp::create(builder, loc, a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return SubOp::create(builder, loc, a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return MulOp::create(builder, loc, a, b); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return DivOp::create(builder, loc, a, b); }
  mlir::Value pow(mlir::Value a, mlir::Value b) { return PowOp::create(builder, loc, a, b); }
  mlir::Value logicalAnd(mlir::Value a, mlir::Value b) { return AndOp::create(builder, loc, a, b); }
  /// x + number and x · number.
  mlir::Value add(mlir::Value x, double number) { return add(x, splatLike(x, number)); }
  mlir::Value mul(mlir::Value x, double number) { return mul(x, splatLike(x, number)); }

  mlir::Value compare(CompareDirection direction, mlir::Value a, mlir::Value b);
  /// Compares every element with one number.
  mlir::Value compare(CompareDirection direction, mlir::Value a, double number);
  mlir::Value select(mlir::Value predicate, mlir::Value onTrue, mlir::Value onFalse);
  /// The same shape with another element type; `x` itself where it has it.
  mlir::Value convert(mlir::Value x, mlir::Type elementType);

  /// Operand dimension i becomes dimension dims[i] of `shape`; `x` itself where nothing changes.
  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims);
  /// A scalar in every element of `shape`.
  mlir::Value broadcastScalar(mlir::Value x, llvm::ArrayRef<int64_t> shape) { return broadcast(x, shape, {}); }
  /// Reduces over `dims` (ascending); `x` itself where there are none.
  mlir::Value reduce(ReduceKind kind, mlir::Value x, llvm::ArrayRef<int64_t> dims);
  mlir::Value sum(mlir::Value x, llvm::ArrayRef<int64_t> dims) { return reduce(ReduceKind::Sum, x, dims); }
  /// The same elements in `shape`; `x` itself where it has it.
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  /// Permutes dimensions; `x` itself where that is the identity.
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  mlir::Value slice(mlir::Value x, llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> limits,
                    llvm::ArrayRef<int64_t> strides);
  /// Pads with zeros.
  mlir::Value pad(mlir::Value x, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high,
                  llvm::ArrayRef<int64_t> interior);
  mlir::Value iota(llvm::ArrayRef<int64_t> shape, mlir::Type elementType, int64_t dimension);
  mlir::Value dot(mlir::Value lhs, mlir::Value rhs, llvm::ArrayRef<int64_t> lhsBatch, llvm::ArrayRef<int64_t> rhsBatch,
                  llvm::ArrayRef<int64_t> lhsContract, llvm::ArrayRef<int64_t> rhsContract);

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace shardc::nn

#endif
