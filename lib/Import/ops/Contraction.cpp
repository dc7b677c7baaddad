//===-- Contraction.cpp - MatMul and Gemm -------------------------------------------------------------------------===//

#include "../OpTable.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::importer;

namespace {

/// A matrix operand of a product: where it is a transposed parameter, the parameter itself, read through the
/// permutation.
struct Factor {
  Value value;
  Shape permutation; // of the dimensions as the ONNX op sees them
};

Factor getFactor(NodeBuilder &builder, const Operand &operand) {
  Value value = builder.materialize(operand);
  if (auto transpose = value.getDefiningOp<nn::TransposeOp>(); transpose && isa<BlockArgument>(transpose.getInput()))
    return {transpose.getInput(), Shape(transpose.getPermutation())};
  Shape identity;
  for (int64_t dim = 0; dim < operand.getRank(); ++dim)
    identity.push_back(dim);
  return {value, identity};
}

LogicalResult failShapes(NodeBuilder &builder, const Operand &a, const Operand &b) {
  return builder.fail("shape-55",
                      Twine("cannot multiply ") + formatShape(a.getShape()) + " by " + formatShape(b.getShape()));
}

LogicalResult checkFloats(NodeBuilder &builder, const Operand &a, const Operand &b) {
  if (a.isFloat() && a.getType() == b.getType())
    return success();
  return builder.fail("shape-55", Twine("its inputs have the element types ") + getTypeName(a.getType()) + " and " +
                                      getTypeName(b.getType()) + ", expected one floating type");
}

/// [batch…, m, k] × [k, n], without a reshape: the free dimensions of the left are all but the last.
Operand multiplyByMatrix(NodeBuilder &builder, const Operand &a, const Operand &b) {
  Factor rhs = getFactor(builder, b);
  return builder.dot(builder.materialize(a), rhs.value, {}, {}, {a.getRank() - 1}, {rhs.permutation[0]});
}

/// [batch…, m, k] × [batch…, k, n] with batch dimensions broadcast to each other.
Operand multiplyBatched(NodeBuilder &builder, const Operand &a, const Operand &b, ArrayRef<int64_t> batch) {
  auto spread = [&](const Operand &operand) {
    Shape shape(batch);
    llvm::append_range(shape, operand.getShape().take_back(2));
    return builder.materialize(builder.broadcast(builder.materialize(operand), shape));
  };
  Value lhs = spread(a), rhs = spread(b);
  Shape dims;
  for (size_t dim = 0; dim < batch.size(); ++dim)
    dims.push_back(static_cast<int64_t>(dim));
  auto rank = static_cast<int64_t>(batch.size());
  return builder.dot(lhs, rhs, dims, dims, {rank + 1}, {rank});
}

LogicalResult buildMatMul(NodeBuilder &builder) {
  Operand a = builder.getInput(0), b = builder.getInput(1);
  if (failed(checkFloats(builder, a, b)))
    return failure();
  if (a.getRank() == 0 || b.getRank() == 0)
    return failShapes(builder, a, b);
  // A vector is a row on the left and a column on the right; its dimension disappears from the result.
  bool isRow = a.getRank() == 1, isColumn = b.getRank() == 1;
  if (isRow)
    a = builder.reshape(a, {1, a.getShape()[0]});
  if (isColumn)
    b = builder.reshape(b, {b.getShape()[0], 1});
  ArrayRef<int64_t> aBatch = a.getShape().drop_back(2), bBatch = b.getShape().drop_back(2);
  std::optional<SmallVector<int64_t>> batch = broadcastShapes(aBatch, bBatch);
  if (!batch || a.getShape().back() != b.getShape()[bBatch.size()])
    return failShapes(builder, builder.getInput(0), builder.getInput(1));
  bool isMatrix = countElements(bBatch) == 1 && a.getRank() >= b.getRank();
  if (isMatrix && !bBatch.empty())
    b = builder.reshape(b, b.getShape().take_back(2));
  Operand result = isMatrix ? multiplyByMatrix(builder, a, b) : multiplyBatched(builder, a, b, *batch);
  Shape shape(result.getShape());
  if (isColumn)
    shape.pop_back();
  if (isRow)
    shape.erase(shape.end() - (isColumn ? 1 : 2));
  return builder.setResult(0, builder.reshape(result, shape));
}

/// alpha · A′ · B′ + beta · C; a transposed operand is contracted on its other dimension.
LogicalResult buildGemm(NodeBuilder &builder) {
  Operand a = builder.getInput(0), b = builder.getInput(1), c = builder.getInput(2);
  if (failed(checkFloats(builder, a, b)))
    return failure();
  bool transA = builder.getInt("transA", 0) != 0, transB = builder.getInt("transB", 0) != 0;
  if (a.getRank() != 2 || b.getRank() != 2 || a.getShape()[transA ? 0 : 1] != b.getShape()[transB ? 1 : 0])
    return failShapes(builder, a, b);
  Factor lhs = getFactor(builder, a), rhs = getFactor(builder, b);
  Operand result =
      builder.dot(lhs.value, rhs.value, {}, {}, {lhs.permutation[transA ? 0 : 1]}, {rhs.permutation[transB ? 1 : 0]});
  if (double alpha = builder.getFloat("alpha", 1); alpha != 1)
    result = builder.binary(BinaryKind::Mul, result, alpha);
  double beta = builder.getFloat("beta", 1);
  if (!c || beta == 0)
    return builder.setResult(0, result);
  if (broadcastShapes(result.getShape(), c.getShape()) != Shape(result.getShape()) || c.getType() != a.getType())
    return builder.fail("shape-55",
                        Twine("cannot add ") + formatShape(c.getShape()) + " to " + formatShape(result.getShape()));
  if (beta != 1)
    c = builder.binary(BinaryKind::Mul, c, beta);
  return builder.setResult(0, builder.binary(BinaryKind::Add, result, c));
}

const OpInfo kOps[] = {
    {"Gemm", 7, 2, 3, 1, "alpha:f beta:f transA:i transB:i", buildGemm},
    {"MatMul", 1, 2, 2, 1, "", buildMatMul},
};

} // namespace

ArrayRef<OpInfo> shardc::importer::getContractionOps() { return kOps; }
