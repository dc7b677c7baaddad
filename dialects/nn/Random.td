#ifndef SHARDC_NN_RANDOM_TD
#define SHARDC_NN_RANDOM_TD

include "dialects/nn/NNBase.td"

def NN_RngUniformOp : NN_Op<"rng_uniform", [], ["partition"], ["getFlops"]> {
  let summary = "Uniform numbers in [0, 1) that depend on seed, step, `id` and the element's index in the whole step";
  let description = [{
    Philox4x32-10 (Salmon et al. 2011). The element index is base + Σ iᵈ · strides[d], over the whole step's batch:
    neither the layout nor the micro-batch enters. Words of 32 bits, in the paper's order:

        counter = (low word of the element index, its high word, low word of the step, id)
        key     = (low word of the seed, its high word)

    One block an element: its first word w gives (w >> 8) · 2⁻²⁴. A round multiplies counter words 0 and 2 by
    0xD2511F53 and 0xCD9E8D57 and makes (hi(p₂) ^ c₁ ^ k₀, lo(p₂), hi(p₀) ^ c₃ ^ k₁, lo(p₀)); after each of the ten
    rounds the key grows by (0x9E3779B9, 0xBB67AE85). Known answer: counter and key 0 give 0x6627E8D5 first.
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
