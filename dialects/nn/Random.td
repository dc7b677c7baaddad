#ifndef SHARDC_NN_RANDOM_TD
#define SHARDC_NN_RANDOM_TD

include "dialects/nn/NNBase.td"

def NN_RngUniformOp : NN_Op<"rng_uniform", [], ["partition"], ["getFlops"]> {
  let summary = "Uniform numbers in [0, 1) that depend on seed, step, `id` and the element's index in the whole step";
  let description = [{
    Philox4x32-10 (Salmon et al. 2011), key = seed, counter = (element index (64 bit), step, id); the element index is
    base + Σ iᵈ · strides[d], over the whole step's batch: neither the layout nor the micro-batch enters. One draw an
    element: the first word w of the block gives (w >> 8) · 2⁻²⁴.
    Example: `%1 = nn.rng_uniform %base id 7 strides [1024, 64, 1] : tensor<i64> -> tensor<4x16x64xf32>`
  }];
  let arguments = (ins 0DTensorOf<[I64]>:$base, I64Attr:$id, DenseI64ArrayAttr:$strides);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$base `id` $id `strides` $strides attr-dict `:` type($base) `->` type($result)";
  let hasVerifier = 1;
}

def NN_ControlField : I32EnumAttr<"ControlField", "a field of the control block (shardrt/control.h)", [
    I32EnumAttrCase<"Seed", 0, "seed">, I32EnumAttrCase<"Step", 1, "step">,
    I32EnumAttrCase<"SampleOffset", 2, "sample_offset">, I32EnumAttrCase<"LearningRate", 3, "learning_rate">,
    I32EnumAttrCase<"LossScale", 4, "loss_scale">]> {
  let cppNamespace = "::shardc::nn";
  let genSpecializedAttr = 0;
}
def NN_ControlFieldAttr : EnumAttr<NN_Dialect, NN_ControlField, "field">;

def NN_ControlOp : NN_Op<"control", [NN_Fusible]> {
  let summary = "A scalar that varies by step or micro-batch: i64, or f32 for learning_rate and loss_scale";
  let description = "Example: `%0 = nn.control sample_offset : tensor<i64>`";
  let arguments = (ins NN_ControlFieldAttr:$field);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$field attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif
