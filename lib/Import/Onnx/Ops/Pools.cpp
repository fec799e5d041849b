//===- Pools.cpp - Sliding maxima and means --------------------------------===//
//
// A pool combines one strided slice of the padded operand per place in the window.
//
//===----------------------------------------------------------------------===//

#include "Windows.h"
#include "lathe/Dialect/Lathe/Scatter.h"
#include "lathe/Dialect/Lathe/Windows.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace lathe;
using llvm::SmallVector;

namespace lathe::onnx {

/// The search for the largest element's index looks at the places one by one: with more places than this the graph would be one
/// that nobody wants to compile.
static constexpr int64_t kMaxSearched = 1024;

namespace {
struct Pool {
  Value x;
  Windows w;
  int64_t places = 1;
  bool overhangs = false; ///< a window reaches beyond the padding, without ceil_mode
};
} // namespace

/// ONNX's formula rounds the number of steps down, its shape inference and ONNX Runtime toward zero: a window that is larger than what there is by less than
/// a stride has one place, and is cut off. It is so here, too. Of open sizes, which that would make formulas of two parts, such a run is refused.
static void roundTowardZero(Node &n, Pool &p) {
  if (n.text("auto_pad", "NOTSET") != "NOTSET" || n.flag("ceil_mode", false))
    return;
  for (auto [i, room] : llvm::enumerate(p.w.room)) {
    std::optional<int64_t> known = room.constant();
    if (!known)
      n.requireRoom(room, Expr(p.w.strides[i]));
    else if (*known < 0 && *known > -p.w.strides[i]) {
      p.w.out[i] = Expr(1);
      p.overhangs = true;
    }
  }
}

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
    if (llvm::MulOverflow(p.places, k, p.places))
      failWrong("attribute 'kernel_shape' holds {0}", k);
  }
  Dims dims = n.dims(p.x);
  p.w = windowsOf(n, Dims(dims.begin() + 2, dims.end()), kernel);
  roundTowardZero(n, p);
  return p;
}

/// x surrounded with the value, far enough for every window.
static Value surround(Node &n, Value x, Value around, const Windows &w) {
  Dims low(2, Expr(0)), high(2, Expr(0));
  size_t count = w.kernel.size();
  for (size_t i = 0; i < count; ++i) {
    // With ceil_mode the last window may reach beyond the high padding.
    Expr reach((w.kernel[i] - 1) * w.dilations[i] + 1), size = n.dims(x)[i + 2];
    Expr needed = n.simplify((w.out[i] - Expr(1)) * Expr(w.strides[i]) + reach - size - w.low[i]);
    low.push_back(w.low[i]);
    high.push_back(n.simplify(Expr::max(w.high[i], needed)));
  }
  return padWith(n, x, around, low, high);
}

/// Where in its window a place is.
static SmallVector<int64_t> coordinates(const Windows &w, int64_t place) {
  SmallVector<int64_t> at(w.kernel.size());
  for (int64_t i = int64_t(at.size()) - 1; i >= 0; place /= w.kernel[i], --i)
    at[i] = place % w.kernel[i];
  return at;
}

/// The element that each window has at a place.
static Value elementsAt(Node &n, Value padded, const Windows &w, int64_t place) {
  for (auto [i, k] : llvm::enumerate(coordinates(w, place)))
    padded = n.g.slice(padded, i + 2, Expr(k * w.dilations[i]), w.out[i], w.strides[i]);
  return padded;
}

static SmallVector<ir::WindowDim> dimsOf(const Windows &w) {
  SmallVector<ir::WindowDim> dims;
  for (size_t i = 0; i < w.kernel.size(); ++i)
    dims.push_back({w.kernel[i], w.strides[i], w.dilations[i], w.low[i], w.out[i]});
  return dims;
}

/// Is there one window, which is all of the operand?
static bool isWhole(Node &n, const Pool &p) {
  for (size_t i = 0; i < p.w.kernel.size(); ++i)
    if (!p.w.out[i].isOne() || !p.w.low[i].isZero() || p.w.dilations[i] != 1 || !n.g.facts.provablyEqual(n.dims(p.x)[i + 2], Expr(p.w.kernel[i])))
      return false;
  return true;
}

/// Combines the elements of each window of x surrounded with the value.
static Value combine(Node &n, const Pool &p, Value x, Value around, ir::ReduceKind kind) {
  if (isWhole(n, p)) {
    SmallVector<int64_t> axes;
    for (int64_t d = 2; d < n.rank(x); ++d)
      axes.push_back(d);
    return n.g.reduce(kind, x, axes, true);
  }
  return ir::combineWindows(n.g, surround(n, x, around, p.w), dimsOf(p.w), kind);
}

static Value sumOf(Node &n, const Pool &p, Value x) {
  return combine(n, p, x, n.g.scalar(0, n.element(x)), ir::ReduceKind::Sum);
}

/// The smallest value of the element type.
static Value lowest(Node &n, Type element) {
  if (llvm::isa<mlir::FloatType>(element))
    return n.g.scalar(-std::numeric_limits<double>::infinity(), element);
  unsigned width = element.getIntOrFloatBitWidth();
  return n.constantInteger(element.isUnsignedInteger() ? 0 : -(int64_t(1) << (width - 1)), element);
}

/// The index in the whole operand, of dims `in`, of the element at a place (a number per window) of each window.
static Value indexOf(Node &n, const Windows &w, Value place, const Dims &in, bool columnMajor) {
  Type i64 = n.g.b.getI64Type();
  Dims out = n.dims(place);
  auto number = [&](const Expr &e) { return n.g.broadcastTo(n.g.size(n.simplify(e)), out); };
  int64_t count = w.kernel.size();
  SmallVector<Value> positions(count);
  for (int64_t i = count - 1; i >= 0; --i) {
    Value k = n.g.binary<ir::RemOp>(place, double(w.kernel[i]));
    place = n.g.binary<ir::DivOp>(place, double(w.kernel[i]));
    Value p = n.g.add(n.g.mul(n.g.iota(out, i + 2, i64), number(Expr(w.strides[i]))), n.g.mul(k, number(Expr(w.dilations[i]))));
    positions[i] = n.g.sub(p, number(w.low[i]));
  }
  Value r = n.g.add(n.g.mul(n.g.iota(out, 0, i64), number(in[1])), n.g.iota(out, 1, i64));
  r = n.g.mul(r, number(shape::product(Dims(in.begin() + 2, in.end()))));
  Expr stride(1);
  for (int64_t j = 0; j < count; ++j) {
    int64_t i = columnMajor ? j : count - 1 - j;
    r = n.g.add(r, n.g.mul(positions[i], number(stride)));
    stride = stride * in[i + 2];
  }
  return r;
}

/// The maxima, and where the first of each window is.
static void maxPoolIndices(Node &n, const Pool &p) {
  if (p.places > kMaxSearched)
    failUnsupported("the indices of maxima in a window of more than {0} elements", kMaxSearched);
  Value padded = surround(n, p.x, lowest(n, n.element(p.x)), p.w), most, at;
  for (int64_t place = 0; place < p.places; ++place) {
    Value part = elementsAt(n, padded, p.w, place), here = n.g.splat(double(place), n.dims(part), n.g.b.getI64Type());
    if (most) {
      Value larger = n.g.compare(ir::CompareKind::GT, part, most);
      here = n.g.select(larger, here, at);
      part = n.g.select(larger, part, most);
    }
    most = part;
    at = here;
  }
  n.out(0, most);
  n.out(1, indexOf(n, p.w, at, n.dims(p.x), n.flag("storage_order", false)));
}

void maxPool(Node &n) {
  Pool p = poolOf(n);
  if (n.wants(1))
    return maxPoolIndices(n, p);
  Value x = n.wide(p.x); // the same maxima, without a conversion at each comparison
  n.out(n.g.cast(combine(n, p, x, lowest(n, n.element(x)), ir::ReduceKind::Max), n.element(p.x)));
}

void averagePool(Node &n) {
  Pool p = poolOf(n);
  n.requireFloat(p.x);
  Value x = n.wide(p.x), sum = sumOf(n, p, x);
  // The number of elements that a window covers: those of the operand, or those and the padding.
  SmallVector<ir::WindowDim> dims = dimsOf(p.w);
  Dims sizes = n.dims(x);
  sizes.erase(sizes.begin(), sizes.begin() + 2);
  bool padded = llvm::any_of(llvm::concat<const Expr>(p.w.low, p.w.high), [](const Expr &e) { return !e.isZero(); });
  bool countsPads = n.flag("count_include_pad", false);
  for (size_t i = 0; countsPads && i < dims.size(); ++i) {
    sizes[i] = n.simplify(sizes[i] + p.w.low[i] + p.w.high[i]);
    dims[i].low = Expr(0);
  }
  if ((countsPads || (!padded && !p.overhangs)) && !n.flag("ceil_mode", false))
    return n.out(n.g.cast(n.g.div(sum, n.g.splatLike(double(p.places), sum)), n.element(p.x)));
  Value covered = ir::coveredPlaces(n.g, sizes, dims, n.element(x));
  n.out(n.g.cast(n.g.div(sum, n.g.broadcastTo(covered, n.dims(sum))), n.element(p.x)));
}

/// Each element goes to the place in the whole result that its index says.
void maxUnpool(Node &n) {
  Value x = n.in(0), at = n.in(1);
  n.requireRankAtLeast(x, 3);
  n.requireNumber(x);
  n.requireInteger(at);
  n.requireRank(at, n.rank(x));
  Dims dims = n.dims(x), out{dims[0], dims[1]};
  for (int64_t d = 0; d < n.rank(x); ++d)
    n.requireEqual(n.dim(at, d), dims[d], "a dimension of the values and of the indices");
  size_t count = dims.size() - 2;
  auto perDim = [&](const char *name, size_t entries, int64_t otherwise) {
    SmallVector<int64_t> v = n.integers(name);
    if (v.empty())
      v.assign(entries, otherwise);
    if (v.size() != entries)
      failWrong("attribute '{0}' has {1} entries, expected {2}", name, v.size(), entries);
    return v;
  };
  SmallVector<int64_t> kernel = perDim("kernel_shape", count, 1), strides = perDim("strides", count, 1), pads = perDim("pads", 2 * count, 0);
  for (size_t i = 0; i < count; ++i)
    out.push_back(n.simplify((dims[i + 2] - Expr(1)) * Expr(strides[i]) + Expr(kernel[i] - pads[i] - pads[count + i])));
  auto flat = [&](Value v) { return n.reshape(v, {n.simplify(shape::product(dims))}); };
  Value zeros = n.g.splat(0, {n.simplify(shape::product(out))}, n.element(x));
  Value y = n.reshape(ir::scatterAlong(n.g, ir::ScatterKind::Set, zeros, flat(n.broadcastTo(at, dims)), flat(x), 0), out);
  if (!n.has(2))
    return n.out(y);
  Dims wanted = n.sizes(2), low0(out.size(), Expr(0)), high;
  if (wanted.size() != out.size())
    failWrong("operand 2 has {0} sizes for {1}", wanted.size(), describe(x.getType()));
  for (size_t d = 0; d < out.size(); ++d)
    high.push_back(n.simplify(wanted[d] - out[d]));
  n.out(padWith(n, y, n.g.scalar(0, n.element(y)), low0, high));
}

void lpPool(Node &n) {
  Pool p = poolOf(n);
  n.requireFloat(p.x);
  double power = double(n.integer("p", 2));
  Value x = n.g.unary<ir::AbsOp>(n.wide(p.x));
  Value powers = power == 1 ? x : power == 2 ? n.g.mul(x, x) : n.g.binary<ir::PowOp>(x, power);
  Value sum = sumOf(n, p, powers);
  Value root = power == 1 ? sum : power == 2 ? n.g.unary<ir::SqrtOp>(sum) : n.g.binary<ir::PowOp>(sum, 1 / power);
  n.out(n.g.cast(root, n.element(p.x)));
}

} // namespace lathe::onnx
