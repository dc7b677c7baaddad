//===-- Materialize.cpp - constants as ops ------------------------------------------------------------------------===//

#include "NodeBuilder.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::importer;
using onnx::TensorProto;

namespace {

/// Whether two elements are the same bits (a NaN equals itself).
bool areSame(const Constant &constant, int64_t a, int64_t b) {
  if (!constant.isFloat())
    return constant.ints[a] == constant.ints[b];
  return llvm::bit_cast<uint64_t>(constant.floats[a]) == llvm::bit_cast<uint64_t>(constant.floats[b]);
}

bool isSplat(const Constant &constant) {
  for (int64_t i = 1; i < constant.getNumElements(); ++i)
    if (!areSame(constant, i, 0))
      return false;
  return constant.getNumElements() > 0;
}

/// A matrix of two values: element (i, j) has the value of `below` where j − i ≤ diagonal, of `above` elsewhere
/// (indices of elements that have them). Leading dimensions are 1.
struct Band {
  int64_t diagonal, below, above;
};

std::optional<Band> matchBand(const Constant &constant) {
  size_t rank = constant.shape.size();
  if (rank < 2)
    return std::nullopt;
  int64_t rows = constant.shape[rank - 2], columns = constant.shape[rank - 1];
  if (rows < 2 || columns < 2 || constant.getNumElements() != rows * columns)
    return std::nullopt;
  // The last element of the first column that equals its first tells nothing; the first row or column has the change.
  int64_t below = (rows - 1) * columns, above = columns - 1;
  if (areSame(constant, below, above))
    return std::nullopt;
  int64_t diagonal = -rows;
  while (diagonal + 1 < columns) {
    int64_t next = diagonal + 1, i = next < 0 ? -next : 0, j = next < 0 ? 0 : next;
    if (!areSame(constant, i * columns + j, below))
      break;
    diagonal = next;
  }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (!areSame(constant, i * columns + j, j - i <= diagonal ? below : above))
        return std::nullopt;
  return Band{diagonal, below, above};
}

} // namespace

Operand NodeBuilder::makeScalar(int32_t type, double value) {
  Constant constant = Constant::make(type, {});
  if (constant.isFloat())
    constant.setFloat(0, value);
  else
    constant.setInt(0, static_cast<int64_t>(value));
  return constant;
}

Value NodeBuilder::materialize(const Operand &operand) {
  if (!operand.isConstant())
    return operand.getValue();
  const Constant &constant = operand.getConstant();
  auto getElement = [&](int64_t index) {
    Constant scalar = Constant::make(constant.type, {});
    scalar.setFrom(0, constant, index);
    return create<nn::ConstantOp>(scalar.getAttr(state.diagnostics.getContext()));
  };
  auto spread = [&](Value scalar) {
    return constant.shape.empty() ? scalar
                                  : create<nn::BroadcastInDimOp>(getTensorType(constant.shape, constant.type), scalar,
                                                                 ArrayRef<int64_t>());
  };
  if (isSplat(constant))
    return spread(getElement(0));
  std::optional<Band> band = matchBand(constant);
  if (!band)
    return create<nn::ConstantOp>(constant.getAttr(state.diagnostics.getContext()));
  auto indexType = getTensorType(constant.shape, TensorProto::INT64);
  int64_t rank = static_cast<int64_t>(constant.shape.size());
  Value row = create<nn::IotaOp>(indexType, rank - 2), column = create<nn::IotaOp>(indexType, rank - 1);
  if (band->diagonal != 0)
    row = materialize(binary(BinaryKind::Add, row, static_cast<double>(band->diagonal)));
  if (constant.type == TensorProto::BOOL)
    return create<nn::CompareOp>(constant.ints[band->below] ? nn::CompareDirection::LE : nn::CompareDirection::GT,
                                 column, row);
  Value isBelow = create<nn::CompareOp>(nn::CompareDirection::LE, column, row);
  Value below = spread(getElement(band->below)), above = spread(getElement(band->above));
  return create<nn::SelectOp>(isBelow, below, above);
}
