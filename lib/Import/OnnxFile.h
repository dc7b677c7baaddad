//===-- OnnxFile.h - the bytes of a model file --------------------------------------------------------------------===//
//
// Reads a model file and finds where in the file the elements of its tensors lie. Nothing here knows operators.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_LIB_IMPORT_ONNXFILE_H
#define SHARDC_LIB_IMPORT_ONNXFILE_H

#include "Diagnostics.h"
#include "Proto.h"

#include "llvm/ADT/DenseMap.h"

#include <memory>
#include <string>
#include <vector>

namespace shardc::importer {

/// Where the elements of an inline tensor lie in the file: `raw_data`, or packed `float_data` or `double_data`. Bytes
/// is -1 where they are not contiguous (unpacked, in pieces, of a type that is stored as varints).
struct TensorPlace {
  int64_t offset = 0, bytes = -1;
};

struct OnnxFile {
  std::string path;
  int64_t bytes = 0;
  std::unique_ptr<onnx::ModelProto> model;
  /// Of each initializer, by its index in the graph.
  std::vector<TensorPlace> initializers;
  /// Of the tensors in attributes of the graph's nodes, by (node, attribute).
  llvm::DenseMap<std::pair<int64_t, int64_t>, TensorPlace> attributes;
};

/// Reads the file; refuses what is missing, empty, truncated, too large or no ONNX model [file-1 … file-12].
mlir::FailureOr<OnnxFile> readOnnxFile(Diagnostics &diagnostics, mlir::StringRef path);

} // namespace shardc::importer

#endif
