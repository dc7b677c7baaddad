//===-- Power.cpp - aᵇ in f32 -------------------------------------------------------------------------------------===//
//
// |a|ᵇ = 2^(b · log₂|a|) in f64, rounded once at the end: the error of the f64 part (about 10⁻¹² relative) is far below
// half an ulp of f32. Only additions, multiplications and one division: every machine gives the same bits. Special
// cases are those of IEEE 754's pow.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "dialects/nn/fusion/Scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace shardc::nn;

namespace {

using Predicate = arith::CmpFPredicate;

/// Short names for the operations of one body.
struct Calculator {
  OpBuilder &builder;
  Location loc;

  Value constant(Value like, double value) { return buildFloat(builder, loc, like.getType(), value); }
  Value add(Value a, Value b) { return arith::AddFOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(builder, loc, a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(builder, loc, a, b); }
  Value div(Value a, Value b) { return arith::DivFOp::create(builder, loc, a, b); }
  Value floor(Value a) { return math::FloorOp::create(builder, loc, a); }
  Value compare(Predicate predicate, Value a, Value b) { return arith::CmpFOp::create(builder, loc, predicate, a, b); }
  Value compare(Predicate predicate, Value a, double b) { return compare(predicate, a, constant(a, b)); }
  Value select(Value condition, Value a, Value b) { return arith::SelectOp::create(builder, loc, condition, a, b); }
  Value select(Value condition, double a, Value b) { return select(condition, constant(b, a), b); }
  Value both(Value a, Value b) { return arith::AndIOp::create(builder, loc, a, b); }
  Value either(Value a, Value b) { return arith::OrIOp::create(builder, loc, a, b); }
  Value integer(Type type, int64_t value) { return buildInteger(builder, loc, type, value); }

  /// c[0] + x · (c[1] + x · (…)).
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = constant(x, coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      sum = add(constant(x, coefficient), mul(x, sum));
    return sum;
  }
};

/// log₂ of a positive f64 that came from f32 (so that it is no denormal); infinities at 0 and ∞.
Value buildLog2(Calculator &c, Value value) {
  Type integers = withElementType(value.getType(), c.builder.getI64Type());
  Value bits = arith::BitcastOp::create(c.builder, c.loc, integers, value);
  Value biased = arith::ShRUIOp::create(c.builder, c.loc, bits, c.integer(integers, 52));
  Value exponent = arith::SubIOp::create(c.builder, c.loc, biased, c.integer(integers, 1023));
  Value fraction = arith::AndIOp::create(c.builder, c.loc, bits, c.integer(integers, (1LL << 52) - 1));
  Value oneBits = c.integer(integers, 1023LL << 52);
  Value mantissa = arith::BitcastOp::create(c.builder, c.loc, value.getType(),
                                            arith::OrIOp::create(c.builder, c.loc, fraction, oneBits));
  Value whole = arith::SIToFPOp::create(c.builder, c.loc, value.getType(), exponent);
  // Centre the mantissa on 1, where the series converges.
  Value large = c.compare(Predicate::OGT, mantissa, std::sqrt(2.0));
  mantissa = c.select(large, c.mul(mantissa, c.constant(mantissa, 0.5)), mantissa);
  whole = c.select(large, c.add(whole, c.constant(whole, 1.0)), whole);
  // log m = 2 artanh s with s = (m - 1) / (m + 1), |s| < 0.172.
  Value one = c.constant(mantissa, 1.0);
  Value s = c.div(c.sub(mantissa, one), c.add(mantissa, one));
  SmallVector<double> series;
  for (int odd = 1; odd <= 17; odd += 2)
    series.push_back(2.0 / (odd * std::log(2.0)));
  Value logarithm = c.add(whole, c.mul(s, c.polynomial(c.mul(s, s), series)));
  double infinity = std::numeric_limits<double>::infinity();
  logarithm = c.select(c.compare(Predicate::OEQ, value, 0.0), -infinity, logarithm);
  return c.select(c.compare(Predicate::OEQ, value, infinity), infinity, logarithm);
}

/// 2ˣ in f64 for |x| ≤ 300.
Value buildExp2(Calculator &c, Value x) {
  Value whole = c.floor(c.add(x, c.constant(x, 0.5)));
  SmallVector<double> series{1.0};
  for (int term = 1; term <= 13; ++term)
    series.push_back(series.back() * std::log(2.0) / term);
  Value fraction = c.polynomial(c.sub(x, whole), series);
  Type integers = withElementType(x.getType(), c.builder.getI64Type());
  Value exponent = arith::FPToSIOp::create(c.builder, c.loc, integers, whole);
  Value biased = arith::AddIOp::create(c.builder, c.loc, exponent, c.integer(integers, 1023));
  Value bits = arith::ShLIOp::create(c.builder, c.loc, biased, c.integer(integers, 52));
  return c.mul(fraction, arith::BitcastOp::create(c.builder, c.loc, x.getType(), bits));
}

/// |a|ᵇ for b ≠ 0; NaN where an operand is.
Value buildMagnitude(Calculator &c, Value magnitude, Value exponent) {
  Type wide = withElementType(magnitude.getType(), c.builder.getF64Type());
  Value base = arith::ExtFOp::create(c.builder, c.loc, wide, magnitude);
  Value power = arith::ExtFOp::create(c.builder, c.loc, wide, exponent);
  Value scaled = c.mul(power, buildLog2(c, base));
  // Beyond ±300 f32 has only 0 and ∞; NaN must not reach the conversion to an integer.
  Value isNumber = c.compare(Predicate::ORD, scaled, scaled);
  Value clamped = c.select(c.compare(Predicate::OGT, scaled, 300.0), 300.0, scaled);
  clamped = c.select(c.compare(Predicate::OLT, clamped, -300.0), -300.0, clamped);
  clamped = c.select(isNumber, clamped, c.constant(clamped, 0.0));
  Value narrow = arith::TruncFOp::create(c.builder, c.loc, magnitude.getType(), buildExp2(c, clamped));
  Value nan = c.constant(narrow, std::numeric_limits<double>::quiet_NaN());
  narrow = c.select(isNumber, narrow, nan);
  // (±1)^±∞ is 1.
  Value exponentIsNumber = c.compare(Predicate::ORD, exponent, exponent);
  Value isUnit = c.both(c.compare(Predicate::OEQ, magnitude, 1.0), exponentIsNumber);
  narrow = c.select(isUnit, 1.0, narrow);
  return c.select(c.compare(Predicate::UNO, magnitude, exponent), nan, narrow);
}

} // namespace

Value shardc::nn::buildPower(OpBuilder &builder, Location loc, Value base, Value exponent) {
  Calculator c{builder, loc};
  double infinity = std::numeric_limits<double>::infinity();
  Value magnitude = math::AbsFOp::create(builder, loc, base);
  Value result = buildMagnitude(c, magnitude, exponent);

  Value isInteger = c.compare(Predicate::OEQ, c.floor(exponent), exponent);
  Value half = c.mul(exponent, c.constant(exponent, 0.5));
  Value isOdd = c.both(isInteger, c.compare(Predicate::ONE, c.floor(half), half));
  Type integers = withElementType(base.getType(), builder.getI32Type());
  Value bits = arith::BitcastOp::create(builder, loc, integers, base);
  Value isNegative = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, bits, c.integer(integers, 0));
  Value negated = arith::NegFOp::create(builder, loc, result);
  result = c.select(c.both(isNegative, isOdd), negated, result);

  Value isBelowZero = c.both(c.compare(Predicate::OLT, base, 0.0), c.compare(Predicate::OGT, base, -infinity));
  Value isBroken = arith::CmpFOp::create(builder, loc, Predicate::ONE, c.floor(exponent), exponent);
  result = c.select(c.both(isBelowZero, isBroken), std::numeric_limits<double>::quiet_NaN(), result);
  Value isOne = c.either(c.compare(Predicate::OEQ, exponent, 0.0), c.compare(Predicate::OEQ, base, 1.0));
  return c.select(isOne, 1.0, result);
}
