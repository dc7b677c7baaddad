#ifndef SHARDC_DIST_ATTRS_TD
#define SHARDC_DIST_ATTRS_TD

include "dialects/dist/DistBase.td"

class Dist_Attr<string name, string attrMnemonic> : AttrDef<Dist_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Dist_ReductionKind : I32EnumAttr<"ReductionKind", "how a collective combines values", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">]> {
  let cppNamespace = "::shardc::dist";
  let genSpecializedAttr = 0;
}
def Dist_ReductionKindAttr : EnumAttr<Dist_Dialect, Dist_ReductionKind, "reduction">;

def Dist_AxisAttr : Dist_Attr<"Axis", "axis"> {
  let summary = "A named mesh axis and the number of ranks along it";
  let parameters = (ins StringRefParameter<>:$name, "int64_t":$size);
  let assemblyFormat = "`<` $name `=` $size `>`";
}

def Dist_MeshAttr : Dist_Attr<"Mesh", "mesh"> {
  let summary = "The axes of ranks, outermost first";
  let description = [{
    Example: `#dist.mesh<[<"dp" = 2>, <"pp" = 2>, <"tp" = 2>]>`. It stands on the module as `dist.mesh`.
  }];
  let parameters = (ins ArrayRefParameter<"AxisAttr">:$axes);
  let assemblyFormat = "`<` `[` $axes `]` `>`";
  let extraClassDeclaration = [{
    /// The number of ranks along `axis`; 1 where the mesh has no such axis.
    int64_t getSize(::llvm::StringRef axis) const;
    /// The position of `axis` in the mesh, or -1.
    int getIndex(::llvm::StringRef axis) const;
    /// The number of ranks.
    int64_t getNumRanks() const;
    /// The mesh of the module around `op`; null where there is none.
    static MeshAttr of(::mlir::Operation *op);
  }];
}

def Dist_SubDimAttr : Dist_Attr<"SubDim", "sub"> {
  let summary = "A sub-dimension: its global size and the mesh axes that split it, outermost first";
  let parameters = (ins "int64_t":$size, OptionalArrayRefParameter<"::mlir::StringAttr">:$axes);
  let assemblyFormat = "`<` $size (`:` `[` $axes^ `]`)? `>`";
}

def Dist_DimAttr : Dist_Attr<"Dim", "dim"> {
  let summary = "A dimension as its sub-dimensions, outermost first";
  let parameters = (ins ArrayRefParameter<"SubDimAttr">:$subDims);
  let assemblyFormat = "`<` `[` $subDims `]` `>`";
}

def Dist_PartialAttr : Dist_Attr<"Partial", "partial"> {
  let summary = "An axis over which a value is yet to be combined, and how";
  let parameters = (ins "::mlir::StringAttr":$axis, EnumParameter<Dist_ReductionKind>:$kind);
  let assemblyFormat = "`<` $axis `,` $kind `>`";
}

def Dist_ShardingAttr : Dist_Attr<"Sharding", "sharding"> {
  let summary = "Where the elements of a tensor live";
  let description = [{
    Each dimension is an ordered list of sub-dimensions (a fused QKV of 768 is 3 · 4 · 64); mesh axes attach to
    sub-dimensions, so a shard is a strided index set, and the local tensor keeps the order of the sub-dimensions.
    Sizes are global. `partial` lists the axes over which the value is not yet combined.

    Example: `#dist.sharding<[<[<8 : ["dp"]>]>, <[<3>, <4 : ["tp"]>, <64>]>]>`,
    `#dist.sharding<[<[<64>]>] partial [<"tp", sum>]>`, and `#dist.sharding<[]>` for a scalar.
  }];
  let parameters = (ins ArrayRefParameter<"DimAttr">:$dims, OptionalArrayRefParameter<"PartialAttr">:$partial);
  let assemblyFormat = "`<` custom<DimList>($dims) (`partial` `[` $partial^ `]`)? `>`";
  let extraClassDeclaration = [{
    /// Replicated on every axis: one sub-dimension a dimension, nothing partial.
    static ShardingAttr getReplicated(::mlir::MLIRContext *context, ::llvm::ArrayRef<int64_t> shape);
    /// The local shape on `mesh`. Every split sub-dimension must divide by the axes on it.
    ::llvm::SmallVector<int64_t> getLocalShape(MeshAttr mesh) const;
    /// Whether any sub-dimension is split over `axis`.
    bool isSplitOver(::llvm::StringRef axis) const;
    /// The kind in which the value is partial over `axis`, if it is.
    std::optional<ReductionKind> getPartial(::llvm::StringRef axis) const;
    /// The same without `axis` among the partial ones.
    ShardingAttr withoutPartial(::llvm::StringRef axis) const;
  }];
}

#endif
