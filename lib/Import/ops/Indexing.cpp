//===-- Indexing.cpp - Gather -------------------------------------------------------------------------------------===//

#include "../OpTable.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::importer;
using onnx::TensorProto;

namespace {

/// Adds the bound to negative constant indices; a failure (reported) where one is out of range.
FailureOr<Operand> normalizeIndices(NodeBuilder &builder, const Operand &indices, int64_t bound) {
  Constant normalized = indices.getConstant();
  for (int64_t &index : normalized.ints) {
    if (index < -bound || index >= bound)
      return builder.fail("shape-61",
                          Twine("index ") + Twine(index) + " is not in [" + Twine(-bound) + ", " + Twine(bound) + ")");
    index = index < 0 ? index + bound : index;
  }
  return Operand(std::move(normalized));
}

/// Constant indices that ascend by one are a slice, without a table lookup or its scatter.
std::optional<Operand> gatherAsSlice(NodeBuilder &builder, const Operand &input, const Constant &indices,
                                     int64_t axis) {
  if (indices.ints.empty())
    return std::nullopt;
  int64_t first = indices.ints.front(), next = first;
  for (int64_t index : indices.ints)
    if (index != next++)
      return std::nullopt;
  Shape starts(input.getRank(), 0), limits(input.getShape()), strides(input.getRank(), 1);
  starts[axis] = first;
  limits[axis] = next;
  Shape shape(input.getShape().take_front(axis));
  llvm::append_range(shape, indices.shape);
  llvm::append_range(shape, input.getShape().drop_front(axis + 1));
  return builder.reshape(builder.slice(input, starts, limits, strides), shape);
}

/// Run-time indices are taken to lie in [0, size): the data loader checks them.
LogicalResult buildGather(NodeBuilder &builder) {
  Operand input = builder.getInput(0), indices = builder.getInput(1);
  FailureOr<int64_t> axis = builder.normalizeAxis(builder.getInt("axis", 0), input.getRank());
  if (failed(axis))
    return failure();
  if (indices.getType() != TensorProto::INT64 && indices.getType() != TensorProto::INT32)
    return builder.fail("shape-55", Twine("its indices are ") + getTypeName(indices.getType()) + ", expected integers");
  int64_t bound = input.getShape()[*axis];
  if (!indices.isConstant()) {
    builder.getState().indexUses.push_back({indices.getValue(), bound, /*isLabel=*/false, std::nullopt, Value()});
    return builder.setResult(0, builder.gather(input, indices, *axis));
  }
  FailureOr<Operand> normalized = normalizeIndices(builder, indices, bound);
  if (failed(normalized))
    return failure();
  if (!input.isConstant())
    if (std::optional<Operand> slice = gatherAsSlice(builder, input, normalized->getConstant(), *axis))
      return builder.setResult(0, *slice);
  return builder.setResult(0, builder.gather(input, *normalized, *axis));
}

const OpInfo kOps[] = {{"Gather", 1, 2, 2, 1, "axis:i", buildGather}};

} // namespace

ArrayRef<OpInfo> shardc::importer::getIndexingOps() { return kOps; }
