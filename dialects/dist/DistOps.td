#ifndef SHARDC_DIST_OPS_TD
#define SHARDC_DIST_OPS_TD

include "dialects/dist/DistAttrs.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// Collectives work on whole tensors, and where shards meet they meet along a new leading dimension; which dimension of
// a model's tensor that is, is spelled out by nn.reshape and nn.transpose around the collective. So layouts are the
// business of ordinary ops, and a collective moves contiguous blocks.

class Dist_Op<string mnemonic, list<Trait> traits = []> : Op<Dist_Dialect, mnemonic, traits>;

class Dist_Collective<string mnemonic, list<Trait> traits = []> : Dist_Op<mnemonic, [Pure] # traits> {
  let results = (outs AnyStaticShapeTensor:$result);
  let hasVerifier = 1;
}

def Dist_AllReduceOp : Dist_Collective<"all_reduce", [SameOperandsAndResultType]> {
  let summary = "Combines the values of all ranks along some axes; every rank gets the result";
  let description = [{
    The fixed order of combination is ascending coordinates. `members` restricts a single axis to some coordinates
    (tied parameters on two pipeline stages).

    Example: `%1 = dist.all_reduce %0 axes ["tp"] sum : tensor<4x64xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, StrArrayAttr:$axes, Dist_ReductionKindAttr:$kind,
                       OptionalAttr<DenseI64ArrayAttr>:$members);
  let assemblyFormat = "$input `axes` $axes $kind (`members` $members^)? attr-dict `:` type($result)";
}

def Dist_AllGatherOp : Dist_Collective<"all_gather"> {
  let summary = "Every rank gets the blocks of all ranks along an axis, stacked along a new leading dimension";
  let description = [{
    Example: `%1 = dist.all_gather %0 axis "tp" : tensor<4x32xf32> -> tensor<2x4x32xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, StrAttr:$axis);
  let assemblyFormat = "$input `axis` $axis attr-dict `:` type($input) `->` type($result)";
}

def Dist_ReduceScatterOp : Dist_Collective<"reduce_scatter"> {
  let summary = "Combines the values of all ranks along an axis; rank i gets block i of the leading dimension";
  let description = [{
    Example: `%1 = dist.reduce_scatter %0 axis "tp" sum : tensor<2x4x32xf32> -> tensor<4x32xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, StrAttr:$axis, Dist_ReductionKindAttr:$kind);
  let assemblyFormat = "$input `axis` $axis $kind attr-dict `:` type($input) `->` type($result)";
}

def Dist_AllToAllOp : Dist_Collective<"all_to_all", [SameOperandsAndResultType]> {
  let summary = "Rank i gets block i of the leading dimension of every rank along an axis, in their order";
  let description = [{
    Example: `%1 = dist.all_to_all %0 axis "tp" : tensor<2x4x32xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, StrAttr:$axis);
  let assemblyFormat = "$input `axis` $axis attr-dict `:` type($result)";
}

def Dist_LocalSliceOp : Dist_Collective<"local_slice"> {
  let summary = "Rank i along an axis takes block i of the leading dimension; nothing is communicated";
  let description = [{
    Example: `%1 = dist.local_slice %0 axis "tp" : tensor<2x4x32xf32> -> tensor<4x32xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, StrAttr:$axis);
  let assemblyFormat = "$input `axis` $axis attr-dict `:` type($input) `->` type($result)";
}

def Dist_AxisIndexOp : Dist_Op<"axis_index", [Pure]> {
  let summary = "The coordinate of this rank along an axis, a scalar";
  let description = [{
    Example: `%0 = dist.axis_index "tp" : tensor<i64>`
  }];
  let arguments = (ins StrAttr:$axis);
  let results = (outs 0DTensorOf<[I64]>:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

#endif
