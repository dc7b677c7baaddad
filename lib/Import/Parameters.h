//===-- Parameters.h - which tensors of the file are parameters ---------------------------------------------------===//
//
// An initializer is not a parameter: exporters lift every constant to an initializer, and merge tensors of equal bytes.
// A parameter is a floating tensor that reaches a weight slot:
//
//   matrix    an operand of MatMul or Gemm                table     the data of Gather, or what is added to its result
//   scale     of a norm, or a vector times normalised     bias      of Gemm or a norm, or a vector added to a product
//             values                                                or to scaled values
//
// A tensor in two or more scale or bias slots was merged by the exporter (all γ of an untrained model are equal): each
// use becomes a parameter `name#k`, k counting the uses in node order. A tie of matrices and tables is meant and stays.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_LIB_IMPORT_PARAMETERS_H
#define SHARDC_LIB_IMPORT_PARAMETERS_H

#include "Graph.h"
#include "Tensors.h"

#include "shardc/Import/Import.h"

namespace shardc::importer {

struct Parameter {
  /// The name of its value in the graph: the tensor's, or `tensor#k`.
  std::string name;
  const Tensor *tensor = nullptr;
  bool isTrainable = true;
};

/// Finds the parameters among `tensors` (the file's order) and rewrites the uses of merged tensors in `graph`.
/// [training-69]
mlir::FailureOr<std::vector<Parameter>> findParameters(Diagnostics &diagnostics, const ImportOptions &options,
                                                       const std::vector<Tensor> &tensors, Graph &graph,
                                                       std::vector<std::string> &notes);

} // namespace shardc::importer

#endif
