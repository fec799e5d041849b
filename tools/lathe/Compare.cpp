//===- Compare.cpp - Outputs against expected values -----------------------===//
#include "Compare.h"
#include "lathe/Support/Diagnostics.h"
#include <cmath>

using namespace llvm;
using namespace lathe;
using namespace lathe::tool;

double Tolerance::rtolFor(DLDataType type) const {
  if (rtol)
    return *rtol;
  double unit = 0;
  if (type.code == kDLFloat && type.bits == 16)
    unit = 1.0 / 1024;
  else if (type.code == kDLBfloat)
    unit = 1.0 / 128;
  else if (type.code == Float8E5M2 || type.code == Float8E5M2FNUZ)
    unit = 1.0 / 4;
  else if (isFloating(type) && type.bits <= 8)
    unit = 1.0 / 8;
  return std::max(1e-3, 2 * unit);
}

/// How far the element is beyond its tolerance: the absolute difference, infinite for a NaN or infinity on one side alone;
/// negative when it agrees.
static double excess(const Element &got, const Element &want, double rtol, double atol) {
  if (got.isInteger && want.isInteger) {
    if (got.isNegative == want.isNegative && got.magnitude == want.magnitude)
      return -1;
  }
  std::complex<double> g = got.number, w = want.number;
  auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  if (!std::isfinite(g.real()) || !std::isfinite(w.real()) || !std::isfinite(g.imag()) || !std::isfinite(w.imag()))
    return same(g.real(), w.real()) && same(g.imag(), w.imag()) ? -1 : HUGE_VAL;
  double difference = std::abs(g - w);
  if (got.isInteger && want.isInteger && difference == 0)
    difference = 1; // they differ, as integers beyond the precision of a double
  return difference <= atol + rtol * std::abs(w) ? -1 : difference;
}

static std::string describe(const Element &value) {
  if (value.isInteger)
    return (value.isNegative ? "-" : "") + std::to_string(value.magnitude);
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.9g", value.number.real());
  std::string text = buffer;
  if (value.number.imag() != 0) {
    std::snprintf(buffer, sizeof buffer, "%+.9gi", value.number.imag());
    text += buffer;
  }
  return text;
}

/// "[1, 0, 5]" of a flat index.
static std::string position(uint64_t index, ArrayRef<int64_t> shape) {
  std::vector<std::string> parts(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    parts[d] = std::to_string(index % shape[d]);
    index /= shape[d];
  }
  std::string text = "[";
  for (size_t d = 0; d < parts.size(); ++d)
    text += (d ? ", " : "") + parts[d];
  return text + "]";
}

Error lathe::tool::compare(StringRef name, const DLTensor &got, const HostTensor &want, uint64_t stride, const Tolerance &tolerance) {
  ArrayRef<int64_t> shape(got.shape, got.ndim);
  uint64_t elements = *countElements(shape), expected = want.elements();
  if (stride == 1 ? shape != ArrayRef<int64_t>(want.shape) : (elements + stride - 1) / stride != expected)
    return userError("output '{0}' has shape {1}, expected {2}{3}", name, shapeText(shape), shapeText(want.shape),
                     stride == 1 ? "" : " elements of every " + std::to_string(stride));
  if (isFloating(got.dtype) != isFloating(want.dtype) || (got.dtype.code == kDLBool) != (want.dtype.code == kDLBool))
    return userError("output '{0}' is {1}, expected {2}", name, dtypeName(got.dtype), dtypeName(want.dtype));
  double rtol = tolerance.rtolFor(got.dtype), atol = tolerance.atolFor(), worst = -1;
  uint64_t differing = 0, worstAt = 0;
  for (uint64_t i = 0; i < expected; ++i) {
    double beyond = excess(elementAt(got, i * stride), elementAt(want.data(), want.dtype, i), rtol, atol);
    if (beyond < 0)
      continue;
    ++differing;
    if (beyond > worst) {
      worst = beyond;
      worstAt = i;
    }
  }
  if (!differing)
    return Error::success();
  return userError("output '{0}': {1} of {2} elements differ (rtol {3}, atol {4}), the worst at {5}: {6}, expected {7}", name,
                   differing, expected, describe(Element{false, false, 0, rtol}), describe(Element{false, false, 0, atol}),
                   position(worstAt * stride, shape), describe(elementAt(got, worstAt * stride)),
                   describe(elementAt(want.data(), want.dtype, worstAt)));
}
