//===- EmulatedFloat8.cpp - Floats of 8 bits on the CPU --------------------===//

#include "Emulator.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringRef.h"
#include <cmath>

using namespace lathe::emulator;
using llvm::APFloat;
using llvm::StringRef;

static const llvm::fltSemantics &semanticsOf(Float8 format) {
  return format == Float8::E4M3 ? APFloat::Float8E4M3FN() : APFloat::Float8E5M2();
}

static std::array<float, 256> makeNumbers(Float8 format) {
  std::array<float, 256> out;
  for (unsigned code = 0; code < 256; ++code) {
    APFloat v(semanticsOf(format), llvm::APInt(8, code));
    bool lossy;
    v.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &lossy);
    out[code] = v.convertToFloat();
  }
  return out;
}

const std::array<float, 256> &lathe::emulator::numbersOf(Float8 format) {
  static const std::array<float, 256> e4m3 = makeNumbers(Float8::E4M3), e5m2 = makeNumbers(Float8::E5M2);
  return format == Float8::E4M3 ? e4m3 : e5m2;
}

/// cvt.rn.satfinite: what lies beyond the largest number becomes that, NaN one NaN.
static uint8_t toFloat8(float x, Float8 format) {
  if (std::isnan(x))
    return 0x7F;
  APFloat largest = APFloat::getLargest(semanticsOf(format), std::signbit(x)), v(x);
  bool lossy;
  v.convert(semanticsOf(format), APFloat::rmNearestTiesToEven, &lossy);
  return uint8_t((v.isFinite() ? v : largest).bitcastToAPInt().getZExtValue());
}

static uint64_t toHalf(float x) {
  _Float16 half = _Float16(x);
  uint16_t bits;
  memcpy(&bits, &half, sizeof bits);
  return bits;
}

Semantics lathe::emulator::float8InstructionFor(const std::string &text) {
  StringRef name(text);
  Float8 format = name.contains(".e5m2x2") ? Float8::E5M2 : Float8::E4M3;
  if (name.starts_with("cvt.rn.f16x2.e"))
    return [format](const uint64_t *a, uint64_t *r) {
      *r = toHalf(numbersOf(format)[uint8_t(a[0])]) | toHalf(numbersOf(format)[uint8_t(a[0] >> 8)]) << 16;
    };
  if (name.starts_with("cvt.rn.satfinite.e")) // the first number's code is the upper one
    return [format](const uint64_t *a, uint64_t *r) { *r = uint64_t(toFloat8(asFloat(a[0]), format)) << 8 | toFloat8(asFloat(a[1]), format); };
  return nullptr;
}
