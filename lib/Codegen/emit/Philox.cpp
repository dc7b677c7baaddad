//===-- Philox.cpp - Philox4x32-10 as integer arithmetic ----------------------------------------------------------===//
//
// Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011). The counter is (element number
// low, element number high, step low, id), the key (seed low, seed high).
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Kernel.h"

#include "dialects/nn/fusion/Scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

constexpr uint32_t kMultipliers[2] = {0xD2511F53, 0xCD9E8D57};
constexpr uint32_t kWeyl[2] = {0x9E3779B9, 0xBB67AE85};
constexpr int kRounds = 10;

/// Words of 32 bits, scalars or vectors.
class WordBuilder {
public:
  WordBuilder(OpBuilder &builder, Location loc, Type like)
      : builder(builder), loc(loc), word(nn::withElementType(like, builder.getI32Type())),
        wide(nn::withElementType(like, builder.getI64Type())) {}

  Value low(Value value) { return arith::TruncIOp::create(builder, loc, word, value); }
  Value high(Value value) {
    Value shift = nn::buildInteger(builder, loc, wide, 32);
    return low(arith::ShRUIOp::create(builder, loc, value, shift));
  }
  /// The 64-bit product of a word and a constant.
  Value multiply(Value value, uint32_t factor) {
    Value extended = arith::ExtUIOp::create(builder, loc, wide, value);
    return arith::MulIOp::create(builder, loc, extended, nn::buildInteger(builder, loc, wide, factor));
  }
  Value xorWords(Value a, Value b) { return arith::XOrIOp::create(builder, loc, a, b); }
  Value constant(uint32_t value) { return nn::buildInteger(builder, loc, word, static_cast<int32_t>(value)); }
  /// A scalar i64 in the form of the words.
  Value spread(Value scalar) { return isa<VectorType>(wide) ? broadcastLanes(builder, loc, scalar) : scalar; }
  Value add(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }

private:
  OpBuilder &builder;
  Location loc;
  Type word, wide;
};

void buildRound(WordBuilder &words, SmallVector<Value, 4> &counter, ArrayRef<Value> key) {
  Value first = words.multiply(counter[0], kMultipliers[0]), second = words.multiply(counter[2], kMultipliers[1]);
  counter = {words.xorWords(words.xorWords(words.high(second), counter[1]), key[0]), words.low(second),
             words.xorWords(words.xorWords(words.high(first), counter[3]), key[1]), words.low(first)};
}

} // namespace

Value shardc::codegen::buildUniform(Kernel &kernel, Value position, int64_t id, Type elementType) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  WordBuilder words(builder, loc, position.getType());
  Value seed = words.spread(loadControlField(kernel, nn::ControlField::Seed));
  Value step = words.spread(loadControlField(kernel, nn::ControlField::Step));
  SmallVector<Value, 4> counter{words.low(position), words.high(position), words.low(step),
                                words.constant(static_cast<uint32_t>(id))};
  SmallVector<Value, 2> key{words.low(seed), words.high(seed)};
  for (int round = 0; round < kRounds; ++round) {
    if (round > 0)
      key = {words.add(key[0], words.constant(kWeyl[0])), words.add(key[1], words.constant(kWeyl[1]))};
    buildRound(words, counter, key);
  }
  Type words32 = counter[0].getType(), f32 = nn::withElementType(position.getType(), builder.getF32Type());
  Value top = arith::ShRUIOp::create(builder, loc, counter[0], nn::buildInteger(builder, loc, words32, 8));
  // 24 bits fit a signed integer, whose conversion has an instruction everywhere.
  Value number = arith::SIToFPOp::create(builder, loc, f32, top);
  Value uniform = arith::MulFOp::create(builder, loc, number, nn::buildFloat(builder, loc, f32, 0x1p-24));
  if (elementType.isF64())
    return arith::ExtFOp::create(builder, loc, nn::withElementType(f32, elementType), uniform);
  return uniform;
}
