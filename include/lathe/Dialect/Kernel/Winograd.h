//===- Winograd.h - Sliding sums of three products with fewer of them ------===//
//
// Winograd's minimal filtering F(m, 3): m neighbouring results of a filter with three taps from m + 2 products instead of 3 m
// (A. Lavin, S. Gray, Fast Algorithms for Convolutional Neural Networks, 2015). Image, filter and products are polynomials that are
// multiplied at m + 2 places: 0, pairs of numbers of either sign, and infinity. In two dimensions the transforms are applied along
// one after the other.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_DIALECT_KERNEL_WINOGRAD_H
#define LATHE_DIALECT_KERNEL_WINOGRAD_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace lathe::kernel {

/// The attribute of a load of a packed filter, and of its kernel.pack, that says so: results of a tile along the last two axes of
/// the image, 1 along one that no window slides over.
constexpr const char *winogradName = "winograd";

/// Beside it where the kernel has the filter as it is for the direct form: the number of the operand that is transformed.
constexpr const char *winogradFilterName = "winograd_filter";

/// Taps of the filters, of each dimension that is transformed.
constexpr int64_t winogradTaps = 3;

/// F(results, 3); F(1, 3) stands for a dimension that is left as it is. A filter that is there at the places of more results serves
/// fewer: it has their places among its own, and products differ by a factor.
class Winograd {
public:
  explicit Winograd(int64_t results) : results(results), packed(results) {}
  /// With a filter that was transformed for tiles of `packed` results.
  Winograd(int64_t results, int64_t packed) : results(results), packed(packed) {}
  static bool knows(int64_t results) { return results == 1 || results == 2 || results == 4; }
  /// Whether a filter for tiles of `packed` results serves tiles of `results`.
  static bool serves(int64_t packed, int64_t results) {
    return knows(packed) && knows(results) && results <= packed && (results == 1) == (packed == 1);
  }

  const int64_t results, packed;
  bool isPlain() const { return results == 1; }
  /// Elements of the image that a tile reads, and products that it takes.
  int64_t places() const { return isPlain() ? 1 : results + winogradTaps - 1; }
  /// Of the filter; those that the products leave out come before infinity.
  int64_t packedPlaces() const { return isPlain() ? 1 : packed + winogradTaps - 1; }
  /// Each p stands for p and -p. In the order of places: 0, p, -p, .., infinity.
  llvm::ArrayRef<double> pairs() const;
  /// What the product at a place is multiplied with: the place's distances to those that the filter has beside.
  double scale(int64_t place) const;
};

/// The filters of a tile of high x wide results: from taps, those along the width fastest, to places.
void transformFilter(Winograd high, Winograd wide, const double *taps, double *out);

/// Of so many filters side by side, which are transformed like each of them.
constexpr int64_t winogradLanes = 8;
void transformFilters(Winograd high, Winograd wide, const double (*taps)[winogradLanes], double (*out)[winogradLanes]);

} // namespace lathe::kernel

#endif // LATHE_DIALECT_KERNEL_WINOGRAD_H
