#ifndef SHARDC_NN_NORMALIZATION_TD
#define SHARDC_NN_NORMALIZATION_TD

include "dialects/nn/NNBase.td"

def NN_SoftmaxOp : NN_Op<"softmax", [SameOperandsAndResultType, NN_Differentiable], ["getFactors", "getCombinedElements", "partition"], ["getFlops"]> {
  let summary = "e^(x − max) / Σ e^(x − max) along one dimension";
  let description = "Example: `%1 = nn.softmax %0 axis 3 : tensor<4x4x16x16xf32>`";
  let arguments = (ins NN_Tensor:$input, I64Attr:$axis);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input `axis` $axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def NN_NormKind : I32EnumAttr<"NormKind", "which statistics a norm uses", [
    I32EnumAttrCase<"Layer", 0, "layer">, I32EnumAttrCase<"RMS", 1, "rms">]> {
  let cppNamespace = "::shardc::nn";
  let genSpecializedAttr = 0;
}
def NN_NormKindAttr : EnumAttr<NN_Dialect, NN_NormKind, "norm_kind">;

def NN_NormOp : NN_Op<"norm", [NN_PartlyDifferentiable, AttrSizedOperandSegments, AllTypesMatch<["input", "result"]>,
                               AllTypesMatch<["mean", "rstd"]>], ["getFactors"], ["getFlops"]> {
  let summary = "Layer or RMS normalisation over the trailing dimensions from `axis` on";
  let description = [{
    result = (x − mean) · rstd · scale + bias with rstd = 1/√(var + epsilon), population variance; rms: mean is 0 and
    var the mean square. scale and bias have the shape of the normalised dimensions; mean and rstd have the others.
    Only `result` is differentiable. Example:
    `%y, %m, %r = nn.norm layer, %x scale %g bias %b axis 2 epsilon 1.0e-05 : tensor<4x16x64xf32>, tensor<4x16xf32> scale tensor<64xf32> bias tensor<64xf32>`
  }];
  let arguments = (ins NN_NormKindAttr:$kind, NN_Tensor:$input, Optional<NN_Tensor>:$scale, Optional<NN_Tensor>:$bias,
                       I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs NN_Tensor:$result, NN_Tensor:$mean, NN_Tensor:$rstd);
  let assemblyFormat = [{
    $kind `,` $input (`scale` $scale^)? (`bias` $bias^)? `axis` $axis `epsilon` $epsilon attr-dict
    `:` type($input) `,` type($mean) (`scale` type($scale)^)? (`bias` type($bias)^)?
  }];
  let hasVerifier = 1;
}

#endif
