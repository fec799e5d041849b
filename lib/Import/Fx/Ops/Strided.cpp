//===- Strided.cpp - Tensors by the strides of their memory -----------------===//
//
// The memory is the operand's elements in their order, where the file says that it is contiguous and begins at 0.
//
//===----------------------------------------------------------------------===//

#include "../Views.h"
#include "Families.h"
#include "lathe/Dialect/Lathe/Scatter.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

static llvm::Expected<Value> memoryOf(OpContext &c, llvm::StringRef name) {
  const TensorMeta *meta = c.metaOf(name);
  bool starts = meta && meta->offset.expr && meta->offset.expr->isZero();
  if (!starts || isContiguous(*meta, c.g.facts) != std::optional<bool>(true))
    return c.cannot("the operand is itself a view of memory in another order");
  Value x = c.tensor(name);
  return flattened(c, x);
}

namespace {
struct Strided {
  Dims sizes, strides;
  Expr offset;
};
} // namespace

static llvm::Expected<Strided> stridedOf(OpContext &c) {
  Strided s{c.sizes("size"), c.sizes("stride"), c.has("storage_offset") ? c.size("storage_offset") : Expr(0)};
  if (s.sizes.size() != s.strides.size())
    return c.wrong("{0} sizes with {1} strides", s.sizes.size(), s.strides.size());
  Expr last = s.offset, count = shape::product(dimsOf(c.tensor("self")));
  for (auto [size, stride] : llvm::zip(s.sizes, s.strides)) {
    if (!c.g.facts.provablyLessEqual(Expr(0), size) || !c.g.facts.provablyLessEqual(Expr(0), stride))
      return c.wrong("a size of {0} with the stride {1}", size.str(), stride.str());
    if (size.isZero())
      return s;
    last = last + (size - Expr(1)) * stride;
  }
  if (llvm::Error e = c.need(Condition::compare(Condition::Kind::Less, last, count)))
    return std::move(e);
  if (llvm::Error e = c.need(Condition::compare(Condition::Kind::LessEqual, Expr(0), s.offset)))
    return std::move(e);
  return s;
}

/// The order of dimensions in which the elements stand side by side; empty where they do not.
static SmallVector<int64_t> denseOrder(OpContext &c, const Strided &s) {
  SmallVector<int64_t> order;
  Expr stride(1);
  for (size_t found = 0; found < s.sizes.size(); ++found) {
    int64_t next = -1;
    for (int64_t d = int64_t(s.sizes.size()) - 1; d >= 0 && next < 0; --d)
      if (!llvm::is_contained(order, d) && (s.sizes[d].isOne() || c.g.facts.provablyEqual(s.strides[d], stride)))
        next = d;
    if (next < 0)
      return {};
    order.push_back(next);
    stride = c.g.facts.simplify(stride * s.sizes[next]);
  }
  std::reverse(order.begin(), order.end());
  return order;
}

static Value placesOf(OpContext &c, const Strided &s) {
  Type i64 = c.g.b.getI64Type();
  Value at = c.g.broadcastTo(c.g.size(s.offset), s.sizes);
  for (auto [d, stride] : llvm::enumerate(s.strides))
    if (!stride.isZero())
      at = c.g.add(at, c.g.mul(c.g.iota(s.sizes, d, i64), c.g.broadcastTo(c.g.size(stride), s.sizes)));
  return at;
}

static llvm::Error asStrided(OpContext &c) {
  LATHE_TRY(memory, memoryOf(c, "self"));
  LATHE_TRY(s, stridedOf(c));
  SmallVector<int64_t> order = denseOrder(c, s);
  if (llvm::any_of(s.sizes, [](const Expr &e) { return e.isZero(); }))
    return c.give(c.g.splat(0, s.sizes, elementOf(memory)));
  if (order.empty() && !s.sizes.empty())
    return c.give(c.g.gather(memory, placesOf(c, s), 0));
  Dims dense;
  SmallVector<int64_t> back(order.size());
  for (auto [i, d] : llvm::enumerate(order)) {
    dense.push_back(s.sizes[d]);
    back[d] = i;
  }
  Value part = c.g.slice(memory, 0, s.offset, c.g.facts.simplify(shape::product(dense)));
  return c.give(c.g.transpose(c.g.reshape(part, dense), back));
}

static llvm::Error asStridedScatter(OpContext &c) {
  LATHE_TRY(memory, memoryOf(c, "self"));
  LATHE_TRY(s, stridedOf(c));
  LATHE_TRY(source, c.broadcastTo(c.g.cast(c.tensor("src"), elementOf(memory)), s.sizes));
  Expr count = c.g.facts.simplify(shape::product(s.sizes));
  Value r = scatterAlong(c.g, ScatterKind::Set, memory, c.g.reshape(placesOf(c, s), {count}), c.g.reshape(source, {count}), 0);
  return c.give(c.g.reshape(r, dimsOf(c.tensor("self"))));
}

/// Windows of a dimension: they are counted where it was, and the elements of each come last.
static llvm::Error unfold(OpContext &c) {
  Value x = atLeastOneDim(c, c.tensor("self"));
  LATHE_TRY(axis, c.axis("dimension", x));
  Expr size = c.size("size"), n = dimsOf(x)[axis];
  int64_t step = c.integer("step"), rank = typeOf(x).getRank();
  if (step < 1 || !c.g.facts.provablyLessEqual(Expr(0), size))
    return c.wrong("windows of {0} elements every {1}", size.str(), step);
  if (llvm::Error e = c.need(Condition::compare(Condition::Kind::LessEqual, size, n)))
    return e;
  Dims windows{c.g.facts.simplify(Expr::floordiv(n - size, Expr(step)) + Expr(1)), size};
  Type i64 = c.g.b.getI64Type();
  Value at = c.g.add(c.g.binary<MulOp>(c.g.iota(windows, 0, i64), double(step)), c.g.iota(windows, 1, i64));
  SmallVector<int64_t> perm;
  for (int64_t d = 0; d <= rank; ++d)
    if (d != axis + 1)
      perm.push_back(d);
  perm.push_back(axis + 1);
  Value r = c.g.transpose(c.g.gather(x, at, axis), perm);
  return c.give(typeOf(c.tensor("self")).getRank() == 0 ? c.g.reshape(r, {size}) : r);
}

/// To a size of as many elements; what others would hold is not defined.
static llvm::Error resize(OpContext &c) {
  Value x = c.tensor("self");
  Dims want = c.has("the_template") ? dimsOf(c.tensor("the_template")) : c.sizes("size");
  const TensorMeta *meta = c.metaOf("self");
  if (!meta || isContiguous(*meta, c.g.facts) != std::optional<bool>(true))
    return c.cannot("an operand that is not contiguous");
  Expr have = c.g.facts.simplify(shape::product(dimsOf(x))), count = c.g.facts.simplify(shape::product(want));
  if (!c.g.facts.provablyLessEqual(count, have))
    return c.cannot("a resize from {0} to {1} elements: it leaves some without a value", have.str(), count.str());
  return c.give(c.g.reshape(c.g.slice(c.g.reshape(x, {have}), 0, Expr(0), count), want));
}

llvm::ArrayRef<OpEntry> fx::stridedOps() {
  static const OpEntry table[] = {
      {"as_strided.default", "self:T size:N* stride:N* storage_offset:N?", asStrided, IsView},
      {"as_strided_scatter.default", "self:T src:T size:N* stride:N* storage_offset:N?", asStridedScatter},
      {"unfold.default", "self:T dimension:I size:N step:I", unfold, IsView},
      {"resize.default", "self:T size:N*", resize, IsView},
      {"resize_as.default", "self:T the_template:T", resize, IsView},
  };
  return table;
}
