//===-- Collectives.cpp - the ops of dist -------------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace shardc::dist;

#define GET_OP_CLASSES
#include "dialects/dist/DistOps.cpp.inc"

namespace {

/// The size of `axis` in the mesh around `op`, or an error where the module has a mesh without it.
FailureOr<int64_t> lookUpAxis(Operation *op, StringRef axis) {
  MeshAttr mesh = MeshAttr::of(op);
  if (!mesh)
    return op->emitOpError("stands in a module without '") << kMeshAttr << "'";
  if (mesh.getIndex(axis) < 0)
    return op->emitOpError("names axis '") << axis << "', which the mesh does not have";
  return mesh.getSize(axis);
}

/// Checks that `stacked` is `block` with a leading dimension of the size of `axis`.
LogicalResult verifyStacked(Operation *op, StringRef axis, Type block, Type stacked) {
  FailureOr<int64_t> size = lookUpAxis(op, axis);
  if (failed(size))
    return failure();
  auto blockType = cast<RankedTensorType>(block);
  SmallVector<int64_t> shape{*size};
  llvm::append_range(shape, blockType.getShape());
  auto expected = RankedTensorType::get(shape, blockType.getElementType());
  if (stacked != expected)
    return op->emitOpError("stacks ") << block << " along '" << axis << "' of size " << *size << ": expected "
                                      << expected << ", got " << stacked;
  return success();
}

} // namespace

LogicalResult AllReduceOp::verify() {
  for (StringRef axis : getAxes().getAsValueRange<StringAttr>())
    if (failed(lookUpAxis(*this, axis)))
      return failure();
  if (getMembers() && getAxes().size() != 1)
    return emitOpError("has members, which need a single axis, but ") << getAxes().size() << " axes";
  return success();
}

LogicalResult AllGatherOp::verify() { return verifyStacked(*this, getAxis(), getInput().getType(), getType()); }

LogicalResult ReduceScatterOp::verify() { return verifyStacked(*this, getAxis(), getType(), getInput().getType()); }

LogicalResult LocalSliceOp::verify() { return verifyStacked(*this, getAxis(), getType(), getInput().getType()); }

LogicalResult AllToAllOp::verify() {
  FailureOr<int64_t> size = lookUpAxis(*this, getAxis());
  if (failed(size))
    return failure();
  auto type = cast<RankedTensorType>(getType());
  if (type.getRank() == 0 || type.getDimSize(0) != *size)
    return emitOpError("needs a leading dimension of ") << *size << ", got " << type;
  return success();
}
