#ifndef SHARDC_NN_REDUCTION_TD
#define SHARDC_NN_REDUCTION_TD

include "dialects/nn/NNBase.td"

def NN_ReduceKind : I32EnumAttr<"ReduceKind", "how elements combine", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Min", 2, "min">,
    I32EnumAttrCase<"Prod", 3, "prod">]> {
  let cppNamespace = "::shardc::nn";
  let genSpecializedAttr = 0;
}
def NN_ReduceKindAttr : EnumAttr<NN_Dialect, NN_ReduceKind, "reduce_kind">;

def NN_ReduceOp : NN_Op<"reduce", [NN_Infer, NN_Differentiable, NN_Fusible], ["getFactors", "getLinearOperands"]> {
  let summary = "Combines elements along dimensions, which disappear";
  let description = "Example: `%1 = nn.reduce sum, %0 dims [1] : tensor<4x64xf32> -> tensor<4xf32>`";
  let arguments = (ins NN_ReduceKindAttr:$kind, NN_Tensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$kind `,` $input `dims` $dims attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def NN_BlockSumSquaresOp : NN_Op<"block_sum_squares", [NN_Infer], ["getFactors"]> {
  let summary = "Σx² in f64 of each block of consecutive elements; the last block may be short";
  let description = [{
    The order of the additions is fixed by the block alone, so that the global norm does not depend on the layout.
    Example: `%1 = nn.block_sum_squares %0 block 4096 : tensor<100x64xf32> -> tensor<2xf64>`
  }];
  let arguments = (ins NN_Tensor:$input, I64Attr:$block);
  let results = (outs 1DTensorOf<[F64]>:$result);
  let assemblyFormat = "$input `block` $block attr-dict `:` type($input) `->` type($result)";
}

#endif
