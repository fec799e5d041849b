//===- Butterfly.cpp - Complex numbers and small transforms in registers ---===//
//
// A length that has factors is transformed along the columns and the rows of a matrix, with constant twiddles between. Of a
// prime the elements that lie symmetrically to the first are added and subtracted: a cosine then serves four products of
// real numbers, and so does a sine.
//
//===----------------------------------------------------------------------===//

#include "Butterfly.h"
#include "lathe/Dialect/Kernel/Transform.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;

Value ComplexBuilder::negate(Value x) { return d.b.create<arith::NegFOp>(d.loc, x); }

Complex ComplexBuilder::mul(const Complex &x, const Complex &y) {
  return {d.fma(negate(x.im), y.im, d.mulF(x.re, y.re)), d.fma(x.im, y.re, d.mulF(x.re, y.im))};
}

Complex ComplexBuilder::mul(const Complex &x, std::complex<double> w) {
  if (w.imag() == 0 && std::abs(w.real()) == 1)
    return w.real() == 1 ? x : Complex{negate(x.re), negate(x.im)};
  if (w.real() == 0 && std::abs(w.imag()) == 1)
    return w.imag() == 1 ? timesI(x) : Complex{x.im, negate(x.re)};
  return mul(x, {d.real(element, w.real()), d.real(element, w.imag())});
}

Complex ComplexBuilder::addScaled(const Complex &x, const Complex &y, double by) {
  Value factor = d.real(element, by);
  return {d.fma(y.re, factor, x.re), d.fma(y.im, factor, x.im)};
}

std::complex<double> ComplexBuilder::root(int64_t turns, int64_t of) const {
  std::complex<double> w = kernel::rootOfUnity(turns, of);
  return inverse ? w : std::conj(w);
}

void ComplexBuilder::transformPrime(SmallVectorImpl<Complex> &x) {
  size_t n = x.size(), half = n / 2;
  SmallVector<Complex> sums, differences;
  Complex total = x[0];
  for (size_t k = 1; k <= half; ++k) {
    sums.push_back(add(x[k], x[n - k]));
    differences.push_back(sub(x[k], x[n - k]));
    total = add(total, sums.back());
  }
  SmallVector<Complex> out(n, total);
  for (size_t q = 1; q <= half; ++q) {
    Complex even = x[0], odd{zero(), zero()};
    for (size_t k = 1; k <= half; ++k) {
      std::complex<double> w = root(q * k, n);
      Value cosine = d.real(element, w.real()), sine = d.real(element, w.imag());
      even = {d.fma(sums[k - 1].re, cosine, even.re), d.fma(sums[k - 1].im, cosine, even.im)};
      odd = k == 1 ? Complex{d.mulF(differences[0].re, sine), d.mulF(differences[0].im, sine)}
                   : Complex{d.fma(differences[k - 1].re, sine, odd.re), d.fma(differences[k - 1].im, sine, odd.im)};
    }
    out[q] = add(even, timesI(odd));
    out[n - q] = sub(even, timesI(odd));
  }
  x.assign(out.begin(), out.end());
}

/// Four where that divides the length, or its least prime.
static size_t firstFactor(size_t n) {
  if (n % 4 == 0)
    return 4;
  size_t p = 2;
  while (n % p)
    ++p;
  return p;
}

void ComplexBuilder::transform(SmallVectorImpl<Complex> &x) {
  size_t n = x.size();
  if (n == 1)
    return;
  if (n == 2) {
    Complex sum = add(x[0], x[1]), difference = sub(x[0], x[1]);
    x[0] = sum;
    x[1] = difference;
    return;
  }
  size_t rows = n == 4 ? 2 : firstFactor(n), columns = n / rows;
  if (columns == 1)
    return transformPrime(x);
  SmallVector<SmallVector<Complex>> found;
  for (size_t j = 0; j < columns; ++j) {
    SmallVector<Complex> column;
    for (size_t i = 0; i < rows; ++i)
      column.push_back(x[i * columns + j]);
    transform(column);
    found.push_back(column);
  }
  for (size_t k = 0; k < rows; ++k) {
    SmallVector<Complex> row;
    for (size_t j = 0; j < columns; ++j)
      row.push_back(mul(found[j][k], root(k * j, n)));
    transform(row);
    for (size_t j = 0; j < columns; ++j)
      x[k + rows * j] = row[j];
  }
}
