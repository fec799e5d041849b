//===- NarrowCast.cpp - Conversions of types that are for storage ----------===//
//
// By the values of all codes: the nearest one is searched for, not computed.
//
//===----------------------------------------------------------------------===//

#include "Interpreter.h"
#include "lathe/Dialect/Lathe/ElementTypes.h"
#include <cmath>

using namespace mlir;
using namespace lathe;
using namespace lathe::interpret;

/// Types whose elements a Tensor holds as codes, since MLIR has no arithmetic for them.
static bool isCoded(Type e) { return isa<ir::f8E8M0Type, ir::f4E2M1Type>(e); }

bool interpret::isNarrowCast(Operation *op) {
  return isa<ir::CastOp, ir::BitcastOp>(op) &&
         (isCoded(ir::elementOf(op->getOperand(0))) || isCoded(ir::elementOf(op->getResult(0))));
}

static double decode(int64_t code, Type e) {
  if (isa<ir::f8E8M0Type>(e))
    return code == 0xFF ? NAN : std::ldexp(1.0, int(code) - 127);
  static const double values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return code & 8 ? -values[code & 7] : values[code & 7];
}

/// The nearest number, ties to the even code; of powers of two the one not above |x|.
static int64_t encode(double x, Type e) {
  if (isa<ir::f8E8M0Type>(e)) {
    if (std::isnan(x) || std::isinf(x))
      return 0xFF;
    int64_t code = 0;
    while (code < 0xFE && decode(code + 1, e) <= std::fabs(x))
      ++code;
    return code;
  }
  if (std::isnan(x))
    return 8;
  int64_t best = 0;
  for (int64_t code = 1; code < 8; ++code) {
    double mine = std::fabs(std::fabs(x) - decode(code, e)), other = std::fabs(std::fabs(x) - decode(best, e));
    if (mine < other || (mine == other && code % 2 == 0) || std::isinf(x))
      best = code;
  }
  return std::signbit(x) ? best | 8 : best;
}

Tensor interpret::runNarrowCast(Operation *op, const Tensor &x) {
  Tensor out(ir::typeOf(op->getResult(0)));
  Type from = x.type.getElementType(), to = out.type.getElementType();
  for (int64_t i = 0; i < x.size(); ++i) {
    if (isa<ir::BitcastOp>(op)) { // between codes and integers of their width
      out.ints[i] = isCoded(to) ? x.ints[i] & (ir::bitsOf(to) == 8 ? 0xFF : 0xF) : ir::wrapTo(x.ints[i], to);
      continue;
    }
    double v = isCoded(from) ? decode(x.ints[i], from) : x.isFloat() ? x.floats[i] : double(x.ints[i]);
    if (isCoded(to))
      out.ints[i] = encode(v, to);
    else if (out.isFloat())
      out.floats[i] = ir::roundTo(v, to);
    else
      out.ints[i] = std::isnan(v) ? 0 : ir::wrapTo(int64_t(v), to);
  }
  return out;
}
