//===- Unary.cpp - Elementwise operators of one operand --------------------===//

#include "Unary.h"
#include "Narrow.h"
#include <cmath>

using namespace lathe;

namespace lathe::onnx {

void unaryOf(Node &n, Accepts accepts, Value (*build)(ir::GraphBuilder &, Value)) {
  Value x = n.in(0);
  if (accepts == Accepts::Floats)
    n.requireFloat(x);
  else if (accepts == Accepts::Numbers)
    n.requireNumber(x);
  else if (accepts == Accepts::Integers)
    n.requireInteger(x);
  else
    n.requireBool(x);
  n.out(build(n.g, x));
}

void identity(Node &n) { n.out(n.in(0)); }

void reciprocal(Node &n) {
  Value x = n.in(0);
  n.requireFloat(x);
  n.out(n.g.div(n.g.splatLike(1, x), x));
}

/// Floats of eight bits have infinities and NaN (or not) as f32 has them.
static Value classified(Node &n) {
  Value x = n.in(0);
  if (n.isFloat(x) && ir::isNarrow(n.element(x)))
    return n.g.cast(x, n.g.b.getF32Type());
  n.requireFloat(x);
  return x;
}

void isNan(Node &n) {
  Value x = classified(n);
  n.out(n.g.compare(ir::CompareKind::NE, x, x));
}

void isInf(Node &n) {
  Value x = classified(n);
  const double inf = std::numeric_limits<double>::infinity();
  bool negative = n.flag("detect_negative", true), positive = n.flag("detect_positive", true);
  auto is = [&](double v) { return n.g.compare(ir::CompareKind::EQ, x, n.g.splatLike(v, x)); };
  if (negative && positive)
    return n.out(n.g.binary<ir::OrOp>(is(-inf), is(inf)));
  if (!negative && !positive)
    return n.out(n.g.splat(0, n.dims(x), n.g.b.getI1Type()));
  n.out(is(negative ? -inf : inf));
}

/// Brings x to a power of two in f32, as float8e8m0 has nothing else.
static Value powerOfTwo(Node &n, Value x) {
  std::string mode = n.text("round_mode", "up");
  bool saturates = n.flag("saturate", true);
  Type ui32 = n.g.b.getIntegerType(32, false), f32 = n.g.b.getF32Type();
  x = n.g.cast(x, f32);
  Value bits = n.g.bitcast(x, ui32);
  if (mode != "up" && mode != "down" && mode != "nearest")
    failWrong("attribute 'round_mode' is '{0}', expected up, down or nearest", mode);
  if (mode != "down")
    bits = n.g.binary<ir::AddOp>(bits, double(mode == "up" ? 0x7FFFFF : 0x400000));
  Value r = n.g.bitcast(n.g.binary<ir::AndOp>(bits, double(0x7F800000)), f32);
  if (saturates)
    r = n.g.binary<ir::MinOp>(r, std::ldexp(1.0, 127));
  Value isNan = n.g.compare(ir::CompareKind::NE, x, x);
  return n.g.select(isNan, x, r);
}

Value convert(Node &n, Value x, Type to) {
  const ir::NarrowType *narrow = ir::narrowType(to);
  if (!narrow || narrow->isInteger())
    return n.g.cast(x, to);
  if (ir::isNarrow(n.element(x)))
    x = n.g.cast(x, n.g.b.getF32Type());
  if (narrow->mantissa == 0) {
    x = powerOfTwo(n, x);
  } else if (n.flag("saturate", true) || narrow->bits < 8) {
    x = n.g.cast(n.wide(x), n.g.b.getF32Type());
    double most = ir::largestOf(*narrow);
    x = n.g.binary<ir::MinOp>(n.g.binary<ir::MaxOp>(x, -most), most);
  }
  return n.g.cast(x, to);
}

void cast(Node &n) { n.out(convert(n, n.in(0), n.elementOfOnnx(n.requiredInteger("to")))); }
void castLike(Node &n) { n.out(convert(n, n.in(0), n.element(n.in(1)))); }

void bitCast(Node &n) {
  Value x = n.in(0);
  Type to = n.elementOfOnnx(n.requiredInteger("to")), from = n.element(x);
  if (ir::bitsOf(from) != ir::bitsOf(to))
    failWrong("{0} as elements of {1} bits", describe(x.getType()), ir::bitsOf(to));
  Type ui8 = n.g.b.getIntegerType(8, false);
  if (n.isBool(x) || to.isInteger(1)) // a byte, 0 or 1
    return n.out(n.g.cast(n.g.bitcast(n.isBool(x) ? n.g.cast(x, ui8) : x, to.isInteger(1) ? ui8 : to), to));
  n.out(n.g.bitcast(x, to));
}

static Value bound(Node &n, Value x, unsigned input, const char *attribute) {
  if (n.opset() >= 11) {
    Value limit = n.maybe(input);
    if (!limit)
      return limit;
    n.requireSameElement({x, limit});
    if (n.rank(limit) == 1)
      limit = n.reshape(limit, {});
    n.requireRank(limit, 0);
    return n.broadcastTo(limit, n.dims(x));
  }
  return n.hasAttribute(attribute) ? n.g.splatLike(n.real(attribute, 0), x) : Value();
}

void clip(Node &n) {
  Value x = n.in(0);
  n.requireNumber(x);
  if (Value low = bound(n, x, 1, "min"))
    x = n.g.binary<ir::MaxOp>(x, low);
  if (Value high = bound(n, x, 2, "max"))
    x = n.g.binary<ir::MinOp>(x, high);
  n.out(x);
}

} // namespace lathe::onnx
