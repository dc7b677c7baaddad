//===-- XxHash.cpp - checksums ------------------------------------------------------------------------------------===//

#include "runtime/base/XxHash.h"

#include <bit>
#include <cstring>

namespace shardc::rt {
namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5;

template <typename T> T readLittle(const char *at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

uint64_t mixLane(uint64_t accumulator, uint64_t lane) { return std::rotl(accumulator + lane * kPrime2, 31) * kPrime1; }

uint64_t mergeAccumulator(uint64_t hash, uint64_t accumulator) {
  return (hash ^ mixLane(0, accumulator)) * kPrime1 + kPrime4;
}

/// Consumes whole stripes of 32 bytes from `at`.
uint64_t hashStripes(const char *&at, const char *end, uint64_t seed) {
  uint64_t lanes[4] = {seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1};
  for (; end - at >= 32; at += 32)
    for (int i = 0; i < 4; ++i)
      lanes[i] = mixLane(lanes[i], readLittle<uint64_t>(at + size_t(8) * i));
  uint64_t hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
  for (uint64_t lane : lanes)
    hash = mergeAccumulator(hash, lane);
  return hash;
}

uint64_t hashTail(uint64_t hash, const char *at, const char *end) {
  for (; end - at >= 8; at += 8)
    hash = std::rotl(hash ^ mixLane(0, readLittle<uint64_t>(at)), 27) * kPrime1 + kPrime4;
  if (end - at >= 4) {
    hash = std::rotl(hash ^ (readLittle<uint32_t>(at) * kPrime1), 23) * kPrime2 + kPrime3;
    at += 4;
  }
  for (; at != end; ++at)
    hash = std::rotl(hash ^ (static_cast<uint8_t>(*at) * kPrime5), 11) * kPrime1;
  return hash;
}

} // namespace

uint64_t xxHash64(std::string_view bytes, uint64_t seed) {
  static_assert(std::endian::native == std::endian::little);
  const char *at = bytes.data(), *end = at + bytes.size();
  uint64_t hash = bytes.size() >= 32 ? hashStripes(at, end, seed) : seed + kPrime5;
  hash = hashTail(hash + bytes.size(), at, end);
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

} // namespace shardc::rt
