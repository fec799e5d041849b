//===- Unary.cpp - Elementwise operators of one operand --------------------===//

#include "Unary.h"

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

/// Inference: nothing is dropped, and the mask says so.
void dropout(Node &n) {
  Value x = n.in(0);
  bool training = n.has(2) && n.constantScalar(2) != 0;
  if (training)
    failUnsupported("training mode");
  n.out(0, x);
  if (n.wants(1)) // the mask has been boolean since opset 10
    n.out(1, n.g.splat(1, n.dims(x), n.opset() >= 10 ? Type(n.g.b.getI1Type()) : n.element(x)));
}

void reciprocal(Node &n) {
  Value x = n.in(0);
  n.requireFloat(x);
  n.out(n.g.div(n.g.splatLike(1, x), x));
}

void isNan(Node &n) {
  Value x = n.in(0);
  n.requireFloat(x);
  n.out(n.g.compare(ir::CompareKind::NE, x, x));
}

void isInf(Node &n) {
  Value x = n.in(0);
  n.requireFloat(x);
  const double inf = std::numeric_limits<double>::infinity();
  bool negative = n.flag("detect_negative", true), positive = n.flag("detect_positive", true);
  auto is = [&](double v) { return n.g.compare(ir::CompareKind::EQ, x, n.g.splatLike(v, x)); };
  if (negative && positive)
    return n.out(n.g.binary<ir::OrOp>(is(-inf), is(inf)));
  if (!negative && !positive)
    return n.out(n.g.splat(0, n.dims(x), n.g.b.getI1Type()));
  n.out(is(negative ? -inf : inf));
}


void cast(Node &n) { n.out(n.g.cast(n.in(0), n.elementOfOnnx(n.requiredInteger("to")))); }
void castLike(Node &n) { n.out(n.g.cast(n.in(0), n.element(n.in(1)))); }

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
