#ifndef SHARDC_NN_INDEXING_TD
#define SHARDC_NN_INDEXING_TD

include "dialects/nn/NNBase.td"

def NN_GatherOp : NN_Op<"gather", [NN_Infer, NN_Differentiable], ["getFactors", "getLinearOperands", "partition"], ["getFlops", "getBytes"]> {
  let summary = "Slices of a tensor along one dimension, by index; an index out of range gives zeros";
  let description = [{
    The result's shape is operand[:axis] ++ indices ++ operand[axis + 1:]. That an index out of range reads zeros makes a
    table split over its rows a plain gather on local indices, whose results are summands.
    Example: `%2 = nn.gather %0, %1 axis 0 : (tensor<256x64xf32>, tensor<4x16xi64>) -> tensor<4x16x64xf32>`
  }];
  let arguments = (ins NN_Tensor:$operand, TensorOf<[I32, I64]>:$indices, I64Attr:$axis);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$operand `,` $indices `axis` $axis attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def NN_ScatterAddOp : NN_Op<"scatter_add", [NN_Differentiable], ["getFactors", "getLinearOperands", "partition"]> {
  let summary = "Adds slices to zeros along one dimension, by index, in row-major order of the indices";
  let description = [{
    The adjoint of nn.gather: updates has the shape of gather's result; an index out of range is dropped. The result's
    size along `axis` is free. Example:
    `%2 = nn.scatter_add %0, %1 axis 0 : (tensor<4x16xi64>, tensor<4x16x64xf32>) -> tensor<256x64xf32>`
  }];
  let arguments = (ins TensorOf<[I32, I64]>:$indices, NN_Tensor:$updates, I64Attr:$axis);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$indices `,` $updates `axis` $axis attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

#endif
