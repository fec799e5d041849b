//===- Integrals.cpp - Trapezoids and differences -----------------------------===//

#include "Families.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

static Value part(OpContext &c, Value x, int64_t axis, int64_t start, const Expr &size) {
  return c.g.slice(x, axis, Expr(start), size);
}
static Expr withoutEnds(OpContext &c, Value x, int64_t axis, int64_t ends) {
  return c.g.facts.simplify(dimsOf(x)[axis] - Expr(ends));
}

/// What follows less what is before, along the axis.
static Value steps(OpContext &c, Value x, int64_t axis) {
  Expr rest = withoutEnds(c, x, axis, 1);
  return c.g.sub(part(c, x, axis, 1, rest), part(c, x, axis, 0, rest));
}

/// The coordinates in the dims of y: a vector lies along the axis, others have y's last dimensions.
static llvm::Expected<Value> coordinates(OpContext &c, Value x, Value y, int64_t axis) {
  Dims dims(typeOf(y).getRank(), Expr(1)), given = dimsOf(x);
  if (given.size() == 1)
    dims[axis] = given[0];
  else if (given.size() <= dims.size())
    llvm::copy(given, dims.end() - given.size());
  else
    return c.wrong("coordinates of {0} for {1}", x.getType(), y.getType());
  return c.g.reshape(c.g.cast(x, elementOf(y)), dims);
}

/// Twice the area over each step.
static llvm::Expected<Value> areas(OpContext &c, Value y, int64_t axis) {
  Expr rest = withoutEnds(c, y, axis, 1);
  Value both = c.g.add(part(c, y, axis, 0, rest), part(c, y, axis, 1, rest));
  Value x = c.tensor("x");
  if (!x)
    return c.g.mul(both, c.g.broadcastTo(c.scalarOf(c.number("dx"), elementOf(y)), dimsOf(both)));
  LATHE_TRY(at, coordinates(c, x, y, axis));
  Value all[] = {both, steps(c, at, axis)};
  if (llvm::Error e = c.broadcast(all))
    return std::move(e);
  return c.g.mul(all[0], all[1]);
}

template <bool running> static llvm::Error trapezoid(OpContext &c) {
  Value y = c.g.cast(c.tensor("y"), c.resultElement());
  LATHE_TRY(axis, c.axis("dim", y));
  if (typeOf(y).getRank() == 0)
    return c.wrong("an integral over a number");
  if (dimsOf(y)[axis].isZero())
    return c.give(c.g.splat(0, c.resultDims(), c.resultElement()));
  if (llvm::Error e = c.need(Condition::compare(Condition::Kind::LessEqual, Expr(1), dimsOf(y)[axis])))
    return e;
  LATHE_TRY(area, areas(c, y, axis));
  Value sum = running ? c.g.scan(ScanKind::Sum, area, axis) : c.g.reduce(ReduceKind::Sum, area, {axis}, false);
  return c.give(c.g.binary<MulOp>(sum, 0.5));
}

//===----------------------------------------------------------------------===//
// gradient
//===----------------------------------------------------------------------===//

/// The slope along one dimension, from the values f and the widths h of the steps between them: second order inside,
/// and at the ends of the order that is asked for.
static Value slope(OpContext &c, Value f, Value h, int64_t axis, bool quadratic) {
  Expr n = dimsOf(f)[axis], inside = withoutEnds(c, f, axis, 2);
  auto value = [&](const Expr &at, const Expr &count) { return c.g.slice(f, axis, c.g.facts.simplify(at), count); };
  auto width = [&](const Expr &at, const Expr &count) {
    Value w = c.g.slice(h, axis, c.g.facts.simplify(at), count);
    Dims dims = dimsOf(f);
    dims[axis] = count;
    return c.g.broadcastTo(w, dims);
  };
  auto first = [&](const Expr &at) {
    return c.g.div(c.g.sub(value(at + Expr(1), Expr(1)), value(at, Expr(1))), width(at, Expr(1)));
  };
  // The parabola through three values has the slopes (d1 (2 a + b) - d2 a) / (a + b) and so on, d1 and d2 being those
  // of its two steps.
  auto three = [&](const Expr &at, const Expr &count, int where) {
    Value a = width(at, count), b = width(at + Expr(1), count), sum = c.g.add(a, b);
    Value d1 = c.g.div(c.g.sub(value(at + Expr(1), count), value(at, count)), a);
    Value d2 = c.g.div(c.g.sub(value(at + Expr(2), count), value(at + Expr(1), count)), b);
    Value left = where < 0 ? c.g.add(sum, a) : b, right = where > 0 ? c.g.add(sum, b) : a;
    Value x = c.g.mul(d1, where > 0 ? c.g.unary<NegOp>(b) : left),
          y = c.g.mul(d2, where < 0 ? c.g.unary<NegOp>(a) : right);
    return c.g.div(c.g.add(x, y), sum);
  };
  Value begin = quadratic ? three(Expr(0), Expr(1), -1) : first(Expr(0));
  Value end = quadratic ? three(n - Expr(3), Expr(1), 1) : first(n - Expr(2));
  if (inside.isZero())
    return c.g.concat({begin, end}, axis);
  return c.g.concat({begin, three(Expr(0), inside, 0), end}, axis);
}

enum class Spacing { One, Numbers, Tensors };

/// The widths of the steps of the i-th dimension asked for: a number, a number each, or coordinates.
template <Spacing kind>
static llvm::Expected<Value> widths(OpContext &c, Value f, int64_t axis, size_t i, size_t count) {
  Dims dims(typeOf(f).getRank(), Expr(1));
  dims[axis] = withoutEnds(c, f, axis, 1);
  if constexpr (kind == Spacing::Tensors) {
    SmallVector<Value> lists = c.tensors("spacing");
    if (lists.size() != count || typeOf(lists[i]).getRank() != 1)
      return c.wrong("{0} coordinates for {1} dimensions", lists.size(), count);
    LATHE_TRY(at, coordinates(c, lists[i], f, axis));
    return steps(c, at, axis);
  }
  double h = c.has("spacing") ? c.real("spacing") : 1;
  if constexpr (kind == Spacing::Numbers) {
    SmallVector<double> numbers = c.reals("spacing");
    if (numbers.size() != count)
      return c.wrong("{0} widths for {1} dimensions", numbers.size(), count);
    h = numbers[i];
  }
  return c.g.splat(h, dims, elementOf(f));
}

template <Spacing kind> static llvm::Error gradient(OpContext &c) {
  Value f = c.g.cast(c.tensor("self"), c.resultElement());
  int64_t order = c.integer("edge_order");
  LATHE_TRY(axes, c.axes("dim", f));
  SmallVector<int64_t> asked = c.has("dim") ? c.integers("dim") : axes;
  if (order != 1 && order != 2)
    return c.wrong("edge_order is {0}", order);
  for (auto [i, d] : llvm::enumerate(asked)) {
    LATHE_TRY(axis, c.axisOf(d, typeOf(f).getRank()));
    if (llvm::Error e = c.need(Condition::compare(Condition::Kind::LessEqual, Expr(order + 1), dimsOf(f)[axis])))
      return e;
    LATHE_TRY(h, widths<kind>(c, f, axis, i, asked.size()));
    (void)c.give(slope(c, f, h, axis, order == 2));
  }
  return llvm::Error::success();
}

llvm::ArrayRef<OpEntry> fx::integralOps() {
  static const char *const byPoints = "y:T x:T dim:I=-1", *const bySteps = "y:T dx:S=1 dim:I=-1";
  static const OpEntry table[] = {
      {"trapezoid.x", byPoints, trapezoid<false>},
      {"trapezoid.dx", bySteps, trapezoid<false>},
      {"trapz.x", byPoints, trapezoid<false>},
      {"trapz.dx", bySteps, trapezoid<false>},
      {"cumulative_trapezoid.x", byPoints, trapezoid<true>},
      {"cumulative_trapezoid.dx", bySteps, trapezoid<true>},
      {"gradient.scalarint", "self:T spacing:F? dim:I*? edge_order:I=1", gradient<Spacing::One>},
      {"gradient.scalararray", "self:T spacing:F dim:I* edge_order:I=1", gradient<Spacing::One>},
      {"gradient.array", "self:T dim:I* edge_order:I=1", gradient<Spacing::One>},
      {"gradient.scalarrayint", "self:T spacing:F* dim:I*? edge_order:I=1", gradient<Spacing::Numbers>},
      {"gradient.scalarrayarray", "self:T spacing:F* dim:I* edge_order:I=1", gradient<Spacing::Numbers>},
      {"gradient.tensorarrayint", "self:T spacing:T* dim:I*? edge_order:I=1", gradient<Spacing::Tensors>},
      {"gradient.tensorarray", "self:T spacing:T* dim:I* edge_order:I=1", gradient<Spacing::Tensors>},
  };
  return table;
}
