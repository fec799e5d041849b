//===- WinogradTransform.cpp - The transforms of a minimal filtering -------===//
//
// The places are 0, pairs p and -p, and infinity. A polynomial's even and odd part serve both of a pair.
//
//===----------------------------------------------------------------------===//

#include "WinogradTransform.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using kernel::Winograd;
using Values = VectorBuilder::Values;

/// factor * x + y.
static Value addScaled(VectorBuilder &v, double factor, Value x, Value y) {
  if (factor == 1)
    return v.addf(y, x);
  return factor == -1 ? v.subf(y, x) : v.fma(v.f(factor), x, y);
}

/// Of the product of (x^2 - q^2) over the pairs but `skipped`, those of x^0, x^2, ..; the last one is 1.
static SmallVector<double> coefficients(const Winograd &w, size_t skipped) {
  SmallVector<double> c{1};
  for (auto [i, q] : llvm::enumerate(w.pairs())) {
    if (i == skipped)
      continue;
    c.insert(c.begin(), 0);
    for (size_t k = 0; k + 1 < c.size(); ++k)
      c[k] -= q * q * c[k + 1];
  }
  return c;
}

/// The sum of c[k] * image[first + 2 * k].
static Value combine(VectorBuilder &v, ArrayRef<double> c, ArrayRef<Value> image, size_t first) {
  Value sum = image[first + 2 * (c.size() - 1)];
  for (size_t k = c.size() - 1; k-- > 0;)
    sum = addScaled(v, c[k], image[first + 2 * k], sum);
  return sum;
}

/// At a place the polynomial that is zero at all others.
Values cpu::transformImage(VectorBuilder &v, const Winograd &w, ArrayRef<Value> image) {
  if (w.isPlain())
    return Values(image.begin(), image.end());
  ArrayRef<double> pairs = w.pairs();
  SmallVector<double> all = coefficients(w, pairs.size());
  Values out{combine(v, all, image, 0)};
  for (size_t i = 0; i < pairs.size(); ++i) {
    SmallVector<double> others = coefficients(w, i);
    Value even = combine(v, others, image, 2), odd = combine(v, others, image, 1);
    out.push_back(addScaled(v, pairs[i], odd, even));
    out.push_back(addScaled(v, -pairs[i], odd, even));
  }
  out.push_back(combine(v, all, image, 1));
  return out;
}

/// Result k is the sum of place^k * product, each scaled as the filter wants it; at infinity the last result has the product alone.
Values cpu::transformProducts(VectorBuilder &v, const Winograd &w, ArrayRef<Value> products) {
  if (w.isPlain())
    return Values(products.begin(), products.end());
  ArrayRef<double> pairs = w.pairs();
  Values sums, differences, out;
  for (size_t i = 0; i < pairs.size(); ++i) {
    sums.push_back(v.addf(products[2 * i + 1], products[2 * i + 2]));
    differences.push_back(v.subf(products[2 * i + 1], products[2 * i + 2]));
  }
  SmallVector<double> powers;
  for (size_t i = 0; i < pairs.size(); ++i)
    powers.push_back(w.scale(1 + 2 * i));
  Value first = w.scale(0) == 1 ? products[0] : v.mulf(v.f(w.scale(0)), products[0]);
  for (int64_t k = 0; k < w.results; ++k) {
    const Values &parts = k % 2 ? differences : sums;
    Value sum = k == 0 ? first : k + 1 == w.results ? products.back() : Value();
    for (size_t i = 0; i < pairs.size(); ++i) {
      sum = sum ? addScaled(v, powers[i], parts[i], sum) : powers[i] == 1 ? parts[i] : v.mulf(v.f(powers[i]), parts[i]);
      powers[i] *= pairs[i];
    }
    out.push_back(sum);
  }
  return out;
}
