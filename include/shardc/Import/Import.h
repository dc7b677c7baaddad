//===-- Import.h - ONNX to the nn dialect -------------------------------------------------------------------------===//
//
// Reads an ONNX file (opset 9 to 23) and builds one function @forward of nn ops, as docs/phases.md describes: inputs,
// then parameters as arguments; numerator and denominator of the mean loss as results. Weights are referred to by file,
// offset and size, never loaded. A fault of the file or of the options is a diagnostic with a label of docs/errors.md,
// at a location named after the node.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_IMPORT_IMPORT_H
#define SHARDC_IMPORT_IMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace shardc::importer {

struct ImportOptions {
  /// Sizes of named dimensions of the file (`--dim seq=128`).
  std::vector<std::pair<std::string, int64_t>> dims;
  /// Whole shapes of inputs (`--shape input_ids=8x128`).
  std::vector<std::pair<std::string, std::vector<int64_t>>> shapes;
  /// Empty: the loss is in the graph. "cross_entropy": the model's output is logits [batch, …, classes], an input
  /// `labels` [batch, …] is added. "output:NAME": that output is the loss.
  std::string loss;
  /// The ratio of every Dropout in training mode; negative: the graph's own.
  double dropout = -1;
  /// Globs over names of initializers.
  std::vector<std::string> trainable, freeze, tie, untie;
  /// The folder that external data may lie under; empty: the model's.
  std::string externalDataRoot;
  /// Samples a micro-batch and replica, and number of replicas: the batch dimension of the graph is their product.
  int64_t microBatch = 1, dataParallel = 1;
};

/// Imports the model at `path`. Failure has been reported as diagnostics of the context.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> importOnnx(mlir::MLIRContext *context, mlir::StringRef path,
                                                              const ImportOptions &options);

} // namespace shardc::importer

#endif
