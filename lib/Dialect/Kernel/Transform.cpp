//===- Transform.cpp - Which Fourier transforms are one kernel -------------===//

#include "lathe/Dialect/Kernel/Transform.h"
#include <cmath>

using namespace lathe;

int64_t kernel::complexLength(TransformKind kind, int64_t length) {
  return kind != TransformKind::C2C && length % 2 == 0 ? length / 2 : length;
}

bool kernel::isTransformLength(TransformKind kind, int64_t length, mlir::Type element) {
  if (length < 1 || !(element.isF32() || element.isF64()))
    return false;
  int64_t rest = complexLength(kind, length);
  if (rest > longestTransform(element.getIntOrFloatBitWidth()))
    return false;
  for (int64_t p = 2; p <= largestPrime; ++p)
    while (rest % p == 0)
      rest /= p;
  return rest == 1;
}

std::complex<double> kernel::rootOfUnity(int64_t turns, int64_t of) {
  constexpr double pi = 3.14159265358979323846264338327950288;
  int64_t part = turns % of;
  // By eighths, so that what should be equal or 0 is.
  int64_t eighth = part * 8 / of, quarter = (eighth + 1) / 2;
  double rest = 2 * pi * (double(part) - double(quarter) * double(of) / 4) / double(of);
  std::complex<double> r(std::cos(rest), std::sin(rest));
  static const std::complex<double> quarters[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  return r * quarters[quarter % 4];
}
