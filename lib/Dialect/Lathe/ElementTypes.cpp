//===- ElementTypes.cpp - The narrow element types -------------------------===//

#include "lathe/Dialect/Lathe/ElementTypes.h"
#include <cmath>

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;

template <typename T> static Type floatOf(MLIRContext *c) { return T::get(c); }
template <unsigned bits> static Type unsignedOf(MLIRContext *c) { return IntegerType::get(c, bits, IntegerType::Unsigned); }
template <unsigned bits> static Type signedOf(MLIRContext *c) { return IntegerType::get(c, bits); }

static const NarrowType narrowTypes[] = {
    // name, DLPack code, bits, type, mantissa, bias, last, overflow, nan, -0
    {"float8e4m3fn", 10, 8, floatOf<Float8E4M3FNType>, 3, 7, 0x7E, 0x7F, 0x7F, true},
    {"float8e4m3fnuz", 11, 8, floatOf<Float8E4M3FNUZType>, 3, 8, 0x7F, 0x80, 0x80, false},
    {"float8e5m2", 12, 8, floatOf<Float8E5M2Type>, 2, 15, 0x7B, 0x7C, 0x7E, true},
    {"float8e5m2fnuz", 13, 8, floatOf<Float8E5M2FNUZType>, 2, 16, 0x7F, 0x80, 0x80, false},
    {"float8e8m0", 14, 8, floatOf<f8E8M0Type>, 0, 127, 0xFE, 0xFF, 0xFF, false},
    {"float4e2m1", 17, 4, floatOf<f4E2M1Type>, 1, 1, 0x7, 0x7, 0x8, true},
    {"int4", 0, 4, signedOf<4>, 0, 0, 0, 0, 0, false},
    {"uint4", 1, 4, unsignedOf<4>, 0, 0, 0, 0, 0, false},
    {"int2", 0, 2, signedOf<2>, 0, 0, 0, 0, 0, false},
    {"uint2", 1, 2, unsignedOf<2>, 0, 0, 0, 0, 0, false},
};

const NarrowType *ir::narrowType(Type element) {
  for (const NarrowType &row : narrowTypes)
    if (row.get(element.getContext()) == element)
      return &row;
  return nullptr;
}

const NarrowType *ir::narrowType(StringRef name) {
  for (const NarrowType &row : narrowTypes)
    if (name == row.name)
      return &row;
  return nullptr;
}

unsigned ir::bitsOf(Type element) {
  if (const NarrowType *narrow = narrowType(element))
    return narrow->bits;
  return element.isInteger(1) ? 8 : element.getIntOrFloatBitWidth();
}

double ir::largestOf(const NarrowType &t) {
  unsigned one = 1u << t.mantissa;
  return std::ldexp(double(one + (t.last & (one - 1))), int(t.last >> t.mantissa) - t.bias - t.mantissa);
}
