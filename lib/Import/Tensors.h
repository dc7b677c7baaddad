//===-- Tensors.h - tensors of the file: checked, located, read ---------------------------------------------------===//
#ifndef SHARDC_LIB_IMPORT_TENSORS_H
#define SHARDC_LIB_IMPORT_TENSORS_H

#include "Constant.h"
#include "OnnxFile.h"

namespace shardc::importer {

/// Opens external data by name below one folder: no absolute paths, no "..", no symbolic links, regular files only.
class ExternalData {
public:
  ExternalData(Diagnostics &diagnostics, std::string root) : diagnostics(diagnostics), root(std::move(root)) {}
  ~ExternalData();
  ExternalData(const ExternalData &) = delete;
  ExternalData &operator=(const ExternalData &) = delete;

  struct File {
    std::string path;
    int descriptor = -1;
    int64_t bytes = 0;
    /// SHA-1 of the file in hexadecimal, once it was asked for.
    std::string digest;
  };
  /// The file at `location`, opened once; failure has been reported for `tensor`.
  mlir::FailureOr<const File *> open(mlir::StringRef location, mlir::StringRef tensor);
  /// Compares the SHA-1 of the file at `location`, which has been opened, with what the tensor says.
  mlir::LogicalResult checkDigest(mlir::StringRef location, mlir::StringRef expected, mlir::StringRef tensor);

private:
  Diagnostics &diagnostics;
  std::string root;
  std::vector<std::pair<std::string, std::unique_ptr<File>>> files;
};

/// A tensor of the file after its checks.
struct Tensor {
  std::string name;
  int32_t type = 0;
  llvm::SmallVector<int64_t> shape;
  const onnx::TensorProto *proto = nullptr;
  /// The file that holds its bytes, and where. `place.bytes` is -1 where the elements do not lie in one piece.
  std::string path;
  TensorPlace place;
  const ExternalData::File *external = nullptr;

  int64_t getNumElements() const { return countElements(shape).value_or(0); }
};

/// Checks a tensor of the file [tensor-32 … tensor-43, external-44 … external-51] and finds its bytes. `name` is for
/// messages where the tensor has no name of its own.
mlir::FailureOr<Tensor> checkTensor(Diagnostics &diagnostics, ExternalData &externalData, const OnnxFile &file,
                                    const onnx::TensorProto &proto, TensorPlace place, mlir::StringRef name);

/// The elements of a checked tensor.
mlir::FailureOr<Constant> readTensor(Diagnostics &diagnostics, const Tensor &tensor);

} // namespace shardc::importer

#endif
