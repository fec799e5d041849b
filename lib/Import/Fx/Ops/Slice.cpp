//===- Slice.cpp - Parts of a tensor ----------------------------------------===//
//
// No read may leave a tensor: where a bound is not provable from what is known of the sizes, the node is refused.
//
//===----------------------------------------------------------------------===//

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

/// A position along a dimension of n, negative ones from the end, brought into [0, n] as Python's slices do. Nothing when its
/// sign is not known.
static std::optional<Expr> clampPosition(OpContext &c, Expr at, const Expr &n) {
  Bounds bounds{c.g.facts};
  if (auto constant = at.constant()) {
    if (*constant < 0)
      at = c.g.facts.simplify(n + at);
  } else if (c.g.facts.provablyLess(at, Expr(0))) {
    at = c.g.facts.simplify(n + at);
  } else if (!c.g.facts.provablyLessEqual(Expr(0), at)) {
    return std::nullopt;
  }
  return bounds.min(bounds.max(at, Expr(0)), n);
}

struct Part {
  Expr start, size;
};

static llvm::Expected<Part> partOf(OpContext &c, const Expr &n, int64_t step) {
  Expr from = c.has("start") ? c.size("start") : Expr(0), to = c.has("end") ? c.size("end") : n;
  if (to.constant() == std::optional<int64_t>(INT64_MAX)) // how torch writes x[a:]
    to = n;
  auto start = clampPosition(c, from, n), end = clampPosition(c, to, n);
  if (!start || !end)
    return c.cannot("the bounds {0} to {1} may be negative or not", from.str(), to.str());
  Expr length = c.g.facts.simplify(*end - *start);
  if (!c.g.facts.provablyLessEqual(Expr(0), length))
    length = Bounds{c.g.facts}.max(length, Expr(0));
  return Part{*start, step == 1 ? length : c.g.facts.simplify(Expr::ceildiv(length, Expr(step)))};
}

static llvm::Error slice(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axis, c.axis("dim", x));
  int64_t step = c.integer("step");
  if (typeOf(x).getRank() == 0 || step < 1)
    return c.wrong("the input has rank 0, or the step {0} is not positive", step);
  LATHE_TRY(part, partOf(c, dimsOf(x)[axis], step));
  return c.give(c.g.slice(x, axis, part.start, part.size, step));
}

/// The input with one part replaced.
static llvm::Error sliceScatter(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axis, c.axis("dim", x));
  if (typeOf(x).getRank() == 0 || c.integer("step") != 1)
    return c.cannot("a step of {0}", c.integer("step"));
  Expr n = dimsOf(x)[axis];
  LATHE_TRY(part, partOf(c, n, 1));
  Dims want = dimsOf(x);
  want[axis] = part.size;
  LATHE_TRY(source, c.broadcastTo(c.g.cast(c.tensor("src"), elementOf(x)), want));
  Expr end = c.g.facts.simplify(part.start + part.size);
  Value before = c.g.slice(x, axis, Expr(0), part.start);
  Value after = c.g.slice(x, axis, end, c.g.facts.simplify(n - end));
  return c.give(joinParts(c, {before, source, after}, axis));
}

/// An index into a dimension of n, made non-negative and proven to be inside.
static llvm::Expected<Expr> indexInto(OpContext &c, Expr at, const Expr &n) {
  if (auto constant = at.constant(); constant && *constant < 0)
    at = c.g.facts.simplify(n + at);
  if (!c.g.facts.provablyLessEqual(Expr(0), at) || !c.g.facts.provablyLess(at, n))
    return c.cannot("index {0} is not provably inside a dimension of {1}", at.str(), n.str());
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
  Expr end = c.g.facts.simplify(at + Expr(1));
  Value before = c.g.slice(x, axis, Expr(0), at);
  Value after = c.g.slice(x, axis, end, c.g.facts.simplify(n - end));
  return c.give(joinParts(c, {before, c.g.unsqueeze(source, {axis}), after}, axis));
}

static llvm::Error narrow(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axis, c.axis("dim", x));
  if (typeOf(x).getRank() == 0)
    return c.wrong("the input has rank 0");
  Expr n = dimsOf(x)[axis], start = c.size("start"), length = c.size("length");
  if (auto constant = start.constant(); constant && *constant < 0)
    start = c.g.facts.simplify(n + start);
  if (!c.g.facts.provablyLessEqual(Expr(0), start) || !c.g.facts.provablyLessEqual(Expr(0), length) ||
      !c.g.facts.provablyLessEqual(start + length, n))
    return c.cannot("{0} elements from {1} are not provably inside a dimension of {2}", length.str(), start.str(), n.str());
  return c.give(c.g.slice(x, axis, start, length));
}

/// Gives consecutive pieces, which must be the whole dimension.
static llvm::Error pieces(OpContext &c, Value x, int64_t axis, llvm::ArrayRef<Expr> sizes) {
  Expr start(0), n = dimsOf(x)[axis];
  for (const Expr &size : sizes) {
    if (!c.g.facts.provablyLessEqual(Expr(0), size))
      return c.cannot("a piece of dimension {0} has the size {1}, which may be negative", axis, size.str());
    (void)c.give(c.g.slice(x, axis, start, size));
    start = c.g.facts.simplify(start + size);
  }
  if (!c.g.facts.provablyEqual(start, n))
    return c.wrong("the pieces make {0} of a dimension of {1}", start.str(), n.str());
  return llvm::Error::success();
}

/// All pieces of one size but the last; the file says how many there are.
static llvm::Error equalPieces(OpContext &c, Value x, int64_t axis, const Expr &size) {
  Dims sizes(c.resultTypes.size(), size);
  if (sizes.empty())
    return c.wrong("there are no results");
  Expr before = c.g.facts.simplify(size * Expr(int64_t(sizes.size()) - 1));
  sizes.back() = c.g.facts.simplify(dimsOf(x)[axis] - before);
  if (!c.g.facts.provablyLessEqual(sizes.back(), size))
    return c.wrong("{0} pieces of {1} do not cover a dimension of {2}", sizes.size(), size.str(), dimsOf(x)[axis].str());
  return pieces(c, x, axis, sizes);
}

static llvm::Error split(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axis, c.axis("dim", x));
  if (typeOf(x).getRank() == 0)
    return c.wrong("the input has rank 0");
  return equalPieces(c, x, axis, c.size("split_size"));
}

static llvm::Error splitWithSizes(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axis, c.axis("dim", x));
  if (typeOf(x).getRank() == 0)
    return c.wrong("the input has rank 0");
  return pieces(c, x, axis, c.sizes(c.has("split_size") ? "split_size" : "split_sizes"));
}

static llvm::Error chunk(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axis, c.axis("dim", x));
  int64_t chunks = c.integer("chunks");
  if (typeOf(x).getRank() == 0 || chunks < 1)
    return c.wrong("the input has rank 0, or there are {0} chunks", chunks);
  return equalPieces(c, x, axis, c.g.facts.simplify(Expr::ceildiv(dimsOf(x)[axis], Expr(chunks))));
}

static llvm::Error unbind(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axis, c.axis("dim", x));
  int64_t count = c.resultTypes.size();
  if (typeOf(x).getRank() == 0 || dimsOf(x)[axis].constant() != std::optional<int64_t>(count))
    return c.wrong("{0} results do not cover dimension {1} of {2}", count, axis, x.getType());
  for (int64_t i = 0; i < count; ++i)
    (void)c.give(c.g.squeeze(c.g.slice(x, axis, Expr(i), Expr(1)), {axis}));
  return llvm::Error::success();
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

static llvm::Error roll(OpContext &c) {
  Value x = c.tensor("self");
  SmallVector<int64_t> dims = c.integers("dims");
  Dims shifts = c.sizes("shifts");
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
  return c.give(x);
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
      {"split.Tensor", "self:T split_size:N dim:I=0", split, IsView},
      {"split.sizes", "self:T split_size:N* dim:I=0", splitWithSizes, IsView},
      {"split_with_sizes.default", "self:T split_sizes:N* dim:I=0", splitWithSizes, IsView},
      {"split_with_sizes_copy.default", "self:T split_sizes:N* dim:I=0", splitWithSizes},
      {"chunk.default", "self:T chunks:I dim:I=0", chunk, IsView},
      {"unbind.int", "self:T dim:I=0", unbind, IsView},
      {"flip.default", "self:T dims:I*", flip},
      {"roll.default", "self:T shifts:N* dims:I*?", roll},
  };
  return table;
}
