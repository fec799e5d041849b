//===- Slice.cpp - Parts of a tensor ----------------------------------------===//
//
// No read may leave a tensor: where a bound is not provable from what is known of the sizes, the node is refused.
//
//===----------------------------------------------------------------------===//

#include "../Views.h"
#include "Families.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

namespace {
/// min and max that see what is known of the sizes.
struct Bounds {
  const shape::Facts &facts;
  Expr min(const Expr &a, const Expr &b) const {
    return facts.provablyLessEqual(a, b) ? a : facts.provablyLessEqual(b, a) ? b : facts.simplify(Expr::min(a, b));
  }
  Expr max(const Expr &a, const Expr &b) const {
    return facts.provablyLessEqual(a, b) ? b : facts.provablyLessEqual(b, a) ? a : facts.simplify(Expr::max(a, b));
  }
};
} // namespace

/// A position along a dimension of n, of which negative ones count from the end. Whether it is negative may not be known.
static Expr fromStart(OpContext &c, const Expr &at, const Expr &n) {
  if (c.g.facts.provablyLessEqual(Expr(0), at))
    return at;
  Expr isNegative = c.g.facts.provablyLess(at, Expr(0)) ? Expr(1) : Expr::min(Expr(1), Expr::max(Expr(0), -at));
  return c.g.facts.simplify(at + n * isNegative);
}

/// Brought into [0, n] as Python's slices do.
static Expr clampPosition(OpContext &c, const Expr &at, const Expr &n) {
  Bounds bounds{c.g.facts};
  return bounds.min(bounds.max(fromStart(c, at, n), Expr(0)), n);
}

struct Part {
  Expr start, size;
};

static Part partOf(OpContext &c, const Expr &n, int64_t step) {
  Expr from = c.has("start") ? c.size("start") : Expr(0), to = c.has("end") ? c.size("end") : n;
  if (to.constant() == std::optional<int64_t>(INT64_MAX)) // how torch writes x[a:]
    to = n;
  Expr start = clampPosition(c, from, n), length = c.g.facts.simplify(clampPosition(c, to, n) - start);
  if (!c.g.facts.provablyLessEqual(Expr(0), length))
    length = Bounds{c.g.facts}.max(length, Expr(0));
  return Part{start, step == 1 ? length : c.g.facts.simplify(Expr::ceildiv(length, Expr(step)))};
}

/// PyTorch gives the size of a part whose bounds are data a symbol of its own.
static llvm::Expected<Expr> sizeOfPart(OpContext &c, const Part &part, size_t axis) {
  std::optional<Expr> told = c.toldSize(0, axis);
  auto symbol = told ? told->asSymbol() : std::nullopt;
  if (!symbol || !c.late->isLate(*symbol) || axis >= c.resultDims().size())
    return part.size;
  if (!c.late->bound.count(*symbol))
    if (llvm::Error e = c.bindSize(*told, c.g.size(part.size)))
      return std::move(e);
  return c.resultDims()[axis];
}

static llvm::Error slice(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axis, c.axis("dim", x));
  int64_t step = c.integer("step");
  if (typeOf(x).getRank() == 0 || step < 1)
    return c.wrong("the input has rank 0, or the step {0} is not positive", step);
  Part part = partOf(c, dimsOf(x)[axis], step);
  LATHE_TRY(size, sizeOfPart(c, part, axis));
  return c.give(c.g.slice(x, axis, part.start, size, step));
}

/// The input with one part replaced.
static llvm::Error sliceScatter(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axis, c.axis("dim", x));
  int64_t step = c.integer("step");
  if (typeOf(x).getRank() == 0 || step < 1)
    return c.wrong("the input has rank 0, or the step {0} is not positive", step);
  Part part = partOf(c, dimsOf(x)[axis], step);
  Dims want = dimsOf(x);
  want[axis] = part.size;
  LATHE_TRY(source, c.broadcastTo(c.g.cast(c.tensor("src"), elementOf(x)), want));
  return c.give(replacePart(c.g, x, axis, part.start, step, source));
}

/// An index into a dimension of n, made non-negative; that it is inside is proven, or checked when the program runs.
static llvm::Expected<Expr> indexInto(OpContext &c, Expr at, const Expr &n) {
  at = fromStart(c, at, n);
  if (llvm::Error e = c.need(Condition::compare(Condition::Kind::LessEqual, Expr(0), at)))
    return std::move(e);
  if (llvm::Error e = c.need(Condition::compare(Condition::Kind::Less, at, n)))
    return std::move(e);
  return at;
}

static llvm::Error select(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axis, c.axis("dim", x));
  if (typeOf(x).getRank() == 0)
    return c.wrong("the input has rank 0");
  LATHE_TRY(at, indexInto(c, c.size("index"), dimsOf(x)[axis]));
  return c.give(c.g.squeeze(c.g.slice(x, axis, at, Expr(1)), {axis}));
}

/// The input with one slice of size 1 replaced.
static llvm::Error selectScatter(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axis, c.axis("dim", x));
  if (typeOf(x).getRank() == 0)
    return c.wrong("the input has rank 0");
  Expr n = dimsOf(x)[axis];
  LATHE_TRY(at, indexInto(c, c.size("index"), n));
  Dims want = dimsOf(x);
  want.erase(want.begin() + axis);
  LATHE_TRY(source, c.broadcastTo(c.g.cast(c.tensor("src"), elementOf(x)), want));
  return c.give(replacePart(c.g, x, axis, at, 1, c.g.unsqueeze(source, {axis})));
}

static llvm::Error narrow(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axis, c.axis("dim", x));
  if (typeOf(x).getRank() == 0)
    return c.wrong("the input has rank 0");
  Expr n = dimsOf(x)[axis], start = c.size("start"), length = c.size("length");
  if (auto constant = start.constant(); constant && *constant < 0)
    start = c.g.facts.simplify(n + start);
  for (auto [low, high] : {std::pair(Expr(0), start), std::pair(Expr(0), length), std::pair(start + length, n)})
    if (llvm::Error e = c.need(Condition::compare(Condition::Kind::LessEqual, low, high)))
      return e;
  return c.give(c.g.slice(x, axis, start, length));
}

static llvm::Error flip(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axes, c.axes("dims", x));
  if (c.integers("dims").empty())
    return c.give(x);
  for (int64_t axis : axes) {
    Expr n = dimsOf(x)[axis];
    x = c.g.slice(x, axis, c.g.facts.simplify(n - Expr(1)), n, -1);
  }
  return c.give(x);
}

template <int64_t axis> static llvm::Error flipOne(OpContext &c) {
  Value x = c.tensor("self");
  if (typeOf(x).getRank() <= axis)
    return c.wrong("the input has rank {0}", typeOf(x).getRank());
  Expr n = dimsOf(x)[axis];
  return c.give(c.g.slice(x, axis, c.g.facts.simplify(n - Expr(1)), n, -1));
}

/// Quarter turns in the plane of two dimensions.
static llvm::Error rotate(OpContext &c) {
  Value x = c.tensor("self");
  SmallVector<int64_t> dims = c.has("dims") ? c.integers("dims") : SmallVector<int64_t>{0, 1};
  int64_t rank = typeOf(x).getRank(), turns = ((c.integer("k") % 4) + 4) % 4;
  if (dims.size() != 2)
    return c.wrong("{0} dimensions, expected 2", dims.size());
  LATHE_TRY(from, c.axisOf(dims[0], rank));
  LATHE_TRY(to, c.axisOf(dims[1], rank));
  if (rank < 2 || from == to)
    return c.wrong("the plane of dimensions {0} and {1} of {2}", from, to, x.getType());
  auto flipped = [&](Value v, int64_t axis) {
    Expr n = dimsOf(v)[axis];
    return c.g.slice(v, axis, c.g.facts.simplify(n - Expr(1)), n, -1);
  };
  SmallVector<int64_t> perm;
  for (int64_t d = 0; d < rank; ++d)
    perm.push_back(d == from ? to : d == to ? from : d);
  if (turns == 2)
    return c.give(flipped(flipped(x, from), to));
  if (turns == 1)
    return c.give(c.g.transpose(flipped(x, to), perm));
  return c.give(turns == 3 ? flipped(c.g.transpose(x, perm), to) : x);
}

static llvm::Error roll(OpContext &c) {
  Value x = c.tensor("self");
  SmallVector<int64_t> dims = c.integers("dims");
  Dims shifts = c.sizes("shifts"), whole = dimsOf(x);
  bool flat = dims.empty() && shifts.size() == 1;
  if (flat) { // as if it had one dimension
    x = c.g.reshape(x, {c.g.facts.simplify(shape::product(whole))});
    dims.push_back(0);
  }
  if (dims.size() != shifts.size())
    return c.cannot("{0} shifts for {1} dimensions", shifts.size(), dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    LATHE_TRY(axis, c.axisOf(dims[i], typeOf(x).getRank()));
    Expr n = dimsOf(x)[axis];
    if (n.isZero() || typeOf(x).getRank() == 0)
      continue;
    Expr shift = c.g.facts.simplify(Expr::mod(shifts[i], n)), rest = c.g.facts.simplify(n - shift);
    x = joinParts(c, {c.g.slice(x, axis, rest, shift), c.g.slice(x, axis, Expr(0), rest)}, axis);
  }
  return c.give(flat ? c.g.reshape(x, whole) : x);
}

llvm::ArrayRef<OpEntry> fx::sliceOps() {
  static const char *const bounds = "self:T dim:I=0 start:N? end:N? step:I=1";
  static const OpEntry table[] = {
      {"slice.Tensor", bounds, slice, IsView},
      {"slice_copy.Tensor", bounds, slice},
      {"slice_scatter.default", "self:T src:T dim:I=0 start:N? end:N? step:I=1", sliceScatter},
      {"select.int", "self:T dim:I index:N", select, IsView},
      {"select_copy.int", "self:T dim:I index:N", select},
      {"select_scatter.default", "self:T src:T dim:I index:N", selectScatter},
      {"narrow.default", "self:T dim:I start:N length:N", narrow, IsView},
      {"flip.default", "self:T dims:I*", flip},
      {"fliplr.default", "self:T", flipOne<1>},
      {"flipud.default", "self:T", flipOne<0>},
      {"rot90.default", "self:T k:I=1 dims:I*?", rotate},
      {"roll.default", "self:T shifts:N* dims:I*?", roll},
  };
  return table;
}
