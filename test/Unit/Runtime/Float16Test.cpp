//===-- Float16Test.cpp - conversions of bf16 and f16 -------------------------------------------------------------===//

#include "runtime/base/Float16.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace shardc::rt;

namespace {

/// The neighbours of a number among those of a type, by counting bits: sign and magnitude.
template <typename T> float valueOf(uint16_t bits) {
  T number;
  number.bits = bits;
  return number;
}

/// `value` must become the nearest number of T, and of two the even one. Sums of neighbours are exact in f64.
template <typename T> void expectNearest(float value, uint16_t infinity) {
  uint16_t got = T(value).bits, magnitude = got & 0x7FFF;
  ASSERT_EQ(got >> 15, std::signbit(value)) << value;
  ASSERT_LE(magnitude, infinity) << value;
  double number = std::abs(static_cast<double>(value));
  auto at = [&](int bits) -> double { // infinity stands where the next number would
    if (bits < infinity)
      return valueOf<T>(static_cast<uint16_t>(bits));
    double last = valueOf<T>(infinity - 1), before = valueOf<T>(infinity - 2);
    return last + (last - before);
  };
  double error = std::abs(number - at(magnitude));
  if (magnitude > 0) {
    double below = std::abs(number - at(magnitude - 1));
    ASSERT_TRUE(error < below || (error == below && magnitude % 2 == 0)) << value;
  }
  if (magnitude < infinity) {
    double above = std::abs(number - at(magnitude + 1));
    ASSERT_TRUE(error < above || (error == above && magnitude % 2 == 0)) << value;
  }
}

template <typename T> void checkAll(uint16_t infinity) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    float value = valueOf<T>(static_cast<uint16_t>(bits));
    if ((bits & 0x7FFF) > infinity)
      EXPECT_TRUE(std::isnan(value) && std::isnan(static_cast<float>(T(value)))) << bits;
    else
      ASSERT_EQ(T(value).bits, bits); // what a type has, it keeps
  }
  for (int bits = 0; bits + 1 < infinity; ++bits) { // halfway between two neighbours, and just off it
    float low = valueOf<T>(static_cast<uint16_t>(bits)), high = valueOf<T>(static_cast<uint16_t>(bits + 1));
    float middle = low + (high - low) / 2;
    for (float value : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e38f)}) {
      expectNearest<T>(value, infinity);
      expectNearest<T>(-value, infinity);
    }
  }
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i)
    if (float value = std::bit_cast<float>(static_cast<uint32_t>(random())); std::isfinite(value))
      expectNearest<T>(value, infinity);
}

} // namespace

TEST(Float16, Bf16RoundsToTheNearest) { checkAll<BFloat16>(0x7F80); }
TEST(Float16, F16RoundsToTheNearest) { checkAll<Float16>(0x7C00); }

TEST(Float16, KnownNumbers) {
  EXPECT_EQ(BFloat16(1.0f).bits, 0x3F80);
  EXPECT_EQ(Float16(1.0f).bits, 0x3C00);
  EXPECT_EQ(Float16(65504.0f).bits, 0x7BFF);
  EXPECT_EQ(Float16(65519.996f).bits, 0x7BFF);
  EXPECT_EQ(Float16(65520.0f).bits, 0x7C00);
  EXPECT_EQ(Float16(0x1p-24f).bits, 1);
  EXPECT_EQ(Float16(0x1p-25f).bits, 0);
  EXPECT_EQ(Float16(-0.0f).bits, 0x8000);
  float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Float16(infinity).bits, 0x7C00);
  EXPECT_EQ(BFloat16(-infinity).bits, 0xFF80);
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7F80);
}
