//===-- Strides.h - views as strided memrefs ----------------------------------------------------------------------===//
//
// A view of a buffer is a memref type with a static strided layout whose offset and strides count elements from the
// start of the buffer's slot. Types are kept in one form, so that equal views have equal types: the stride of a
// dimension of size 1 is what it would be in a dense tensor, and a dense view at offset 0 has the identity layout.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_LIB_CODEGEN_LOWER_STRIDES_H
#define SHARDC_LIB_CODEGEN_LOWER_STRIDES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace shardc::codegen {

/// The memref type in the form described above.
mlir::MemRefType getViewType(mlir::ArrayRef<int64_t> shape, mlir::Type elementType, int64_t offset,
                             mlir::ArrayRef<int64_t> strides);
/// A dense tensor at offset 0.
mlir::MemRefType getDenseType(mlir::RankedTensorType type);
/// The same shape and strides at offset 0.
mlir::MemRefType dropOffset(mlir::MemRefType view);
/// Whether the elements lie row-major without gaps, at any offset.
bool isDense(mlir::MemRefType view);

mlir::MemRefType transposeView(mlir::MemRefType view, mlir::ArrayRef<int64_t> permutation);
mlir::MemRefType sliceView(mlir::MemRefType view, mlir::ArrayRef<int64_t> starts, mlir::ArrayRef<int64_t> sizes,
                           mlir::ArrayRef<int64_t> steps);
/// Null where strides cannot express the shape.
mlir::MemRefType reshapeView(mlir::MemRefType view, mlir::ArrayRef<int64_t> shape);

/// How the result of a view op (transpose, reshape, slice) looks where its operand looks like `source`; null where
/// strides cannot express it.
mlir::MemRefType applyView(mlir::Operation *op, mlir::MemRefType source);
/// How the operand of a view op must look for its result to look like `result`; null where there is no such view (a
/// slice has none).
mlir::MemRefType invertView(mlir::Operation *op, mlir::MemRefType result);

} // namespace shardc::codegen

#endif
