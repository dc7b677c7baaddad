//===-- Layers.h - the repeated structure of a model --------------------------------------------------------------===//
#ifndef SHARDC_LIB_PIPELINE_LAYERS_H
#define SHARDC_LIB_PIPELINE_LAYERS_H

#include "StageGraph.h"

namespace shardc::pipeline {

/// The inputs of a model's layers, and the output of the last one.
///
/// An *articulation value* is the only value that depends on a parameter and crosses some point of the forward ops in
/// program order: the residual stream between blocks. What lies between two neighbours of them is a segment; segments
/// are equal when their ops, attributes, types and wiring are. The layers are the run of equal sequences of segments
/// that covers the most ops, with the shortest sequence, the earliest. Where nothing repeats, all articulation values
/// are returned.
llvm::SmallVector<mlir::Value> findLayerInputs(mlir::func::FuncOp accumulate);

} // namespace shardc::pipeline

#endif
