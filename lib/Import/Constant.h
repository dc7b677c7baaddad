//===-- Constant.h - tensors whose elements are known at import ---------------------------------------------------===//
#ifndef SHARDC_LIB_IMPORT_CONSTANT_H
#define SHARDC_LIB_IMPORT_CONSTANT_H

#include "Proto.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace shardc::importer {

/// A tensor by value, row-major. Elements of floating types are held as doubles (each representable in the type), all
/// others as integers (booleans: 0 and 1).
struct Constant {
  int32_t type = onnx::TensorProto::FLOAT;
  llvm::SmallVector<int64_t> shape;
  std::vector<double> floats;
  std::vector<int64_t> ints;

  static Constant makeFloats(int32_t type, llvm::ArrayRef<int64_t> shape, std::vector<double> values);
  static Constant makeInts(int32_t type, llvm::ArrayRef<int64_t> shape, std::vector<int64_t> values);
  /// A tensor of zeros.
  static Constant make(int32_t type, llvm::ArrayRef<int64_t> shape);

  bool isFloat() const;
  int64_t getNumElements() const;
  double getFloat(int64_t index) const { return isFloat() ? floats[index] : static_cast<double>(ints[index]); }
  int64_t getInt(int64_t index) const { return isFloat() ? static_cast<int64_t>(floats[index]) : ints[index]; }
  /// Copies element `from` of a tensor of the same type.
  void setFrom(int64_t index, const Constant &other, int64_t from);
  /// Sets an element, rounded or wrapped to the type.
  void setFloat(int64_t index, double value);
  void setInt(int64_t index, int64_t value);

  mlir::DenseElementsAttr getAttr(mlir::MLIRContext *context) const;
};

/// The element type of the nn dialect; null for types that it does not have.
mlir::Type getElementType(mlir::MLIRContext *context, int32_t type);
/// The inverse of getElementType.
int32_t getOnnxType(mlir::Type type);
bool isFloatType(int32_t type);
/// Bytes of an element in `raw_data`; nothing for types that are not whole bytes or unknown.
std::optional<int64_t> getElementBytes(int32_t type);
/// The number of elements of a shape; nothing if it overflows or a dimension is negative.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape);
/// "8x128", or "scalar".
std::string formatShape(llvm::ArrayRef<int64_t> shape);
/// Row-major strides; `broadcast` dimensions (size 1 where `to` has more) have stride 0. `from` is aligned to the
/// right.
llvm::SmallVector<int64_t> getBroadcastStrides(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to);
/// The common shape of two tensors under NumPy's rules, or nothing.
std::optional<llvm::SmallVector<int64_t>> broadcastShapes(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);

/// The elements of little-endian bytes. The number of bytes has been checked.
Constant decodeBytes(int32_t type, llvm::ArrayRef<int64_t> shape, llvm::StringRef bytes);

} // namespace shardc::importer

#endif
