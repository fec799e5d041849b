//===- Binary.cpp - Elementwise operators of two and more operands ---------===//

#include "Binary.h"

using namespace lathe;
using ir::CompareKind;

namespace lathe::onnx {

void binaryOf(Node &n, Accepts accepts, Value (*build)(ir::GraphBuilder &, Value, Value)) {
  Value v[2] = {n.in(0), n.in(1)};
  n.requireSameElement(v);
  if (accepts == Accepts::Bools)
    n.requireBool(v[0]);
  else if (accepts == Accepts::Integers)
    n.requireInteger(v[0]);
  else if (accepts == Accepts::Floats)
    n.requireFloat(v[0]);
  else
    n.requireNumber(v[0]);
  n.broadcast(v);
  n.out(build(n.g, v[0], v[1]));
}

void compareOf(Node &n, CompareKind kind) {
  Value v[2] = {n.in(0), n.in(1)};
  n.requireSameElement(v);
  if (kind != CompareKind::EQ)
    n.requireNumber(v[0]);
  n.broadcast(v);
  n.out(n.g.compare(kind, v[0], v[1]));
}

static llvm::SmallVector<Value> allInputs(Node &n) {
  llvm::SmallVector<Value> values;
  for (unsigned i = 0; i < n.numInputs(); ++i)
    values.push_back(n.in(i));
  if (values.empty())
    failWrong("operand 0 is missing");
  n.requireSameElement(values);
  n.requireNumber(values[0]);
  return values;
}

void variadicOf(Node &n, Value (*build)(ir::GraphBuilder &, Value, Value)) {
  llvm::SmallVector<Value> values = allInputs(n);
  n.broadcast(values);
  Value r = values[0];
  for (Value v : llvm::ArrayRef<Value>(values).drop_front())
    r = build(n.g, r, v);
  n.out(r);
}

void meanOfInputs(Node &n) {
  llvm::SmallVector<Value> values = allInputs(n);
  n.broadcast(values);
  Value r = values[0];
  for (Value v : llvm::ArrayRef<Value>(values).drop_front())
    r = n.g.add(r, v);
  n.out(n.g.div(r, n.g.splatLike(double(values.size()), r)));
}

/// An integer to a floating-point power, truncated. Whole exponents multiply integers, which is exact; others are computed in
/// f64, where a root that is an integer comes out an ulp or so below it and must not be truncated to the one before.
static Value integerToFloatPower(Node &n, Value x, Value y) {
  Type f64 = n.g.b.getF64Type(), i64 = n.g.b.getI64Type(), base = n.element(x);
  Value exponent = n.g.cast(y, f64), whole = n.g.unary<ir::TruncOp>(exponent);
  Value isWhole = n.g.binary<ir::AndOp>(n.g.compare(CompareKind::EQ, whole, exponent),
                                        n.g.compare(CompareKind::GE, whole, n.g.splatLike(0, whole)));
  Value count = n.g.cast(n.g.select(isWhole, whole, n.g.splatLike(0, whole)), i64);
  Value product = n.g.cast(n.g.binary<ir::PowOp>(n.g.cast(x, i64), count), base);
  Value power = n.g.binary<ir::PowOp>(n.g.cast(x, f64), exponent), nearest = n.g.unary<ir::RoundOp>(power);
  Value off = n.g.unary<ir::AbsOp>(n.g.sub(power, nearest));
  Value isNear = n.g.compare(CompareKind::LE, off, n.g.binary<ir::MulOp>(n.g.unary<ir::AbsOp>(nearest), 0x1p-46));
  return n.g.select(isWhole, product, n.g.cast(n.g.select(isNear, nearest, power), base));
}

/// The result has the base's type; an exponent of another type is converted to it, where that keeps its fraction.
void pow(Node &n) {
  Value v[2] = {n.in(0), n.in(1)};
  n.requireNumber(v[0]);
  n.requireNumber(v[1]);
  n.broadcast(v);
  if (!n.isFloat(v[0]) && n.isFloat(v[1]))
    return n.out(integerToFloatPower(n, v[0], v[1]));
  n.out(n.g.binary<ir::PowOp>(v[0], n.g.cast(v[1], n.element(v[0]))));
}

/// fmod has the dividend's sign, the plain modulus the divisor's.
void mod(Node &n) {
  bool isFmod = n.flag("fmod", false);
  if (!isFmod && n.isFloat(n.in(0)) && n.opset() < 28)
    failWrong("floating-point operands need fmod=1 before opset 28");
  if (isFmod)
    return binary<ir::RemOp, Accepts::Numbers>(n);
  binary<ir::ModOp, Accepts::Numbers>(n);
}

void bitShift(Node &n) {
  std::string direction = n.text("direction", "");
  if (direction == "LEFT")
    return binary<ir::ShlOp, Accepts::Integers>(n);
  if (direction == "RIGHT")
    return binary<ir::ShrOp, Accepts::Integers>(n);
  failWrong("attribute 'direction' is '{0}', expected LEFT or RIGHT", direction);
}

void where(Node &n) {
  Value v[3] = {n.in(0), n.in(1), n.in(2)};
  n.requireBool(v[0]);
  n.requireSameElement({v[1], v[2]});
  n.broadcast(v);
  n.out(n.g.select(v[0], v[1], v[2]));
}

void prelu(Node &n) {
  Value x = n.in(0), slope = n.in(1);
  n.requireSameElement({x, slope});
  n.requireNumber(x);
  slope = n.broadcastTo(slope, n.dims(x));
  Value negative = n.g.compare(CompareKind::LT, x, n.g.splatLike(0, x));
  n.out(n.g.select(negative, n.g.mul(x, slope), x));
}

} // namespace lathe::onnx
