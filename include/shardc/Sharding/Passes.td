#ifndef SHARDC_SHARDING_PASSES_TD
#define SHARDC_SHARDING_PASSES_TD

include "mlir/Pass/PassBase.td"

def PadVocabulariesPass : Pass<"sharding-pad-vocabularies", "::mlir::ModuleOp"> {
  let summary = "Rounds vocabularies up to a multiple of tp";
  let description = [{
    Where the rows of a table that the model's input looks up do not divide over tp, they are padded, with everything
    that has the dimension: gradients, states, logits and the classes of the loss. The parameter keeps its
    `logical_shape` in `nn.parameter`; its padding is zero when training starts, and stays so because products and sums
    over the dimension read zeros there: what is not a parameter is masked before them. `nn.cross_entropy` gets
    `classes`. Nothing is padded if an op along the dimension could not do with zeros (a softmax, a slice).

        %t: tensor<257x64xf32> {nn.parameter = {name = "wte"}}
      ⇒ %t: tensor<258x64xf32> {nn.parameter = {name = "wte", logical_shape = array<i64: 257, 64>}}
  }];
  let dependentDialects = ["::shardc::dist::DistDialect", "::shardc::nn::NNDialect"];
}

def AnnotatePass : Pass<"sharding-annotate", "::mlir::ModuleOp"> {
  let summary = "Decides where every value of the training step lives";
  let description = [{
    Takes `@accumulate` and `@update` with global types and a `dist.mesh`, and leaves the same functions with a
    `dist.shardings` on every op, a `dist.sharding` on every argument and result, and `dist.operand_shardings` where an
    op takes an operand elsewhere than its producer leaves it. Axes of size 1 are not mentioned.

    Over dp, dimension 0 of every input is split, and all that follows from it; sums over it are partial and stay so
    through linear ops. An op that couples samples is refused. Over tp, every product with a parameter splits one of the
    parameter's own sub-dimensions, and all else is what costs least on `hardware`, exactly (docs/sharding.md). What is
    split and what stays replicated is added to `nn.notes`.

    Makers of one number (constants, broadcast scalars) get a copy for each use first, so that equal numbers do not tie
    unrelated values together.

        %0 = nn.dot_general %x, %w …  ⇒  %0 = nn.dot_general %x, %w … {dist.shardings =
                                              [#dist.sharding<[<[<8 : ["dp"]>]>, <[<64 : ["tp"]>]>]>]}
  }];
  let options = [
    Option<"hardware", "hardware", "std::string", "\"cpu\"", "row of the built-in hardware table that costs are for">,
  ];
  let dependentDialects = ["::shardc::dist::DistDialect", "::shardc::nn::NNDialect"];
}

def PartitionPass : Pass<"sharding-partition", "::mlir::ModuleOp"> {
  let summary = "Makes types local and inserts collectives";
  let description = [{
    Takes functions annotated by sharding-annotate and leaves what one rank runs: local types, each op in its local form,
    and between producers and consumers whose shardings differ the collectives of dist, with nn.reshape and nn.transpose
    spelling where blocks lie. `dist.shardings` stays on every op and describes the global value. Partial results are
    combined right after their producer and have its origin; slices and gathers stand before their first consumer and
    have its origin. A value is resharded to one place only once.

        %0 = nn.dot_general %x, %w … : … -> tensor<8x64xf32>   (partial over tp, used whole)
      ⇒ %0 = nn.dot_general %x, %w … : … -> tensor<4x64xf32>
        %1 = dist.all_reduce %0 axes ["tp"] sum : tensor<4x64xf32>
  }];
  let dependentDialects = ["::shardc::dist::DistDialect", "::shardc::nn::NNDialect"];
}

#endif
