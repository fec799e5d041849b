//===- Rng.h - Random numbers that are the same everywhere -----------------===//
#ifndef LATHE_TEST_FUZZ_RNG_H
#define LATHE_TEST_FUZZ_RNG_H

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace lathe::fuzz {

/// splitmix64. The standard's distributions differ between libraries, so the ones here are written out.
class Rng {
public:
  explicit Rng(uint64_t seed) : state(seed * 0x9E3779B97F4A7C15 + 0x1234567) {}
  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  /// low <= n <= high.
  int64_t range(int64_t low, int64_t high) { return low + int64_t(next() % uint64_t(high - low + 1)); }
  /// 0 <= x < 1.
  double unit() { return double(next() >> 11) / double(uint64_t(1) << 53); }
  bool chance(double p) { return unit() < p; }
  /// Roughly normal, from -3 to 3.
  double normal() { return (unit() + unit() + unit() + unit() - 2) * 1.7; }
  template <typename T> const T &of(const std::vector<T> &items) { return items[next() % items.size()]; }
  template <typename T> T of(std::initializer_list<T> items) { return items.begin()[next() % items.size()]; }
  template <typename T> void shuffle(T &items) {
    for (size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[next() % i]);
  }

private:
  uint64_t state;
};

} // namespace lathe::fuzz

#endif // LATHE_TEST_FUZZ_RNG_H
