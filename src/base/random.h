// A small seedable generator (SplitMix64) for test data and for the jitter of retries. Not for secrets.
//
// The same seed gives the same numbers on every machine. Not thread-safe: one owner each.
#pragma once

#include <cstdint>

namespace headrace {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }

  // Evenly below `bound`; 0 when bound is 0.
  uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * bound) >> 64);
  }

  // Evenly in [low, high], both included. Precondition: low <= high.
  int64_t Between(int64_t low, int64_t high) {
    const uint64_t width = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
    const uint64_t offset = width == 0 ? Next() : Below(width);
    return static_cast<int64_t>(static_cast<uint64_t>(low) + offset);
  }

  bool OneIn(uint64_t n) { return Below(n) == 0; }

  // Evenly in [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  uint64_t state_;
};

}  // namespace headrace
