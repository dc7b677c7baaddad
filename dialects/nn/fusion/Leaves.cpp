//===-- Leaves.cpp - scalar bodies of what stands at the head of a kernel: constants, positions, control fields ---===//

#include "dialects/nn/NN.h"
#include "dialects/nn/fusion/Scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace shardc::nn;

/// A splat is an immediate; elements of other constants are read by the emitter, which passes what it read.
Value ConstantOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  if (!operands.empty())
    return operands[0];
  auto splat = dyn_cast<SplatElementsAttr>(getValue());
  if (!splat)
    return {};
  return arith::ConstantOp::create(builder, loc, splat.getSplatValue<TypedAttr>());
}

/// The operand is the index, i64.
Value IotaOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  Value index = operands[0];
  Type element = cast<RankedTensorType>(getType()).getElementType();
  Type type = withElementType(index.getType(), element);
  if (isa<FloatType>(element))
    return arith::SIToFPOp::create(builder, loc, type, index);
  if (element.isInteger(64))
    return index;
  return arith::TruncIOp::create(builder, loc, type, index);
}

/// The operand is the field's value.
Value ControlOp::buildScalar(OpBuilder &, Location, ValueRange operands) { return operands[0]; }

Value BroadcastInDimOp::buildScalar(OpBuilder &, Location, ValueRange operands) { return operands[0]; }
