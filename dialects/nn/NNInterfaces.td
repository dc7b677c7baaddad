#ifndef SHARDC_NN_INTERFACES_TD
#define SHARDC_NN_INTERFACES_TD

include "mlir/IR/OpBase.td"

def NN_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::shardc::nn";
  let description = [{
    Reverse-mode differentiation of one op.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the cotangents of the operands from those of the results (null where a result has none; at least one is not
      null). `needed[i]` says whether operand i needs one. Returns one value an operand, null where not needed or where
      the op is constant in that operand. A cotangent has the type of its operand.
    }], "::llvm::SmallVector<::mlir::Value>", "buildCotangents",
    (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<::mlir::Value>":$cotangents,
         "::llvm::ArrayRef<bool>":$needed)>,
    InterfaceMethod<[{
      Whether the op has a cotangent for this result: saved statistics have none, and what depends on them cannot be
      differentiated.
    }], "bool", "isDifferentiableResult", (ins "unsigned":$result), "", [{ return true; }]>,
  ];
}

def NN_ShardableOpInterface : OpInterface<"ShardableOpInterface"> {
  let cppNamespace = "::shardc::nn";
  let description = [{
    The factors of an op (see Factors.h), how it treats partial values, and its local form.
  }];
  let methods = [
    InterfaceMethod<[{
      The factors of the op, in a fixed order. The default is elementwise: every dimension of the result is one, in
      all operands alike. Dimensions of size 1 have no factor.
    }], "::llvm::SmallVector<::shardc::nn::Factor>", "getFactors", (ins), "", [{
      return ::shardc::nn::getElementwiseFactors($_op);
    }]>,
    InterfaceMethod<[{
      The sets of operands in which the op is jointly linear: where all operands of one set are partial sums over an
      axis and the others are complete, the results are partial sums over it. The default is none.
    }], "::llvm::SmallVector<::llvm::SmallVector<unsigned>>", "getLinearOperands", (ins), "", [{
      return {};
    }]>,
    InterfaceMethod<[{
      What the local form all-reduces where a combined factor is split: the elements (of the first result's type) of
      each all-reduce.
    }], "::llvm::SmallVector<int64_t>", "getCombinedElements", (ins), "", [{
      return {};
    }]>,
    InterfaceMethod<[{
      Builds the local form of the op from local operands and the local types of the results; `shardings` says where the
      operands and then the results live. The default is the same op with the local types.
    }], "::llvm::SmallVector<::mlir::Value>", "partition",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands, "::mlir::TypeRange":$resultTypes,
         "::llvm::ArrayRef<::shardc::dist::ShardingAttr>":$shardings), "", [{
      return ::shardc::nn::partitionByCloning($_op, builder, operands, resultTypes);
    }]>,
  ];
}

def NN_CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::shardc::nn";
  let description = [{
    The work of an op on the shapes that it has.
  }];
  let methods = [
    InterfaceMethod<"Floating-point operations.", "int64_t", "getFlops", (ins), "", [{
      return ::shardc::nn::countElementwiseFlops($_op);
    }]>,
    InterfaceMethod<"Bytes read and written.", "int64_t", "getBytes", (ins), "", [{
      return ::shardc::nn::countOperandAndResultBytes($_op);
    }]>,
  ];
}

def NN_FusibleOpInterface : OpInterface<"FusibleOpInterface"> {
  let cppNamespace = "::shardc::nn";
  let description = [{
    An op that is computed element by element: result element i is a scalar function of one element of each operand
    (elementwise ops, broadcasts, selects, conversions), of its position (iota), or the combination of elements along the
    reduced dimensions (reduce). The same body serves scalars and vectors.
  }];
  let methods = [
    InterfaceMethod<[{
      Computes one element (or a vector of elements) of the result from those of the operands. For a reduction:
      combines the accumulator (first) with the next value (second).
    }], "::mlir::Value", "buildScalar",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$operands)>,
  ];
}

#endif
