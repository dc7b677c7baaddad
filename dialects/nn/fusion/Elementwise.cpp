//===-- Elementwise.cpp - scalar bodies of elementwise ops --------------------------------------------------------===//
//
// No op carries fast-math flags. Transcendental functions exist in f32; an op without a body for its element type
// returns null.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "dialects/nn/NN.h"
#include "dialects/nn/fusion/Scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace shardc::nn;

namespace {

bool isFloat(Value value) { return isa<FloatType>(getElementTypeOrSelf(value.getType())); }
bool isBool(Value value) { return getElementTypeOrSelf(value.getType()).isInteger(1); }

template <typename MathOp> Value buildTranscendental(OpBuilder &builder, Location loc, ValueRange operands) {
  if (!getElementTypeOrSelf(operands[0].getType()).isF32())
    return {};
  return MathOp::create(builder, loc, operands[0]);
}

template <typename FloatOp, typename IntOp>
Value buildArithmetic(OpBuilder &builder, Location loc, ValueRange operands) {
  if (isFloat(operands[0]))
    return FloatOp::create(builder, loc, operands[0], operands[1]);
  return IntOp::create(builder, loc, operands[0], operands[1]);
}

/// Integers of one bit are truth values: 1 is larger than 0.
template <typename FloatOp, typename IntOp, typename BoolOp>
Value buildExtremum(OpBuilder &builder, Location loc, ValueRange operands) {
  if (isBool(operands[0]))
    return BoolOp::create(builder, loc, operands[0], operands[1]);
  return buildArithmetic<FloatOp, IntOp>(builder, loc, operands);
}

/// Rounds towards zero. Machines trap on x / 0 and on min / -1; here both give x.
Value buildIntegerDivision(OpBuilder &builder, Location loc, Value lhs, Value rhs) {
  if (isBool(lhs))
    return lhs;
  Type type = lhs.getType();
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  auto isEqual = [&](Value value, int64_t constant) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, value,
                                 buildInteger(builder, loc, type, constant));
  };
  Value overflows = arith::AndIOp::create(builder, loc, isEqual(lhs, llvm::minIntN(width)), isEqual(rhs, -1));
  Value traps = arith::OrIOp::create(builder, loc, isEqual(rhs, 0), overflows);
  Value divisor = arith::SelectOp::create(builder, loc, traps, buildInteger(builder, loc, type, 1), rhs);
  return arith::DivSIOp::create(builder, loc, lhs, divisor);
}

arith::CmpFPredicate getFloatPredicate(CompareDirection direction) {
  switch (direction) {
  case CompareDirection::EQ:
    return arith::CmpFPredicate::OEQ;
  case CompareDirection::NE:
    return arith::CmpFPredicate::UNE;
  case CompareDirection::LT:
    return arith::CmpFPredicate::OLT;
  case CompareDirection::LE:
    return arith::CmpFPredicate::OLE;
  case CompareDirection::GT:
    return arith::CmpFPredicate::OGT;
  case CompareDirection::GE:
    return arith::CmpFPredicate::OGE;
  }
  llvm_unreachable("all directions are handled");
}

arith::CmpIPredicate getIntegerPredicate(CompareDirection direction, bool isTruthValue) {
  using Predicate = arith::CmpIPredicate;
  switch (direction) {
  case CompareDirection::EQ:
    return Predicate::eq;
  case CompareDirection::NE:
    return Predicate::ne;
  case CompareDirection::LT:
    return isTruthValue ? Predicate::ult : Predicate::slt;
  case CompareDirection::LE:
    return isTruthValue ? Predicate::ule : Predicate::sle;
  case CompareDirection::GT:
    return isTruthValue ? Predicate::ugt : Predicate::sgt;
  case CompareDirection::GE:
    return isTruthValue ? Predicate::uge : Predicate::sge;
  }
  llvm_unreachable("all directions are handled");
}

} // namespace

//===-- One operand -----------------------------------------------------------------------------------------------===//

Value NegOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  if (isFloat(operands[0]))
    return arith::NegFOp::create(builder, loc, operands[0]);
  Value zero = buildInteger(builder, loc, operands[0].getType(), 0);
  return arith::SubIOp::create(builder, loc, zero, operands[0]);
}

Value ExpOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return buildTranscendental<math::ExpOp>(builder, loc, operands);
}

Value LogOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return buildTranscendental<math::LogOp>(builder, loc, operands);
}

Value TanhOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return buildTranscendental<math::TanhOp>(builder, loc, operands);
}

Value ErfOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return buildTranscendental<math::ErfOp>(builder, loc, operands);
}

Value SinOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return buildTranscendental<math::SinOp>(builder, loc, operands);
}

Value CosOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return buildTranscendental<math::CosOp>(builder, loc, operands);
}

Value SqrtOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  if (!isFloat(operands[0]))
    return {};
  return math::SqrtOp::create(builder, loc, operands[0]);
}

/// A correctly rounded root and quotient: machine instructions for 1/√x differ from one machine to the next.
Value RsqrtOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  if (!isFloat(operands[0]))
    return {};
  Value root = math::SqrtOp::create(builder, loc, operands[0]);
  return arith::DivFOp::create(builder, loc, buildFloat(builder, loc, root.getType(), 1.0), root);
}

Value LogisticOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  if (!getElementTypeOrSelf(operands[0].getType()).isF32())
    return {};
  Value one = buildFloat(builder, loc, operands[0].getType(), 1.0);
  Value negated = arith::NegFOp::create(builder, loc, operands[0]);
  Value exponential = math::ExpOp::create(builder, loc, negated);
  Value denominator = arith::AddFOp::create(builder, loc, one, exponential);
  return arith::DivFOp::create(builder, loc, one, denominator);
}

//===-- Two operands ----------------------------------------------------------------------------------------------===//

Value AddOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return buildArithmetic<arith::AddFOp, arith::AddIOp>(builder, loc, operands);
}

Value SubOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return buildArithmetic<arith::SubFOp, arith::SubIOp>(builder, loc, operands);
}

Value MulOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return buildArithmetic<arith::MulFOp, arith::MulIOp>(builder, loc, operands);
}

Value DivOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  if (isFloat(operands[0]))
    return arith::DivFOp::create(builder, loc, operands[0], operands[1]);
  return buildIntegerDivision(builder, loc, operands[0], operands[1]);
}

Value MaxOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return buildExtremum<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>(builder, loc, operands);
}

Value MinOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return buildExtremum<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>(builder, loc, operands);
}

Value PowOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  if (!getElementTypeOrSelf(operands[0].getType()).isF32())
    return {};
  return buildPower(builder, loc, operands[0], operands[1]);
}

Value AndOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return arith::AndIOp::create(builder, loc, operands[0], operands[1]);
}

Value OrOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return arith::OrIOp::create(builder, loc, operands[0], operands[1]);
}

Value XorOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return arith::XOrIOp::create(builder, loc, operands[0], operands[1]);
}

Value CompareOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  if (isFloat(operands[0]))
    return arith::CmpFOp::create(builder, loc, getFloatPredicate(getDirection()), operands[0], operands[1]);
  auto predicate = getIntegerPredicate(getDirection(), isBool(operands[0]));
  return arith::CmpIOp::create(builder, loc, predicate, operands[0], operands[1]);
}

Value SelectOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return arith::SelectOp::create(builder, loc, operands[0], operands[1], operands[2]);
}

//===-- Combination -----------------------------------------------------------------------------------------------===//

Value ReduceOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  switch (getKind()) {
  case ReduceKind::Sum:
    return buildArithmetic<arith::AddFOp, arith::AddIOp>(builder, loc, operands);
  case ReduceKind::Max:
    return buildExtremum<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>(builder, loc, operands);
  case ReduceKind::Min:
    return buildExtremum<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>(builder, loc, operands);
  case ReduceKind::Prod:
    return buildArithmetic<arith::MulFOp, arith::MulIOp>(builder, loc, operands);
  }
  llvm_unreachable("all kinds are handled");
}
