#ifndef SHARDC_NN_CONTRACTION_TD
#define SHARDC_NN_CONTRACTION_TD

include "dialects/nn/NNBase.td"

def NN_DotGeneralOp : NN_Op<"dot_general", [InferTypeOpAdaptorWithIsCompatible, NN_Differentiable], ["getFactors", "getLinearOperands"], ["getFlops"]> {
  let summary = "The product of two tensors over batch and contracted dimensions";
  let description = [{
    The result's dimensions are the batch dimensions (in the order of lhs_batch), the free ones of lhs, the free ones of
    rhs, each in order. Its element type is the operands'; products of bf16 or f16, which are summed in f32, may also keep
    the f32 that they are. Example (x · Wᵀ):
    `%2 = nn.dot_general %0, %1 batch [] x [] contract [1] x [1] : (tensor<4x64xf32>, tensor<32x64xf32>) -> tensor<4x32xf32>`
  }];
  let arguments = (ins NN_Tensor:$lhs, NN_Tensor:$rhs, DenseI64ArrayAttr:$lhs_batch, DenseI64ArrayAttr:$rhs_batch,
                       DenseI64ArrayAttr:$lhs_contract, DenseI64ArrayAttr:$rhs_contract);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `batch` $lhs_batch `x` $rhs_batch `contract` $lhs_contract `x` $rhs_contract attr-dict
    `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The dimensions of an operand that are neither batch nor contracted, in order.
    ::llvm::SmallVector<int64_t> getLhsFree();
    ::llvm::SmallVector<int64_t> getRhsFree();
  }];
}

#endif
