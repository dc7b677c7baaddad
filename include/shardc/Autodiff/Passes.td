#ifndef SHARDC_AUTODIFF_PASSES_TD
#define SHARDC_AUTODIFF_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerPrecisionPass : Pass<"autodiff-lower-precision", "::mlir::ModuleOp"> {
  let summary = "Puts the casts of mixed precision into @forward";
  let description = [{
    Does nothing unless `precision` of `nn.training` is bf16 or fp16 (the low type; docs/precision.md). Rounds to the low
    type, where they are defined and for all uses, activations (f32 values of rank 1 and more that depend on an input) that
    - a product or a norm reads, directly or through views,
    - a norm, a softmax or a gather makes,
    - are sums of two activations and used more than once (the residual stream),
    and lets products and views of such values compute in the low type. Parameters are cast where a product reads them, views
    being taken of the cast. All other arithmetic stays f32:

        %h = nn.norm layer, %x …                     %h = nn.norm layer, %x …
        %y = nn.dot_general %h, %w …              ⇒ %l = nn.convert %h : tensor<…xf32> -> tensor<…xbf16>
        %z = nn.add %y, %b : tensor<…xf32>           %c = nn.convert %w : tensor<…xf32> -> tensor<…xbf16>
                                                     %p = nn.dot_general %l, %c … -> tensor<…xbf16>
                                                     %y = nn.convert %p : tensor<…xbf16> -> tensor<…xf32>
                                                     %z = nn.add %y, %b : tensor<…xf32>

    Errors: an unknown precision, or fp16 without the settings of the loss scale in `nn.training`.
  }];
  let dependentDialects = ["::shardc::nn::NNDialect"];
}

def WidenGradientsPass : Pass<"autodiff-widen-gradients", "::mlir::ModuleOp"> {
  let summary = "Lets products that are gradients of parameters keep the f32 that they summed";
  let description = [{
    A gradient of @accumulate that is a cast of products of low operands, of views or sums of them, used nowhere else,
    loses the cast; the products' results become f32, so that nothing is rounded before gradients are added up:

        %p = nn.dot_general %x, %g … -> tensor<64x64xbf16>
        %d = nn.convert %p : tensor<64x64xbf16> -> tensor<64x64xf32>
        return …, %d {nn.gradient = "w"}
      ⇒ %d = nn.dot_general %x, %g … : (tensor<…xbf16>, tensor<…xbf16>) -> tensor<64x64xf32>
  }];
}

def BuildGradientsPass : Pass<"autodiff-build-gradients", "::mlir::ModuleOp"> {
  let summary = "Turns @forward into @accumulate: the gradients of the loss by reverse mode";
  let description = [{
    The sum S of the losses is differentiated by every trainable parameter, in one walk from the end to the beginning.
    Its cotangent is 1/W0 (with precision fp16 times `nn.control loss_scale`), with W0 the power of two nearest the
    number of labels of a step (halfway: the larger one), kept as `loss_seed` of `nn.training`; without labels
    samples are counted. The weight W is a constant to the derivative.

        func.func @forward(%x {nn.input = "x"}, %w {nn.parameter = {name = "w", trainable = true, …}})
            -> (tensor<f32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"})
      ⇒ func.func @accumulate(%x …, %w …) -> (…, …, tensor<64x64xf32> {nn.gradient = "w"})

    Cotangents of a value are added in reverse order of its uses, by one `nn.add` each, which belongs to the use that it
    adds (`nn.origin`); those that sum the uses of a parameter are marked `nn.gradient_sum`. Where the cotangents are
    pads that tile the value (it was split), one `nn.concat` stands for their sum. Ops that nothing needs are dropped.
    Forward ops are numbered (`nn.origin`) unless the importer did it.

    Errors: no gradient of an op between a parameter and the loss [training-70], a trainable parameter that does not reach
    the loss [training-71] or none that does [training-68], a statistic of a norm or a loss used on the way [training-73], none
    trainable [training-69], a loss that is no float scalar [training-67].
  }];
}

def BuildUpdatePass : Pass<"autodiff-build-update", "::mlir::ModuleOp"> {
  let summary = "Adds @update: the optimizer's arithmetic on whole parameters";
  let description = [{
    For each trainable parameter of @accumulate, with g = gradient · scale:
    - `sgd`: g ← g + weight_decay · p where the parameter decays; buf ← momentum · buf + g; p ← p − η · buf. Without
      momentum there is no state, and g takes buf's place.
    - `adamw`: p ← p (1 − η · weight_decay) where it decays; m ← m + (1 − β₁)(g − m); v ← β₂ v + (1 − β₂) g²;
      p ← p − η/(1 − β₁ᵗ) · m / (√v / √(1 − β₂ᵗ) + ε). The powers βᵗ are f64 scalars among the states.
    This is PyTorch's arithmetic. η is `nn.control learning_rate`. Where skip is true every result is its argument.

        func.func @update(parameters…, gradients…, states…, %scale: tensor<f32>, %skip: tensor<i1>)
            -> (parameters…, states…)

    With precision fp16 the f32 scalars `next_loss_scale` and `good_steps` are states, too, and %overflow:
    tensor<i1> {nn.scalar = "overflow"} the last argument: where it is true the scale shrinks, where a step is taken it
    counts as a good one, and after enough of them the scale grows.

    Errors: an optimizer or a setting that `nn.training` lacks or that is unknown.
  }];
}

#endif
