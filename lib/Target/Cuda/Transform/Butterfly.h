//===- Butterfly.h - Complex numbers and small transforms in registers -----===//
#ifndef LATHE_LIB_TARGET_CUDA_BUTTERFLY_H
#define LATHE_LIB_TARGET_CUDA_BUTTERFLY_H

#include "../DeviceBuilder.h"
#include <complex>

namespace lathe::cuda {

struct Complex {
  Value re, im;
};

class ComplexBuilder {
public:
  ComplexBuilder(DeviceBuilder &d, Type element, bool inverse) : d(d), element(element), inverse(inverse) {}
  Complex add(const Complex &x, const Complex &y) { return {d.addF(x.re, y.re), d.addF(x.im, y.im)}; }
  Complex sub(const Complex &x, const Complex &y) { return {d.subF(x.re, y.re), d.subF(x.im, y.im)}; }
  Complex mul(const Complex &x, const Complex &y);
  /// Nothing is multiplied by powers of i.
  Complex mul(const Complex &x, std::complex<double> w);
  Complex addScaled(const Complex &x, const Complex &y, double by); ///< x + y * by
  Complex conjugate(const Complex &x) { return {x.re, negate(x.im)}; }
  Complex timesI(const Complex &x) { return {negate(x.im), x.re}; }
  Value zero() { return d.real(element, 0); }
  Value negate(Value x);
  /// In place, the frequencies in their order.
  void transform(llvm::SmallVectorImpl<Complex> &x);
  /// e^(-2 pi i turns / of), of an inverse transform e^(+2 pi i turns / of).
  std::complex<double> root(int64_t turns, int64_t of) const;

private:
  void transformPrime(llvm::SmallVectorImpl<Complex> &x);

  DeviceBuilder &d;
  Type element;
  bool inverse;
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_BUTTERFLY_H
