//===- RandomNumbers.h - Numbers drawn when compiling -----------------------===//
//
// Model formats leave the generator open. An artifact computes the same for the same inputs, from numbers drawn when it is
// compiled, if the user accepts that (--seed). They are those of the Mersenne Twister, read as numpy.random.RandomState does.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_IMPORT_RANDOMNUMBERS_H
#define LATHE_IMPORT_RANDOMNUMBERS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/xxhash.h"
#include <cmath>
#include <random>
#include <utility>

namespace lathe {

class RandomNumbers {
public:
  explicit RandomNumbers(uint32_t seed) : bits(seed) {}
  /// The user's seed gives every node numbers of its own.
  RandomNumbers(uint32_t seed, llvm::StringRef node) : bits(seed ^ uint32_t(llvm::xxh3_64bits(node))) {}
  /// In [0, 1), of 53 random bits.
  double uniform() {
    uint64_t high = bits() >> 5, low = bits() >> 6;
    return (double(high) * 67108864.0 + double(low)) / 9007199254740992.0;
  }
  /// Standard normal, by the polar method, two at a time.
  double normal() {
    if (std::exchange(hasNext, false))
      return next;
    double x, y, r;
    do {
      x = 2 * uniform() - 1;
      y = 2 * uniform() - 1;
      r = x * x + y * y;
    } while (r >= 1 || r == 0);
    double scale = std::sqrt(-2 * std::log(r) / r);
    next = scale * x;
    hasNext = true;
    return scale * y;
  }

private:
  std::mt19937 bits;
  bool hasNext = false;
  double next = 0;
};

} // namespace lathe

#endif // LATHE_IMPORT_RANDOMNUMBERS_H
