//===- Split.cpp - A tensor in pieces ---------------------------------------===//

#include "Families.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

/// Gives consecutive pieces, and the place where the last one ends.
static llvm::Expected<Expr> cut(OpContext &c, Value x, int64_t axis, llvm::ArrayRef<Expr> sizes) {
  Expr start(0);
  for (const Expr &size : sizes) {
    if (llvm::Error e = c.need(Condition::compare(Condition::Kind::LessEqual, Expr(0), size)))
      return std::move(e);
    (void)c.give(c.g.slice(x, axis, start, size));
    start = c.g.facts.simplify(start + size);
  }
  return start;
}

/// Pieces that must be the whole dimension.
static llvm::Error pieces(OpContext &c, Value x, int64_t axis, llvm::ArrayRef<Expr> sizes) {
  LATHE_TRY(end, cut(c, x, axis, sizes));
  if (Expr n = dimsOf(x)[axis]; !c.g.facts.provablyEqual(end, n))
    return c.wrong("the pieces make {0} of a dimension of {1}", end.str(), n.str());
  return llvm::Error::success();
}

/// All pieces of one size but the last; the file says how many there are.
static llvm::Error equalPieces(OpContext &c, Value x, int64_t axis, const Expr &size) {
  Dims sizes(c.resultTypes.size(), size);
  if (sizes.empty())
    return c.wrong("there are no results");
  Expr before = c.g.facts.simplify(size * Expr(int64_t(sizes.size()) - 1));
  sizes.back() = c.g.facts.simplify(dimsOf(x)[axis] - before);
  if (llvm::Error e = c.need(Condition::compare(Condition::Kind::LessEqual, sizes.back(), size)))
    return e;
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

/// At given places, or into nearly equal pieces of which the first are longer by one.
static llvm::Error splitAt(OpContext &c, Value x, int64_t axis) {
  if (typeOf(x).getRank() <= axis)
    return c.wrong("the input has rank {0}", typeOf(x).getRank());
  Expr n = dimsOf(x)[axis], start(0);
  Dims sizes, at = c.sizes("indices");
  if (c.has("sections")) {
    int64_t count = c.integer("sections");
    if (count < 1 || count != int64_t(c.resultTypes.size()))
      return c.wrong("{0} sections, {1} results", count, c.resultTypes.size());
    for (int64_t i = 0; i < count; ++i)
      sizes.push_back(c.g.facts.simplify(Expr::floordiv(n + Expr(count - 1 - i), Expr(count))));
    return cut(c, x, axis, sizes).takeError(); // which is all of it (Hermite's identity)
  }
  at.push_back(n);
  for (Expr end : at) {
    if (auto k = end.constant(); k && *k < 0)
      end = n + end;
    end = c.g.facts.simplify(Expr::max(start, Expr::min(end, n)));
    sizes.push_back(c.g.facts.simplify(end - start));
    start = end;
  }
  return pieces(c, x, axis, sizes);
}

static llvm::Error tensorSplit(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axis, c.axis("dim", x));
  return splitAt(c, x, axis);
}

/// At places that are data, as a slice takes them: from the end where they are negative, and at most there.
static llvm::Error splitAtData(OpContext &c) {
  Value x = c.tensor("self"), at = c.tensor("tensor_indices_or_sections");
  LATHE_TRY(axis, c.axis("dim", x));
  int64_t count = c.resultTypes.size();
  if (typeOf(x).getRank() == 0 || typeOf(at).getRank() != 1 || !isIndex(at) || dimsOf(at)[0].constant() != std::optional<int64_t>(count - 1))
    return c.cannot("{0} pieces of {1} at {2}", count, x.getType(), at.getType());
  Type i64 = c.g.b.getI64Type();
  Value end = c.g.size(dimsOf(x)[axis]), zero = c.g.splat(0, {}, i64), from = zero;
  at = c.g.cast(at, i64);
  for (int64_t i = 0; i < count; ++i) {
    Value to = end;
    if (i + 1 < count) {
      to = c.g.squeeze(c.g.slice(at, 0, Expr(i), Expr(1)), {0});
      to = c.g.select(c.g.compare(CompareKind::LT, to, zero), c.g.add(to, end), to);
      to = c.g.binary<MaxOp>(c.g.binary<MinOp>(to, end), zero);
    }
    Expr start = i ? c.bindOwnSize(from) : Expr(0);
    LATHE_TRY(size, c.bindSizeAgain(dimsOf(c.resultTypes[i])[axis], c.g.binary<MaxOp>(c.g.sub(to, from), zero)));
    (void)c.give(c.g.slice(x, axis, start, size));
    from = to;
  }
  return llvm::Error::success();
}

/// hsplit: along the second dimension, or the only one.
template <int64_t axis> static llvm::Error splitAlong(OpContext &c) {
  Value x = c.tensor("self");
  return splitAt(c, x, axis == 1 && typeOf(x).getRank() == 1 ? 0 : axis);
}

llvm::ArrayRef<OpEntry> fx::splitOps() {
  static const char *const byCount = "self:T sections:I";
  static const char *const byPlace = "self:T indices:I*";
  static const OpEntry table[] = {
      {"split.Tensor", "self:T split_size:N dim:I=0", split, IsView},
      {"split.sizes", "self:T split_size:N* dim:I=0", splitWithSizes, IsView},
      {"split_with_sizes.default", "self:T split_sizes:N* dim:I=0", splitWithSizes, IsView},
      {"split_with_sizes_copy.default", "self:T split_sizes:N* dim:I=0", splitWithSizes},
      {"chunk.default", "self:T chunks:I dim:I=0", chunk, IsView},
      {"unbind.int", "self:T dim:I=0", unbind, IsView},
      {"unsafe_split.Tensor", "self:T split_size:N dim:I=0", split},
      {"unsafe_split_with_sizes.default", "self:T split_sizes:N* dim:I=0", splitWithSizes},
      {"unsafe_chunk.default", "self:T chunks:I dim:I=0", chunk},
      {"tensor_split.sections", "self:T sections:I dim:I=0", tensorSplit, IsView},
      {"tensor_split.indices", "self:T indices:N* dim:I=0", tensorSplit, IsView},
      {"tensor_split.tensor_indices_or_sections", "self:T tensor_indices_or_sections:T dim:I=0", splitAtData, IsView},
      {"hsplit.int", byCount, splitAlong<1>, IsView},
      {"hsplit.array", byPlace, splitAlong<1>, IsView},
      {"vsplit.int", byCount, splitAlong<0>, IsView},
      {"vsplit.array", byPlace, splitAlong<0>, IsView},
      {"dsplit.int", byCount, splitAlong<2>, IsView},
      {"dsplit.array", byPlace, splitAlong<2>, IsView},
  };
  return table;
}
