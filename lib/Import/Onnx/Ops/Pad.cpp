//===- Pad.cpp - Surrounding a tensor --------------------------------------===//

#include "RuntimeAxes.h"
#include "Windows.h"

using namespace lathe;
using ir::CompareKind;
using llvm::SmallVector;

namespace lathe::onnx {

/// A size that amounts known only when the model runs leave: not below 0.
static Expr paddedSize(Node &n, const Expr &size) {
  if (!n.readsElement(size))
    return size;
  n.requireAtLeast(size, 0, "a padded size");
  return n.define("padded", size);
}

Value padWith(Node &n, Value x, Value value, const Dims &low, const Dims &high) {
  Dims dims = n.dims(x);
  bool nothing = true;
  for (auto [d, l, h] : llvm::zip(dims, low, high)) {
    nothing &= l.isZero() && h.isZero();
    d = paddedSize(n, n.simplify(d + l + h));
    if (d.constant() && *d.constant() < 0)
      failWrong("the pads {0} and {1} crop more than there is", l.str(), h.str());
  }
  if (nothing)
    return x;
  return n.g.b.createOrFold<ir::PadOp>(n.g.loc, ir::tensorType(dims, n.element(x)), x, value, ir::exprArray(n.g.b, low),
                                       ir::exprArray(n.g.b, high));
}

/// Beyond it sizes and indices would leave 64 bits.
static constexpr int64_t mostPadding = int64_t(1) << 48;

/// The index that element i of the padded axis reads: within [0, size) for every mode.
static Value sourceIndex(Node &n, const std::string &mode, Value i, const Expr &size) {
  Dims dims = n.dims(i);
  auto whole = [&](const Expr &e) { return n.g.broadcastTo(n.g.size(n.simplify(e)), dims); };
  if (mode == "edge")
    return n.g.binary<ir::MinOp>(n.g.binary<ir::MaxOp>(i, 0), whole(size - Expr(1)));
  if (mode == "wrap")
    return n.g.binary<ir::ModOp>(i, whole(size));
  // Reflection without the edge repeats with period 2 * (size - 1).
  Expr period = n.simplify(Expr::max(Expr(1), n.simplify(Expr(2) * (size - Expr(1)))));
  Value at = n.g.binary<ir::ModOp>(i, whole(period));
  return n.g.binary<ir::MinOp>(at, n.g.sub(whole(Expr(2) * (size - Expr(1))), at));
}

/// `count` elements of an axis that is continued, from element `first` on, by an index.
static Value continued(Node &n, Value x, const std::string &mode, int64_t axis, const Expr &first, const Expr &count) {
  Value i = n.g.iota({count}, 0, n.g.b.getI64Type());
  i = n.g.add(i, n.g.broadcastTo(n.g.size(first), {count}));
  return n.g.gather(x, sourceIndex(n, mode, i, n.simplify(n.dim(x, axis))), axis);
}

/// One side of an axis as a part of the operand: `amount` elements that it is known to have.
static Value partOf(Node &n, Value x, const std::string &mode, int64_t axis, const Expr &amount, bool high) {
  Expr size = n.simplify(n.dim(x, axis));
  if (mode == "wrap")
    return n.g.slice(x, axis, high ? Expr(0) : n.simplify(size - amount), amount);
  if (mode == "reflect")
    return n.g.slice(x, axis, high ? n.simplify(size - Expr(2)) : amount, amount, -1);
  Dims wide = n.dims(x);
  wide[axis] = amount;
  return n.g.broadcastTo(n.g.slice(x, axis, high ? n.simplify(size - Expr(1)) : Expr(0), Expr(1)), wide);
}

/// One side, from the left to the right, of an axis that is not known to have so much: short ones by an index. Of long ones what half of the axis
/// has is a part of it, which is all of them in most runs, and what lies further out goes by an index.
static SmallVector<Value> sideOf(Node &n, Value x, const std::string &mode, int64_t axis, int64_t amount, bool high) {
  constexpr int64_t longestByIndex = 16;
  Expr size = n.simplify(n.dim(x, axis)), all(amount);
  Expr least = mode == "wrap" ? all : mode == "reflect" ? Expr(amount + 1) : Expr(1);
  if (n.g.facts.provablyLessEqual(least, size))
    return {partOf(n, x, mode, axis, all, high)};
  if (amount <= longestByIndex)
    return {continued(n, x, mode, axis, high ? size : Expr(-amount), all)};
  Expr near = n.simplify(Expr::min(all, Expr::floordiv(size, Expr(2)))), far = n.simplify(all - near);
  Value part = partOf(n, x, mode, axis, near, high), rest = continued(n, x, mode, axis, high ? n.simplify(size + near) : Expr(-amount), far);
  return high ? SmallVector<Value>{part, rest} : SmallVector<Value>{rest, part};
}

/// Sides of known amounts in front of the operand and behind it, along the last axis: stretches of rows are copied, where an index would
/// be asked for each element.
static Value padBySides(Node &n, Value x, const std::string &mode, int64_t axis, const Expr &low, const Expr &high) {
  SmallVector<Value> parts;
  for (bool behind : {false, true}) {
    if (behind)
      parts.push_back(x);
    std::optional<int64_t> amount = (behind ? high : low).constant();
    if (!amount || *amount < 0)
      return {};
    if (*amount == 0)
      continue;
    parts.append(sideOf(n, x, mode, axis, *amount, behind));
  }
  return n.g.concat(parts, axis);
}

static Value padByIndex(Node &n, Value x, const std::string &mode, const Dims &low, const Dims &high) {
  // The last axis first: the others' indices, which are the same along a row, then become part of what reads its sides.
  for (int64_t axis = n.rank(x); axis-- > 0;) {
    if (low[axis].isZero() && high[axis].isZero())
      continue;
    Expr size = n.simplify(n.dim(x, axis)), out = paddedSize(n, n.simplify(size + low[axis] + high[axis]));
    if (size.isZero())
      failWrong("mode '{0}' has nothing to repeat along axis {1} of {2}", mode, axis, describe(x.getType()));
    if (out.constant() && *out.constant() < 0)
      failWrong("the pads {0} and {1} crop more than there is", low[axis].str(), high[axis].str());
    Value padded = axis + 1 == n.rank(x) ? padBySides(n, x, mode, axis, low[axis], high[axis]) : Value();
    if (padded) {
      x = padded;
      continue;
    }
    x = continued(n, x, mode, axis, n.simplify(Expr(0) - low[axis]), out);
  }
  return x;
}

void pad(Node &n) {
  Value x = n.in(0);
  int64_t rank = n.rank(x);
  Dims amounts;
  if (n.opset() >= 11)
    amounts = n.values(1);
  else
    for (int64_t v : n.integers("pads"))
      amounts.push_back(Expr(v));
  Dims axes;
  if (n.has(3))
    axes = n.axisValues(3, rank);
  else
    for (int64_t d = 0; d < rank; ++d)
      axes.push_back(Expr(d));
  if (amounts.size() != 2 * axes.size())
    failWrong("{0} pads for {1} axes", amounts.size(), axes.size());
  for (const Expr &amount : amounts)
    if (std::optional<int64_t> v = amount.constant(); v && (*v > mostPadding || *v < -mostPadding))
      failWrong("a pad of {0} is more than any tensor holds", *v);
  Dims low(rank, Expr(0)), high(rank, Expr(0));
  for (int64_t d = 0; d < rank; ++d) {
    Expr named(0);
    for (auto [i, a] : llvm::enumerate(axes)) {
      Expr flag = n.axisFlag(a, d);
      named = named + flag;
      low[d] = low[d] + flag * amounts[i];
      high[d] = high[d] + flag * amounts[axes.size() + i];
    }
    if (named.constant() && *named.constant() > 1)
      failWrong("an axis is named twice");
    if (!named.constant() && axes.size() > 1)
      n.require(named, "le", Expr(1), llvm::formatv("no axis is named twice (axis {0})", d).str());
  }
  std::string mode = n.text("mode", "constant");
  if (mode == "edge" || mode == "reflect" || mode == "wrap")
    return n.out(padByIndex(n, x, mode, low, high));
  if (mode != "constant")
    failWrong("attribute 'mode' is '{0}', expected constant, edge, reflect or wrap", mode);
  Value value;
  if (n.opset() < 11)
    value = n.g.scalar(n.real("value", 0), n.element(x));
  else if (n.has(2)) {
    n.requireSameElement({x, n.in(2)});
    n.requireEqual(shape::product(n.dims(n.in(2))), Expr(1), "the elements of the padding value");
    value = n.reshape(n.in(2), {});
  } else {
    value = n.g.scalar(0, n.element(x));
  }
  n.out(padWith(n, x, value, low, high));
}

} // namespace lathe::onnx
