//===- Pools.cpp - Sliding maxima and means --------------------------------===//
//
// A pool is the combination of one strided slice of the padded operand per place in the window.
//
//===----------------------------------------------------------------------===//

#include "Windows.h"
#include <limits>

using namespace lathe;
using llvm::SmallVector;

namespace lathe::onnx {

/// Windows with more places than this would make graphs that nobody wants to compile.
static constexpr int64_t kMaxPlaces = 1024;

namespace {
struct Pool {
  Value x;
  Windows w;
  int64_t places = 1;
};
} // namespace

static Pool poolOf(Node &n) {
  Pool p;
  p.x = n.in(0);
  n.requireRankAtLeast(p.x, 3);
  n.requireNumber(p.x);
  SmallVector<int64_t> kernel = n.integers("kernel_shape");
  if (int64_t(kernel.size()) != n.rank(p.x) - 2)
    failWrong("attribute 'kernel_shape' has {0} entries for {1}", kernel.size(), describe(p.x.getType()));
  for (int64_t k : kernel) {
    if (k < 1)
      failWrong("attribute 'kernel_shape' holds {0}", k);
    if (k > kMaxPlaces || (p.places *= k) > kMaxPlaces)
      failUnsupported("a window of more than {0} elements", kMaxPlaces);
  }
  Dims dims = n.dims(p.x);
  p.w = windowsOf(n, Dims(dims.begin() + 2, dims.end()), kernel);
  return p;
}

/// Combines, over the places of the window, the slices of x surrounded with the value.
static Value combine(Node &n, Value x, Value around, const Windows &w, int64_t places, llvm::function_ref<Value(Value, Value)> f) {
  Dims low(2, Expr(0)), high(2, Expr(0));
  size_t count = w.kernel.size();
  for (size_t i = 0; i < count; ++i) {
    // With ceil_mode the last window may reach beyond the high padding.
    Expr reach((w.kernel[i] - 1) * w.dilations[i] + 1), size = n.dims(x)[i + 2];
    Expr needed = n.simplify((w.out[i] - Expr(1)) * Expr(w.strides[i]) + reach - size - w.low[i]);
    low.push_back(w.low[i]);
    high.push_back(n.simplify(Expr::max(w.high[i], needed)));
  }
  Value padded = padWith(n, x, around, low, high), r;
  for (int64_t place = 0; place < places; ++place) {
    Value part = padded;
    for (int64_t rest = place, i = int64_t(count) - 1; i >= 0; rest /= w.kernel[i], --i)
      part = n.g.slice(part, i + 2, Expr(rest % w.kernel[i] * w.dilations[i]), w.out[i], w.strides[i]);
    r = r ? f(r, part) : part;
  }
  return r;
}

/// The smallest value of the element type.
static Value lowest(Node &n, Type element) {
  if (llvm::isa<mlir::FloatType>(element))
    return n.g.scalar(-std::numeric_limits<double>::infinity(), element);
  unsigned width = element.getIntOrFloatBitWidth();
  return n.constantInteger(element.isUnsignedInteger() ? 0 : -(int64_t(1) << (width - 1)), element);
}

void maxPool(Node &n) {
  Pool p = poolOf(n);
  n.out(combine(n, p.x, lowest(n, n.element(p.x)), p.w, p.places, [&](Value a, Value b) { return n.g.binary<ir::MaxOp>(a, b); }));
}

void averagePool(Node &n) {
  Pool p = poolOf(n);
  n.requireFloat(p.x);
  auto add = [&](Value a, Value b) { return n.g.add(a, b); };
  Value x = n.wide(p.x), zero = n.g.scalar(0, n.element(x));
  Value sum = combine(n, x, zero, p.w, p.places, add);
  bool countsPads = n.flag("count_include_pad", false);
  // The number of elements that a window covers: those of the operand, or those and the padding.
  Dims ones = n.dims(x);
  ones[0] = ones[1] = Expr(1);
  Windows inner = p.w;
  if (countsPads)
    for (size_t i = 0; i < inner.kernel.size(); ++i) {
      ones[i + 2] = n.simplify(ones[i + 2] + inner.low[i] + inner.high[i]);
      inner.low[i] = inner.high[i] = Expr(0);
    }
  bool padded = llvm::any_of(llvm::concat<const Expr>(inner.low, inner.high), [](const Expr &e) { return !e.isZero(); });
  if (!padded && !n.flag("ceil_mode", false))
    return n.out(n.g.cast(n.g.div(sum, n.g.splatLike(double(p.places), sum)), n.element(p.x)));
  Value covered = combine(n, n.g.splat(1, ones, n.element(x)), zero, inner, p.places, add);
  n.out(n.g.cast(n.g.div(sum, n.g.broadcastTo(covered, n.dims(sum))), n.element(p.x)));
}

void lpPool(Node &n) {
  Pool p = poolOf(n);
  n.requireFloat(p.x);
  double power = double(n.integer("p", 2));
  Value x = n.wide(p.x);
  Value powers = n.g.binary<ir::PowOp>(n.g.unary<ir::AbsOp>(x), power);
  Value sum = combine(n, powers, n.g.scalar(0, n.element(x)), p.w, p.places, [&](Value a, Value b) { return n.g.add(a, b); });
  n.out(n.g.cast(n.g.binary<ir::PowOp>(sum, 1 / power), n.element(p.x)));
}

} // namespace lathe::onnx
