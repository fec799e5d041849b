//===- Views.cpp - Operators that only rename, permute and repeat ----------===//

#include "RuntimeAxes.h"
#include "Sequences.h"

using namespace lathe;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace lathe::onnx {

static Expr countOf(Node &n, ArrayRef<Expr> dims) { return n.simplify(shape::product(dims)); }

/// x under other sizes with the same number of elements: proven, or a relation of the model.
static void reshapeTo(Node &n, Value x, ArrayRef<Expr> dims) {
  n.requireEqual(countOf(n, n.dims(x)), countOf(n, dims),
                 llvm::formatv("{0} cannot take the shape {1}", describe(x.getType()),
                               describe(ir::tensorType(dims, n.element(x))))
                     .str());
  n.out(n.reshape(x, dims));
}

/// Sizes of which some are known only when the model runs, and may then be -1 or 0.
static Dims runtimeShape(Node &n, ArrayRef<Expr> from, const Dims &to, bool zeroIsSize) {
  Dims known, open, out;
  for (auto [i, e] : llvm::enumerate(to)) {
    n.requireAtLeast(e, -1, "a size of the new shape");
    Expr copied = zeroIsSize || i >= from.size() ? Expr(0) : n.axisFlag(e, 0) * from[i];
    known.push_back(n.define("size", Expr::max(Expr(0), e) + copied));
    open.push_back(n.define("open", Expr::min(Expr(1), Expr::max(Expr(0), -e)), 1));
  }
  for (size_t i = 0; i < to.size(); ++i) {
    Expr others(1);
    for (size_t j = 0; j < to.size(); ++j)
      if (j != i)
        others = others * (known[j] + open[j]);
    Expr left = open[i].isZero() ? Expr(0) : n.define("left", Expr::floordiv(countOf(n, from), Expr::max(Expr(1), others)));
    out.push_back(n.simplify(n.define("dim", known[i] + open[i] * left)));
  }
  return out;
}

void reshape(Node &n) {
  Value x = n.in(0);
  Dims from = n.dims(x), to = n.values(1);
  bool zeroIsSize = n.flag("allowzero", false);
  auto isSize = [&](const Expr &e) { // and not -1; what the operand has as a size is one, too
    return e.constant() || llvm::is_contained(from, e) || n.g.facts.provablyLessEqual(Expr(0), e);
  };
  if (!llvm::all_of(to, [&](const Expr &e) { return isSize(e) || n.countsElements(e); }))
    return reshapeTo(n, x, runtimeShape(n, from, to, zeroIsSize));
  for (const Expr &e : to)
    if (!isSize(e))
      n.assumeNotNegative(e, "a size of the new shape");
  std::optional<size_t> open;
  for (size_t i = 0; i < to.size(); ++i) {
    std::optional<int64_t> c = to[i].constant();
    if (c && *c == -1) {
      if (open)
        failWrong("the new shape has -1 twice");
      open = i;
    } else if (c && *c < 0) {
      failWrong("the new shape has the size {0}", *c);
    } else if (c && *c == 0 && !zeroIsSize) {
      if (i >= from.size())
        failWrong("the new shape copies dimension {0} of {1}", i, describe(x.getType()));
      to[i] = n.simplify(from[i]);
    }
  }
  if (open) {
    Dims others = to;
    others.erase(others.begin() + *open);
    to[*open] = n.exactQuotient(countOf(n, from), countOf(n, others), "the size that -1 stands for");
  }
  reshapeTo(n, x, to);
}

void flatten(Node &n) {
  Value x = n.in(0);
  Dims from = n.dims(x);
  int64_t axis = n.integer("axis", 1), rank = n.rank(x);
  if (axis < -rank || axis > rank)
    failWrong("axis {0} is out of range for rank {1}", axis, rank);
  axis = axis < 0 ? axis + rank : axis;
  n.out(n.reshape(x, {countOf(n, ArrayRef<Expr>(from).take_front(axis)), countOf(n, ArrayRef<Expr>(from).drop_front(axis))}));
}

void squeeze(Node &n) {
  Value x = n.in(0);
  Dims from = n.dims(x);
  if (Dims runtime = n.has(1) ? n.axisValues(1, n.rank(x)) : Dims(); anyUnknown(runtime)) {
    RuntimeAxes split(n, from, runtime);
    for (const Expr &e : split.named)
      n.require(e, "eq", Expr(1), "a dimension that is squeezed is 1");
    return reshapeTo(n, x, split.others);
  }
  SmallVector<int64_t> axes = n.axes(n.attributeOrInput("axes", 1), n.rank(x));
  if (axes.empty() && !n.has(1) && !n.hasAttribute("axes"))
    for (size_t i = 0; i < from.size(); ++i) {
      if (n.simplify(from[i]).isOne())
        axes.push_back(i);
      else if (!n.g.facts.provablyLess(Expr(1), from[i])) // a result's rank is known when the model is compiled
        n.require(from[i], "ne", Expr(1),
                  llvm::formatv("{0} is not 1: Squeeze without axes keeps it here, and would drop it if it were; compile with it fixed to 1 for that",
                                n.simplify(from[i]).str()).str());
    }
  for (int64_t a : axes)
    n.requireEqual(from[a], Expr(1), llvm::formatv("dimension {0} of {1} is squeezed", a, describe(x.getType())).str());
  n.out(n.g.squeeze(x, axes));
}

/// Result dimension i is new where an axis says so, else the operand's next.
static void unsqueezeAt(Node &n, Value x, const Dims &axes) {
  Dims from = n.dims(x), to;
  Expr next(0); // of the operand
  for (size_t i = 0; i < from.size() + axes.size(); ++i) {
    Expr isNew(0), size(0);
    for (const Expr &axis : axes)
      isNew = isNew + n.axisFlag(axis, int64_t(i));
    if (axes.size() > 1)
      n.require(isNew, "le", Expr(1), "no axis is named twice");
    for (size_t d = 0; d < from.size(); ++d)
      size = size + n.axisFlag(n.simplify(next), int64_t(d)) * from[d];
    to.push_back(n.define("size", isNew + (Expr(1) - isNew) * size));
    next = next + Expr(1) - isNew;
  }
  reshapeTo(n, x, to);
}

void unsqueeze(Node &n) {
  Value x = n.in(0);
  if (n.has(1)) {
    Dims given = n.values(1);
    if (anyUnknown(given) && given.size() <= 64)
      return unsqueezeAt(n, x, n.axisValues(1, n.rank(x) + int64_t(given.size())));
  }
  SmallVector<int64_t> given = n.attributeOrInput("axes", 1);
  if (given.size() > 64)
    failWrong("{0} new dimensions", given.size());
  n.out(n.g.unsqueeze(x, n.axes(given, n.rank(x) + int64_t(given.size()))));
}

void transpose(Node &n) {
  Value x = n.in(0);
  int64_t rank = n.rank(x);
  SmallVector<int64_t> perm = n.integers("perm");
  if (!n.hasAttribute("perm"))
    for (int64_t i = rank - 1; i >= 0; --i)
      perm.push_back(i);
  SmallVector<int64_t> normal;
  for (int64_t p : perm)
    normal.push_back(n.axis(p, rank));
  if (int64_t(perm.size()) != rank || int64_t(n.axes(normal, rank).size()) != rank)
    failWrong("attribute 'perm' has {0} entries, expected {1}", perm.size(), rank);
  n.out(n.g.transpose(x, normal));
}

/// Broadcasting in both directions: a size of 1 in the new shape keeps the operand's.
void expand(Node &n) {
  Value x = n.in(0);
  Dims from = n.dims(x), to = n.sizes(1);
  for (size_t i = 0; i < to.size(); ++i) {
    Expr &e = to[i];
    if (e.constant() && *e.constant() < 0)
      failWrong("the new shape has the size {0}", e.str());
    // A size that the model reads when it runs may be 1 or the operand's.
    size_t behind = to.size() - i;
    if (!n.readsElement(e) || behind > from.size())
      continue;
    Expr d = n.simplify(from[from.size() - behind]);
    if (d.isOne() || n.g.facts.provablyEqual(d, e))
      continue;
    n.require(Expr(0), "eq", (e - Expr(1)) * (e - d), llvm::formatv("{0} is 1 or {1}", e.str(), d.str()).str());
    e = Expr(1);
  }
  x = n.spreadToConstants(x, to);
  n.out(n.broadcastTo(x, n.commonDims(n.dims(x), to, {x})));
}

void tile(Node &n) {
  Value x = n.in(0);
  Dims from = n.dims(x), repeats = n.sizes(1), split, repeated, joined;
  if (repeats.size() != from.size())
    failWrong("{0} repeats for rank {1}", repeats.size(), from.size());
  for (auto [d, r] : llvm::zip(from, repeats)) {
    if (r.constant() && *r.constant() < 0)
      failWrong("a dimension is repeated {0} times", r.str());
    split.append({Expr(1), d});
    repeated.append({r, d});
    joined.push_back(n.simplify(r * d));
  }
  if (countOf(n, from).isZero()) // nothing, as often as it is repeated
    return n.out(n.g.splat(0, joined, n.element(x)));
  n.out(n.reshape(n.g.broadcastTo(n.reshape(x, split), repeated), joined));
}

void concat(Node &n) {
  SmallVector<Value> values;
  for (unsigned i = 0; i < n.numInputs(); ++i)
    values.push_back(n.in(i));
  if (values.empty())
    failWrong("operand 0 is missing");
  n.out(concatenated(n, values, n.axis(n.requiredInteger("axis"), n.rank(values[0]))));
}

static void blocks(Node &n, Value x, int64_t size) {
  n.requireRank(x, 4);
  if (size < 1 || size > (1 << 20))
    failWrong("attribute 'blocksize' is {0}", size);
}

/// Whether the places of a block stand in front of the channels (DCR), not behind them (CRD).
static bool placesFirst(Node &n) {
  std::string mode = n.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    failWrong("attribute 'mode' is '{0}', expected DCR or CRD", mode);
  return mode == "DCR";
}

void depthToSpace(Node &n) {
  Value x = n.in(0);
  int64_t s = n.requiredInteger("blocksize");
  blocks(n, x, s);
  Dims d = n.dims(x);
  Expr c = n.exactQuotient(d[1], Expr(s * s), "the number of channels");
  Value r = placesFirst(n) ? n.g.transpose(n.reshape(x, {d[0], s, s, c, d[2], d[3]}), {0, 3, 4, 1, 5, 2})
                          : n.g.transpose(n.reshape(x, {d[0], c, s, s, d[2], d[3]}), {0, 1, 4, 2, 5, 3});
  n.out(n.reshape(r, {d[0], c, n.simplify(d[2] * Expr(s)), n.simplify(d[3] * Expr(s))}));
}

void spaceToDepth(Node &n) {
  Value x = n.in(0);
  int64_t s = n.requiredInteger("blocksize");
  blocks(n, x, s);
  Dims d = n.dims(x);
  Expr h = n.exactQuotient(d[2], Expr(s), "the height"), w = n.exactQuotient(d[3], Expr(s), "the width");
  Value parts = n.reshape(x, {d[0], d[1], h, s, w, s}); // the mode is there since operator set 28
  Value r = placesFirst(n) ? n.g.transpose(parts, {0, 3, 5, 1, 2, 4}) : n.g.transpose(parts, {0, 1, 3, 5, 2, 4});
  n.out(n.reshape(r, {d[0], n.simplify(d[1] * Expr(s * s)), h, w}));
}

} // namespace lathe::onnx
