//===-- Float16.h - bf16 and f16 ----------------------------------------------------------------------------------===//
//
// Storage types for arithmetic in f32: a number widens exactly and narrows to the nearest one, ties to even. NaN stays
// NaN, denormals stay what they are, on every CPU. The loops that use them vectorise: there are no branches.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BASE_FLOAT16_H
#define SHARDC_RUNTIME_BASE_FLOAT16_H

#include <bit>
#include <cstdint>

namespace shardc::rt {

/// The upper half of an f32.
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) {
    uint32_t word = std::bit_cast<uint32_t>(value);
    uint32_t rounded = word + 0x7FFF + ((word >> 16) & 1), quiet = word | 0x400000;
    bits = static_cast<uint16_t>((value != value ? quiet : rounded) >> 16);
  }
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

/// IEEE 754's binary16.
struct Float16 {
  uint16_t bits = 0;

  Float16() = default;
  explicit Float16(float value) {
    uint32_t word = std::bit_cast<uint32_t>(value), magnitude = word & 0x7FFFFFFF;
    // Normal: the exponent moves by 112, 13 places are rounded away; a carry beyond the largest number makes infinity.
    uint32_t normal = (magnitude - (112u << 23) + 0xFFF + ((magnitude >> 13) & 1)) >> 13;
    // Denormal: an f32 addition of 0.5 shifts the places into position and rounds them.
    uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - std::bit_cast<uint32_t>(0.5f);
    uint32_t half = magnitude < (113u << 23) ? small : normal;
    half = magnitude >= 0x477FF000 ? 0x7C00 : half; // rounds to 65536 or more
    half = magnitude > 0x7F800000 ? 0x7E00 : half;
    bits = static_cast<uint16_t>((word >> 16 & 0x8000) | half);
  }
  operator float() const {
    uint32_t magnitude = bits & 0x7FFFu, sign = static_cast<uint32_t>(bits & 0x8000) << 16;
    // Scaling by 2^112 moves the exponent, of denormals, too.
    float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
    uint32_t special = 0x7F800000 | (magnitude << 13);
    uint32_t word = magnitude >= 0x7C00 ? special : std::bit_cast<uint32_t>(scaled);
    return std::bit_cast<float>(sign | word);
  }
};

} // namespace shardc::rt

#endif
