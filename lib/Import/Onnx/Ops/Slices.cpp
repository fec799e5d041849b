//===- Slices.cpp - Operators that take parts ------------------------------===//

#include "RuntimeAxes.h"

using namespace lathe;
using llvm::SmallVector;

namespace lathe::onnx {

/// A position as Slice counts: from the end when negative, then clamped to [low, high]. The sign of a symbolic position must
/// be provable.
static Expr position(Node &n, const Expr &value, const Expr &size, const Expr &low, const Expr &high) {
  // Anything beyond this stands for "the end" (exporters write the largest integer, or some).
  constexpr int64_t kFar = 1000000000;
  if (std::optional<int64_t> c = value.constant()) {
    if (*c >= kFar)
      return high;
    if (*c <= -kFar)
      return low;
  }
  Expr e = n.simplify(value);
  if (n.g.facts.provablyLess(e, Expr(0))) {
    e = e + size;
  } else if (!n.g.facts.provablyLessEqual(Expr(0), e)) {
    // One end of the integers has no opposite.
    Expr bounded = Expr::max(Expr(-kFar * kFar), e), isNegative = Expr::min(Expr(1), Expr::max(Expr(0), -bounded));
    Expr clamped = Expr::max(low, Expr::min(high, bounded + n.define("negative", isNegative, 1) * size));
    return n.simplify(low + n.define("position", clamped - low));
  }
  return n.simplify(Expr::max(low, Expr::min(high, e)));
}

/// The axis from `start` to `end` where the sign of the step is known only when the model runs: reads at first + i * step.
static Value sliceEitherWay(Node &n, Value x, int64_t axis, const Expr &start, const Expr &end, const Expr &step) {
  Expr size = n.simplify(n.dim(x, axis)), zero(0), one(1);
  Expr up = n.define("forth", Expr::min(one, Expr::max(zero, step)), 1);
  Expr down = n.define("back", Expr::min(one, Expr::max(zero, -step)), 1);
  n.require(Expr(0), "ne", step, llvm::formatv("the step of axis {0} is not 0", axis).str());
  Expr first = up * position(n, start, size, zero, size) + down * position(n, start, size, zero, size - one);
  Expr last = up * position(n, end, size, zero, size) + down * position(n, end, size, Expr(-1), size - one);
  Expr divisor = step + one - up - down;
  Expr count = n.define("count", Expr::max(zero, Expr::ceildiv(last - first, divisor)));
  Expr begin = n.define("first", Expr::max(zero, first));
  Expr forth = n.define("step", Expr::max(zero, step)), back = n.define("step", Expr::max(zero, -step));
  Dims dims{count};
  Type i64 = n.g.b.getI64Type();
  auto whole = [&](const Expr &e) { return n.g.broadcastTo(n.g.size(e), dims); };
  Value stride = n.g.sub(whole(forth), whole(back));
  return n.g.gather(x, n.g.add(n.g.mul(n.g.iota(dims, 0, i64), stride), whole(begin)), axis);
}

/// Axes or steps that are known only when the model runs: every dimension is sliced, at ends that depend on who names it.
static void sliceAnyAxes(Node &n, const Dims &starts, const Dims &ends, const Dims &axes, const Dims &steps) {
  Value x = n.in(0);
  if (starts.size() != ends.size() || starts.size() != axes.size() || starts.size() != steps.size())
    failWrong("{0} starts, {1} ends, {2} axes, {3} steps", starts.size(), ends.size(), axes.size(), steps.size());
  for (int64_t d = 0; d < n.rank(x); ++d) {
    Expr isNamed(0), start(0), end(0), step(0);
    for (size_t i = 0; i < axes.size(); ++i) {
      Expr flag = n.axisFlag(axes[i], d);
      isNamed = isNamed + flag;
      start = start + flag * starts[i];
      end = end + flag * ends[i];
      step = step + flag * steps[i];
    }
    if (isNamed.isZero())
      continue;
    if (axes.size() > 1)
      n.require(isNamed, "le", Expr(1), llvm::formatv("no axis is named twice (axis {0})", d).str());
    Expr whole = Expr(1) - isNamed;
    x = sliceEitherWay(n, x, d, start, end + whole * n.dim(x, d), step + whole);
  }
  n.out(x);
}

static Value sliceAxis(Node &n, Value x, int64_t axis, const Expr &start, const Expr &end, int64_t step) {
  Expr size = n.simplify(n.dim(x, axis));
  if (step == 0)
    failWrong("the step of axis {0} is 0", axis);
  // Counting down, the end may be before the first element; a start never is.
  Expr first = step > 0 ? position(n, start, size, Expr(0), size) : position(n, start, size, Expr(0), size - Expr(1));
  Expr last = step > 0 ? position(n, end, size, Expr(0), size) : position(n, end, size, Expr(-1), size - Expr(1));
  Expr count = step > 0 ? Expr::ceildiv(last - first, Expr(step)) : Expr::ceildiv(first - last, Expr(-step));
  if (!n.g.facts.provablyLessEqual(Expr(0), first)) // an empty axis has no last element
    first = Expr::max(Expr(0), first);
  if (n.readsElement(start) || n.readsElement(end))
    return n.g.slice(x, axis, n.define("first", first), n.define("count", Expr::max(Expr(0), n.simplify(count))), step);
  return n.g.slice(x, axis, first, n.simplify(Expr::max(Expr(0), n.simplify(count))), step);
}

static void slice(Node &n, const Dims &starts, const Dims &ends, llvm::ArrayRef<int64_t> axes, llvm::ArrayRef<int64_t> steps) {
  Value x = n.in(0);
  if (starts.size() != ends.size() || starts.size() != axes.size() || starts.size() != steps.size())
    failWrong("{0} starts, {1} ends, {2} axes, {3} steps", starts.size(), ends.size(), axes.size(), steps.size());
  n.axes(axes, n.rank(x)); // each once
  for (size_t i = 0; i < axes.size(); ++i)
    x = sliceAxis(n, x, n.axis(axes[i], n.rank(x)), starts[i], ends[i], steps[i]);
  n.out(x);
}

static SmallVector<int64_t> firstAxes(size_t count) {
  SmallVector<int64_t> axes;
  for (size_t i = 0; i < count; ++i)
    axes.push_back(i);
  return axes;
}

void slice1(Node &n) {
  auto exprs = [&](const char *name) {
    Dims out;
    for (int64_t v : n.integers(name))
      out.push_back(Expr(v));
    return out;
  };
  Dims starts = exprs("starts"), ends = exprs("ends");
  SmallVector<int64_t> axes = n.hasAttribute("axes") ? n.integers("axes") : firstAxes(starts.size());
  slice(n, starts, ends, axes, SmallVector<int64_t>(starts.size(), 1));
}

void slice10(Node &n) {
  Dims starts = n.values(1), ends = n.values(2);
  Dims atAxes = n.has(3) ? n.axisValues(3, n.rank(n.in(0))) : Dims(), bySteps = n.has(4) ? n.values(4) : Dims();
  if (anyUnknown(atAxes) || anyUnknown(bySteps)) {
    for (size_t i = 0; !n.has(3) && i < starts.size(); ++i)
      atAxes.push_back(Expr(int64_t(i)));
    if (!n.has(4))
      bySteps.assign(starts.size(), Expr(1));
    return sliceAnyAxes(n, starts, ends, atAxes, bySteps);
  }
  SmallVector<int64_t> axes = n.has(3) ? n.constants(3) : firstAxes(starts.size());
  SmallVector<int64_t> steps = n.has(4) ? n.constants(4) : SmallVector<int64_t>(starts.size(), 1);
  slice(n, starts, ends, axes, steps);
}

void split(Node &n) {
  Value x = n.in(0);
  n.requireRankAtLeast(x, 1);
  int64_t axis = n.axis(n.integer("axis", 0), n.rank(x)), parts = n.numOutputs();
  Expr size = n.simplify(n.dim(x, axis));
  Dims lengths;
  if (n.has(1)) {
    lengths = n.sizes(1);
  } else if (n.hasAttribute("split")) {
    for (int64_t v : n.integers("split"))
      lengths.push_back(Expr(v));
  } else {
    if (n.hasAttribute("num_outputs") && n.integer("num_outputs", 0) != parts)
      failWrong("attribute 'num_outputs' is {0}, the node has {1} results", n.integer("num_outputs", 0), parts);
    // Since opset 18 the last part may be smaller.
    Expr length = n.opset() >= 18 && parts ? n.simplify(Expr::ceildiv(size, Expr(parts)))
                                           : n.exactQuotient(size, Expr(parts), "the dimension that is split");
    lengths.assign(parts, length);
    if (parts)
      lengths.back() = n.simplify(size - length * Expr(parts - 1));
  }
  if (int64_t(lengths.size()) != parts)
    failWrong("{0} lengths for {1} results", lengths.size(), parts);
  Expr at(0);
  for (auto [i, length] : llvm::enumerate(lengths)) {
    if (length.constant() && *length.constant() < 0)
      failWrong("part {0} has the length {1}", i, length.str());
    n.out(i, n.g.slice(x, axis, at, length));
    at = n.simplify(at + length);
  }
  n.requireEqual(at, size, "the lengths of all parts and the dimension that is split");
}

void gather(Node &n) {
  Value x = n.in(0), indices = n.in(1);
  n.requireRankAtLeast(x, 1);
  n.requireInteger(indices);
  n.out(n.g.gather(x, indices, n.axis(n.integer("axis", 0), n.rank(x))));
}

void gatherNd(Node &n) {
  Value x = n.in(0), indices = n.in(1);
  n.requireRankAtLeast(x, 1);
  n.requireRankAtLeast(indices, 1);
  n.requireInteger(indices);
  int64_t batch = n.integer("batch_dims", 0), rank = n.rank(x), last = n.rank(indices) - 1;
  Dims from = n.dims(x), at = n.dims(indices);
  // Where the file leaves it open how many dimensions are indexed, a declared rank of the result says it.
  std::optional<int64_t> depth = n.simplify(at[last]).constant(), made = n.declaredRank(0);
  if (!depth && made)
    depth = rank + last - batch - *made;
  if (!depth)
    failUnsupported("the last dimension of the indices is {0}, and the rank of the result is not declared; fix one of them", at[last].str());
  if (batch < 0 || batch > last || batch + *depth > rank || batch >= rank || *depth < 1)
    failWrong("batch_dims {0} with indices {1} into {2}", batch, describe(indices.getType()), describe(x.getType()));
  n.requireEqual(at[last], Expr(*depth), "the last dimension of the indices");
  for (int64_t d = 0; d < batch; ++d)
    n.requireEqual(from[d], at[d], "a batch dimension of data and indices");
  Dims dims(at.begin(), at.begin() + last);
  dims.append(from.begin() + batch + *depth, from.end());
  n.out(n.g.b.createOrFold<ir::GatherNdOp>(n.g.loc, ir::tensorType(dims, n.element(x)), x, indices, batch));
}

/// Element (i, j, ..) of the result is x at (i, j, ..) with the axis' coordinate from the indices.
void gatherElements(Node &n) {
  Value x = n.in(0), indices = n.in(1);
  n.requireInteger(indices);
  n.requireRankAtLeast(x, 1);
  n.requireRank(indices, n.rank(x));
  int64_t axis = n.axis(n.integer("axis", 0), n.rank(x)), rank = n.rank(x);
  Dims at = n.dims(indices);
  Type i64 = n.g.b.getI64Type();
  SmallVector<Value> coordinates;
  for (int64_t d = 0; d < rank; ++d) {
    Value c = d == axis ? n.g.cast(indices, i64) : n.g.iota(at, d, i64);
    coordinates.push_back(n.g.unsqueeze(c, {rank}));
  }
  Value all = n.g.concat(coordinates, rank);
  n.out(n.g.b.createOrFold<ir::GatherNdOp>(n.g.loc, ir::tensorType(at, n.element(x)), x, all, 0));
}

} // namespace lathe::onnx
