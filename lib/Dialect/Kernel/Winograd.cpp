//===- Winograd.cpp - Sliding sums of three products with fewer of them ----===//

#include "lathe/Dialect/Kernel/Winograd.h"

using namespace lathe;
using kernel::Winograd;

/// Of few digits, so that the transforms' coefficients are exact. With 3/4 and 3/2 the results of 64 to 512 channels are off by 1e-6 to
/// 4e-6 of the largest one, twice what a plain sum is off by; with 1 and 2, as one finds them in the literature, by 5e-6 to 1e-5.
llvm::ArrayRef<double> Winograd::pairs() const {
  static const double one[] = {1}, two[] = {0.75, 1.5};
  llvm::ArrayRef<double> all = isPlain() ? llvm::ArrayRef<double>() : packed == 2 ? llvm::ArrayRef(one) : llvm::ArrayRef(two);
  return all.take_front(results / 2);
}

double Winograd::scale(int64_t place) const {
  if (place + 1 == places())
    return 1;
  double at = place ? pairs()[(place - 1) / 2] : 0, distances = 1;
  for (double q : Winograd(packed).pairs().drop_front(pairs().size()))
    distances *= at * at - q * q;
  return distances;
}

/// The filter's polynomial at each place, divided by the product of the place's distances to the others: from taps[k * stride], k < 3, to
/// out[place * stride]. T: a number, or several.
template <typename T> static void transformAlong(const Winograd &w, const T *taps, T *out, int64_t stride) {
  if (w.isPlain()) {
    *out = *taps;
    return;
  }
  double even = 1; // of 0, to all others
  for (double p : w.pairs())
    even *= -p * p;
  out[0] = taps[0] / even;
  int64_t place = 1;
  for (double p : w.pairs()) {
    double distances = 2 * p * p;
    for (double q : w.pairs())
      distances *= q == p ? 1 : p * p - q * q;
    for (double at : {p, -p})
      out[stride * place++] = (taps[0] + at * (taps[stride] + at * taps[2 * stride])) / distances;
  }
  out[stride * place] = taps[2 * stride];
}

template <typename T> static void transform(const Winograd &high, const Winograd &wide, const T *taps, T *out) {
  constexpr int64_t most = 6;
  int64_t across = wide.isPlain() ? 1 : kernel::winogradTaps, down = high.isPlain() ? 1 : kernel::winogradTaps;
  T rows[kernel::winogradTaps * most];
  for (int64_t u = 0; u < down; ++u)
    transformAlong(wide, taps + u * across, rows + u * wide.places(), 1);
  for (int64_t v = 0; v < wide.places(); ++v)
    transformAlong(high, rows + v, out + v, wide.places());
}

void kernel::transformFilter(Winograd high, Winograd wide, const double *taps, double *out) { transform(high, wide, taps, out); }

void kernel::transformFilters(Winograd high, Winograd wide, const double (*taps)[winogradLanes], double (*out)[winogradLanes]) {
  using Lanes = double __attribute__((vector_size(winogradLanes * sizeof(double)), aligned(sizeof(double)), may_alias));
  transform(high, wide, reinterpret_cast<const Lanes *>(taps), reinterpret_cast<Lanes *>(out));
}
