#ifndef SHARDC_NN_SHAPE_TD
#define SHARDC_NN_SHAPE_TD

include "dialects/nn/NNBase.td"

def NN_ConstantOp : NN_Op<"constant", [ConstantLike, AllTypesMatch<["value", "result"]>, NN_Fusible], ["partition"]> {
  let summary = "A constant tensor";
  let description = "Example: `%0 = nn.constant dense<0.0> : tensor<4xf32>`";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$value attr-dict";
  let hasFolder = 1;
}

def NN_IotaOp : NN_Op<"iota", [NN_Fusible], ["partition"]> {
  let summary = "The index along one dimension";
  let description = "Example: `%0 = nn.iota dim 1 : tensor<4x64xi64>`";
  let arguments = (ins I64Attr:$dimension);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "`dim` $dimension attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def NN_BroadcastInDimOp : NN_Op<"broadcast_in_dim", [NN_Differentiable, NN_Fusible], ["getFactors", "getLinearOperands"]> {
  let summary = "Repeats a tensor; operand dimension i becomes result dimension dims[i]";
  let description = [{
    An operand dimension equals the result's or is 1. Example:
    `%1 = nn.broadcast_in_dim %0 dims [1] : tensor<64xf32> -> tensor<4x64xf32>`
  }];
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input `dims` $dims attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def NN_ReshapeOp : NN_Op<"reshape", [NN_Differentiable], ["getFactors", "getLinearOperands"]> {
  let summary = "The same elements, row-major, in another shape";
  let description = "Example: `%1 = nn.reshape %0 : tensor<4x64xf32> -> tensor<4x4x16xf32>`";
  let arguments = (ins NN_Tensor:$input);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_TransposeOp : NN_Op<"transpose", [NN_Infer, NN_Differentiable], ["getFactors", "getLinearOperands"]> {
  let summary = "Permutes dimensions: result dimension i is operand dimension permutation[i]";
  let description = "Example: `%1 = nn.transpose %0 perm [1, 0] : tensor<4x64xf32> -> tensor<64x4xf32>`";
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input `perm` $permutation attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_SliceOp : NN_Op<"slice", [NN_Infer, NN_Differentiable], ["getFactors", "getLinearOperands", "partition"]> {
  let summary = "Elements starts, starts + strides, … below limits, in each dimension";
  let description = [{
    Example: `%1 = nn.slice %0 [0, 64] to [4, 128] by [1, 1] : tensor<4x192xf32> -> tensor<4x64xf32>`
  }];
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$limits,
                       DenseI64ArrayAttr:$strides);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input $starts `to` $limits `by` $strides attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_PadOp : NN_Op<"pad", [NN_Infer, NN_Differentiable], ["getFactors", "getLinearOperands", "partition"]> {
  let summary = "Adds elements of one value below, above and between those of each dimension";
  let description = [{
    `low` and `high` are not negative. Example:
    `%1 = nn.pad %0 low [0, 64] high [0, 64] interior [0, 0] value 0.0 : f32 : tensor<4x64xf32> -> tensor<4x192xf32>`
  }];
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$interior,
                       TypedAttrInterface:$value);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $input `low` $low `high` $high `interior` $interior `value` $value attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_ConcatOp : NN_Op<"concat", [NN_Infer, NN_Differentiable], ["getFactors", "getLinearOperands"]> {
  let summary = "Tensors after one another along a dimension";
  let description = [{
    Example: `%2 = nn.concat %0, %1 dim 1 : (tensor<4x64xf32>, tensor<4x32xf32>) -> tensor<4x96xf32>`
  }];
  let arguments = (ins Variadic<NN_Tensor>:$inputs, I64Attr:$dimension);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$inputs `dim` $dimension attr-dict `:` functional-type($inputs, $result)";
  let hasVerifier = 1;
}

#endif
