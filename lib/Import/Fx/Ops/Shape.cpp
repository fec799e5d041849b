//===- Shape.cpp - Reshapes, permutations, expansions -----------------------===//

#include "Families.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

static std::string textOf(llvm::ArrayRef<Expr> dims) {
  std::string text = "[";
  for (const Expr &e : dims)
    text += (text.size() > 1 ? ", " : "") + e.str();
  return text + "]";
}

/// Replaces one -1 by what the others leave of `total`. `told`: what the file says of the same dimensions.
static llvm::Expected<Dims> inferSizes(OpContext &c, const Expr &total, Dims dims, llvm::ArrayRef<Expr> told) {
  Expr known(1);
  std::optional<size_t> open;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].constant() != std::optional<int64_t>(-1)) {
      known = known * dims[i];
    } else {
      if (open)
        return c.wrong("the sizes {0} leave two dimensions open", textOf(dims));
      open = i;
    }
  }
  known = c.g.facts.simplify(known);
  if (open) {
    auto quotient = known.isZero() ? std::nullopt : Expr::divideExactly(total, known);
    if (!quotient && !known.isZero() && c.g.facts.provablyDivides(known, total))
      quotient = Expr::floordiv(total, known);
    if (!quotient && dims.size() == told.size() && c.g.facts.clone().addEquality(known * told[*open], total)) { // runs are checked
      if (llvm::Error e = c.needEqual(known * told[*open], total))
        return std::move(e);
      quotient = told[*open];
    }
    if (!quotient)
      return c.wrong("{0} elements do not fill the sizes {1}", total.str(), textOf(dims));
    dims[*open] = c.g.facts.simplify(*quotient);
  } else if (!c.g.facts.provablyEqual(known, total)) {
    if (!c.g.facts.clone().addEquality(known, total))
      return c.wrong("{0} elements do not fill the sizes {1}", total.str(), textOf(dims));
    if (llvm::Error e = c.needEqual(known, total)) // runs are checked
      return std::move(e);
  }
  for (const Expr &e : dims)
    if (auto n = e.constant(); n && *n < 0)
      return c.wrong("the sizes {0} hold a negative one", textOf(dims));
  return dims;
}

static llvm::Error reshapeTo(OpContext &c, const Dims &sizes) {
  Value x = c.tensor("self");
  LATHE_TRY(dims, inferSizes(c, c.g.facts.simplify(shape::product(dimsOf(x))), sizes, c.resultDims()));
  return c.give(c.g.reshape(x, dims));
}

static llvm::Error view(OpContext &c) { return reshapeTo(c, c.sizes(c.has("shape") ? "shape" : "size")); }
static llvm::Error viewAs(OpContext &c) { return reshapeTo(c, dimsOf(c.tensor("other"))); }

static llvm::Error flatten(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(first, c.axis("start_dim", x));
  LATHE_TRY(last, c.axis("end_dim", x));
  Dims from = dimsOf(x), dims;
  if (from.empty())
    return c.give(c.g.reshape(x, {Expr(1)}));
  if (first > last)
    return c.wrong("start_dim {0} comes after end_dim {1}", first, last);
  dims.assign(from.begin(), from.begin() + first);
  dims.push_back(c.g.facts.simplify(shape::product(llvm::ArrayRef<Expr>(from).slice(first, last - first + 1))));
  dims.append(from.begin() + last + 1, from.end());
  return c.give(c.g.reshape(x, dims));
}

/// A number becomes a vector, too.
static llvm::Error ravel(OpContext &c) {
  Value x = c.tensor("self");
  return c.give(flattened(c, x));
}

static llvm::Error unflatten(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axis, c.axis("dim", x));
  Dims from = dimsOf(x), sizes = c.sizes("sizes");
  if (from.empty() || sizes.empty())
    return c.wrong("the input has rank 0, or 'sizes' is empty");
  Dims all = c.resultDims();
  bool isTold = all.size() == from.size() + sizes.size() - 1;
  LATHE_TRY(parts, inferSizes(c, from[axis], sizes, isTold ? llvm::ArrayRef<Expr>(all).slice(axis, sizes.size()) : llvm::ArrayRef<Expr>()));
  Dims dims(from.begin(), from.begin() + axis);
  dims.append(parts);
  dims.append(from.begin() + axis + 1, from.end());
  return c.give(c.g.reshape(x, dims));
}

//===----------------------------------------------------------------------===//
// Permutations
//===----------------------------------------------------------------------===//

static llvm::Error permute(OpContext &c) {
  Value x = c.tensor("self");
  SmallVector<int64_t> perm;
  for (int64_t given : c.integers("dims")) {
    LATHE_TRY(axis, c.axisOf(given, typeOf(x).getRank()));
    perm.push_back(axis);
  }
  SmallVector<int64_t> sorted = perm;
  llvm::sort(sorted);
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != int64_t(i))
      return c.wrong("'dims' is no permutation");
  if (int64_t(perm.size()) != typeOf(x).getRank())
    return c.wrong("'dims' names {0} of {1} dimensions", perm.size(), typeOf(x).getRank());
  return c.give(c.g.transpose(x, perm));
}

static llvm::Error swap(OpContext &c, int64_t first, int64_t second) {
  Value x = c.tensor("self");
  int64_t rank = typeOf(x).getRank();
  LATHE_TRY(a, c.axisOf(first, rank));
  LATHE_TRY(b, c.axisOf(second, rank));
  if (rank == 0 || a == b)
    return c.give(x);
  SmallVector<int64_t> perm;
  for (int64_t i = 0; i < rank; ++i)
    perm.push_back(i == a ? b : i == b ? a : i);
  return c.give(c.g.transpose(x, perm));
}

static llvm::Error transpose(OpContext &c) { return swap(c, c.integer("dim0"), c.integer("dim1")); }
static llvm::Error swapAxes(OpContext &c) { return swap(c, c.integer("axis0"), c.integer("axis1")); }
static llvm::Error transposeLast(OpContext &c) {
  return typeOf(c.tensor("self")).getRank() < 2 ? c.wrong("the input has rank below 2") : swap(c, -2, -1);
}
static llvm::Error transpose2d(OpContext &c) {
  return typeOf(c.tensor("self")).getRank() < 2 ? c.give(c.tensor("self")) : swap(c, 0, 1);
}

static llvm::Error reverseDims(OpContext &c) {
  Value x = c.tensor("self");
  SmallVector<int64_t> perm;
  for (int64_t i = typeOf(x).getRank(); i-- > 0;)
    perm.push_back(i);
  return c.give(c.g.transpose(x, perm));
}

static llvm::Error moveDim(OpContext &c) {
  Value x = c.tensor("self");
  int64_t rank = typeOf(x).getRank();
  SmallVector<int64_t> from = c.integers("source"), to = c.integers("destination"), perm(rank, -1);
  if (from.size() != to.size())
    return c.wrong("'source' and 'destination' differ in length");
  std::set<int64_t> moved;
  for (size_t i = 0; i < from.size(); ++i) {
    LATHE_TRY(source, c.axisOf(from[i], rank));
    LATHE_TRY(target, c.axisOf(to[i], rank));
    if (rank == 0)
      return c.give(x);
    if (!moved.insert(source).second || perm[target] >= 0)
      return c.wrong("a dimension is moved twice");
    perm[target] = source;
  }
  int64_t next = 0;
  for (int64_t &p : perm) {
    while (moved.count(next))
      ++next;
    if (p < 0)
      p = next++;
  }
  return c.give(c.g.transpose(x, perm));
}

//===----------------------------------------------------------------------===//
// Size-1 dimensions and expansion
//===----------------------------------------------------------------------===//

static llvm::Error squeeze(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axes, c.axes("dim", x));
  if (c.has("dim") && c.integers("dim").empty())
    return c.give(x);
  SmallVector<int64_t> ones;
  for (int64_t a : axes)
    if (dimsOf(x)[a].isOne())
      ones.push_back(a);
    else if (llvm::Error e = c.need(Condition::compare(Condition::Kind::NotEqual, dimsOf(x)[a], Expr(1))))
      return e; // at 1, the result would have another rank
  return c.give(c.g.squeeze(x, ones));
}

static llvm::Error unsqueeze(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axis, c.axisOf(c.integer("dim"), typeOf(x).getRank() + 1));
  return c.give(c.g.unsqueeze(x, {axis}));
}

static llvm::Error expand(OpContext &c) {
  Value x = c.tensor("self");
  Dims from = dimsOf(x), dims = c.sizes("size");
  if (dims.size() < from.size())
    return c.wrong("{0} has more dimensions than the sizes {1}", x.getType(), textOf(dims));
  size_t lead = dims.size() - from.size();
  for (size_t i = 0; i < dims.size(); ++i)
    if (auto n = dims[i].constant(); n && *n < 0) {
      if (*n != -1 || i < lead)
        return c.wrong("the sizes {0} hold a negative one", textOf(dims));
      dims[i] = from[i - lead];
    }
  LATHE_TRY(wide, c.broadcastTo(x, dims));
  return c.give(wide);
}

static llvm::Error expandAs(OpContext &c) {
  LATHE_TRY(wide, c.broadcastTo(c.tensor("self"), dimsOf(c.tensor("other"))));
  return c.give(wide);
}

/// Repetition is a broadcast of a new dimension that is then merged: [a, b] times [2, 3] is [2, a, 3, b] merged.
static Value repeatBy(OpContext &c, Value x, Dims counts) {
  while (int64_t(counts.size()) < typeOf(x).getRank())
    counts.insert(counts.begin(), Expr(1));
  Dims from = dimsOf(x), split, wide, merged;
  while (from.size() < counts.size())
    from.insert(from.begin(), Expr(1));
  for (size_t i = 0; i < counts.size(); ++i) {
    bool copies = !counts[i].isOne();
    if (copies) {
      split.push_back(Expr(1));
      wide.push_back(counts[i]);
    }
    split.push_back(from[i]);
    wide.push_back(from[i]);
    merged.push_back(c.g.facts.simplify(counts[i] * from[i]));
  }
  if (llvm::any_of(counts, [](const Expr &e) { return e.isZero(); }))
    return c.g.splat(0, merged, elementOf(x)); // no elements
  return c.g.reshape(c.g.broadcastTo(c.g.reshape(x, split), wide), merged);
}

static llvm::Error repeat(OpContext &c) {
  Value x = c.tensor("self");
  Dims counts = c.sizes(c.has("dims") ? "dims" : "repeats");
  for (const Expr &e : counts)
    if (!c.g.facts.provablyLessEqual(Expr(0), e))
      return c.wrong("the repeats {0} may be negative", textOf(counts));
  return c.give(repeatBy(c, x, counts));
}

static llvm::Error repeatInterleave(OpContext &c) {
  Value x = c.tensor("self");
  Expr count = c.size("repeats");
  if (!c.has("dim"))
    x = flattened(c, x);
  LATHE_TRY(axis, c.has("dim") ? c.axis("dim", x) : llvm::Expected<int64_t>(0));
  if (typeOf(x).getRank() == 0 || !c.g.facts.provablyLessEqual(Expr(0), count))
    return c.wrong("the input has rank 0, or the count {0} may be negative", count.str());
  Dims merged = dimsOf(x);
  merged[axis] = c.g.facts.simplify(merged[axis] * count);
  Value split = c.g.unsqueeze(x, {axis + 1});
  Dims wide = dimsOf(split);
  wide[axis + 1] = count;
  return c.give(c.g.reshape(c.g.broadcastTo(split, wide), merged));
}

static llvm::Error pixelShuffle(OpContext &c) {
  Value x = c.tensor("self");
  int64_t r = c.integer("upscale_factor"), rank = typeOf(x).getRank();
  if (rank < 3 || r < 1 || r > 1024)
    return c.wrong("an input of rank {0} and a factor of {1}", rank, r);
  Dims from = dimsOf(x), split(from.begin(), from.end() - 3), merged = split;
  auto channels = Expr::divideExactly(from[rank - 3], Expr(r * r));
  if (!channels)
    return c.wrong("{0} channels are no multiple of {1}", from[rank - 3].str(), r * r);
  split.append({*channels, Expr(r), Expr(r), from[rank - 2], from[rank - 1]});
  merged.append({*channels, from[rank - 2] * Expr(r), from[rank - 1] * Expr(r)});
  SmallVector<int64_t> perm;
  for (int64_t i = 0; i < rank - 2; ++i)
    perm.push_back(i);
  perm.append({rank, rank - 2, rank + 1, rank - 1});
  return c.give(c.g.reshape(c.g.transpose(c.g.reshape(x, split), perm), merged));
}

llvm::ArrayRef<OpEntry> fx::shapeOps() {
  static const OpEntry table[] = {
      {"view.default", "self:T size:N*", view, IsView},
      {"_unsafe_view.default", "self:T size:N*", view, IsView},
      {"reshape.default", "self:T shape:N*", view, MayCopy},
      {"_reshape_copy.default", "self:T size:N*", view},
      {"view_copy.default", "self:T size:N*", view},
      {"view_as.default", "self:T other:T", viewAs, IsView},
      {"reshape_as.default", "self:T other:T", viewAs, MayCopy},
      {"flatten.using_ints", "self:T start_dim:I=0 end_dim:I=-1", flatten, MayCopy},
      {"unflatten.int", "self:T dim:I sizes:N*", unflatten, IsView},
      {"permute.default", "self:T dims:I*", permute, IsView},
      {"permute_copy.default", "self:T dims:I*", permute},
      {"transpose.int", "self:T dim0:I dim1:I", transpose, IsView},
      {"transpose.default", "self:T dim0:I dim1:I", transpose, IsView}, // transpose_
      {"swapaxes.default", "self:T axis0:I axis1:I", swapAxes, IsView},
      {"swapdims.default", "self:T dim0:I dim1:I", transpose, IsView},
      {"transpose_copy.int", "self:T dim0:I dim1:I", transpose},
      {"ravel.default", "self:T", ravel, MayCopy},
      {"t.default", "self:T", transpose2d, IsView},
      {"mH.default", "self:T", transposeLast, IsView},
      {"matrix_H.default", "self:T", transposeLast, IsView},
      {"mT.default", "self:T", transposeLast, IsView},
      {"numpy_T.default", "self:T", reverseDims, IsView},
      {"movedim.int", "self:T source:I* destination:I*", moveDim, IsView},
      {"movedim.intlist", "self:T source:I* destination:I*", moveDim, IsView},
      {"squeeze.default", "self:T", squeeze, IsView},
      {"squeeze.dim", "self:T dim:I*", squeeze, IsView},
      {"squeeze.dims", "self:T dim:I*", squeeze, IsView},
      {"squeeze_copy.dim", "self:T dim:I*", squeeze},
      {"unsqueeze.default", "self:T dim:I", unsqueeze, IsView},
      {"unsqueeze_copy.default", "self:T dim:I", unsqueeze},
      {"expand.default", "self:T size:N*", expand, IsView},
      {"expand_copy.default", "self:T size:N*", expand},
      {"broadcast_to.default", "self:T size:N*", expand, IsView},
      {"expand_as.default", "self:T other:T", expandAs, IsView},
      {"repeat.default", "self:T repeats:N*", repeat},
      {"tile.default", "self:T dims:N*", repeat},
      {"repeat_interleave.self_int", "self:T repeats:N dim:I? output_size:N?", repeatInterleave},
      {"pixel_shuffle.default", "self:T upscale_factor:I", pixelShuffle},
  };
  return table;
}
