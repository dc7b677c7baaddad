#ifndef SHARDC_NN_LOSS_TD
#define SHARDC_NN_LOSS_TD

include "dialects/nn/NNBase.td"

def NN_CrossEntropyOp : NN_Op<"cross_entropy", [NN_PartlyDifferentiable, AllTypesMatch<["loss", "lse"]>], ["getFactors", "getCombinedElements", "partition"], ["getFlops"]> {
  let summary = "−log softmax(logits)[label] of each row; classes are the last dimension";
  let description = [{
    Rows whose label is `ignore_index` have loss 0 and cotangent 0. lse is log Σ e^logits. `classes` is the logical
    number of classes where the last dimension is padded: reductions leave the padding out. Only `loss` is
    differentiable. Example:
    `%l, %s = nn.cross_entropy %0, %1 ignore -100 : tensor<4x16x256xf32>, tensor<4x16xi64> -> tensor<4x16xf32>`
  }];
  let arguments = (ins NN_Tensor:$logits, TensorOf<[I32, I64]>:$labels, I64Attr:$ignore_index,
                       OptionalAttr<I64Attr>:$classes);
  let results = (outs NN_Tensor:$loss, NN_Tensor:$lse);
  let assemblyFormat = [{
    $logits `,` $labels `ignore` $ignore_index (`classes` $classes^)? attr-dict
    `:` type($logits) `,` type($labels) `->` type($loss)
  }];
  let hasVerifier = 1;
}

#endif
