//===-- Random.h - numbers for the order of samples and synthetic data --------------------------------------------===//
#ifndef SHARDC_RUNTIME_IO_RANDOM_H
#define SHARDC_RUNTIME_IO_RANDOM_H

#include <cstdint>

namespace shardc::rt {

/// SplitMix64 (Steele, Lea, Flood 2014): a sequence for each seed, the same on every machine.
class Random {
public:
  explicit Random(uint64_t seed, uint64_t stream = 0) : state(mix(seed) ^ mix(stream + kIncrement)) {}

  uint64_t next() { return mix(state += kIncrement); }

  /// Uniform in [0, bound), without bias (Lemire 2019).
  uint64_t below(uint64_t bound) {
    while (true) {
      unsigned __int128 product = static_cast<unsigned __int128>(next()) * bound;
      if (static_cast<uint64_t>(product) >= -bound % bound)
        return static_cast<uint64_t>(product >> 64);
    }
  }

  /// Uniform in [-1, 1).
  double symmetric() { return static_cast<double>(static_cast<int64_t>(next() >> 11)) * 0x1p-52 - 1.0; }

private:
  static constexpr uint64_t kIncrement = 0x9E3779B97F4A7C15;

  static uint64_t mix(uint64_t value) {
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
    return value ^ (value >> 31);
  }

  uint64_t state;
};

} // namespace shardc::rt

#endif
