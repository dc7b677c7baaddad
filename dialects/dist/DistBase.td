#ifndef SHARDC_DIST_BASE_TD
#define SHARDC_DIST_BASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Dist_Dialect : Dialect {
  let name = "dist";
  let cppNamespace = "::shardc::dist";
  let summary = "Meshes, shardings and collectives";
  let description = [{
    Where values live. A *mesh* names the axes of ranks, outermost first. A *sharding* says for one tensor which mesh
    axes split which sub-dimensions of it, and over which axes it is still *partial*: a summand (or a candidate for the
    maximum) that a collective has yet to combine.

    Before partitioning, shardings annotate global tensors; after it, tensors have local shapes, the annotations stay,
    and the collectives below move data. Two discardable attributes carry shardings: `dist.shardings`, an array with one
    sharding a result, on every op, and `dist.sharding` on the arguments and results of functions.
  }];
  let useDefaultAttributePrinterParser = 1;
}

#endif
