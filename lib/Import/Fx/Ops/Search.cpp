//===- Search.cpp - Places in sorted lists, histograms, sequences of numbers --===//

#include "Families.h"
#include "lathe/Dialect/Lathe/Scatter.h"
#include "lathe/Dialect/Lathe/SortedSearch.h"
#include <cmath>

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

static llvm::Error search(OpContext &c, const char *list, Operand values) {
  Value sorted = c.tensor(list);
  Type common = c.promote({{sorted, {}}, values});
  Value v = c.materialize(values, common);
  sorted = c.g.cast(sorted, common);
  bool rows = typeOf(sorted).getRank() > 1;
  if (typeOf(sorted).getRank() < 1 || (rows && typeOf(v).getRank() != typeOf(sorted).getRank()))
    return c.wrong("{0} in {1}", v.getType(), sorted.getType());
  for (int64_t d = 0; rows && d + 1 < typeOf(sorted).getRank(); ++d)
    if (llvm::Error e = c.needEqual(dimsOf(sorted)[d], dimsOf(v)[d]))
      return e;
  if (Value order = c.tensor("sorter"))
    sorted = c.g.takeAlong(sorted, order, typeOf(sorted).getRank() - 1);
  std::string side = c.text("side");
  return c.give(c.g.cast(placeInSorted(c.g, sorted, v, c.flag("right") || side == "right"), c.resultElement()));
}

static llvm::Error searchSorted(OpContext &c) { return search(c, "sorted_sequence", c.operand("self")); }
static llvm::Error bucketize(OpContext &c) { return search(c, "boundaries", c.operand("self")); }

/// Counts of equally wide bins; without limits these are the data's.
static llvm::Error histogram(OpContext &c) {
  Value x = c.tensor("self");
  int64_t bins = c.integer("bins");
  double low = c.real("min"), high = c.real("max");
  if (bins < 1 || bins > INT32_MAX || low > high)
    return c.wrong("{0} bins from {1} to {2}", bins, low, high);
  Expr count = c.g.facts.simplify(shape::product(dimsOf(x)));
  x = c.g.reshape(x, {count});
  Type element = elementOf(x), i64 = c.g.b.getI64Type();
  Value least = c.g.splat(low, {}, element), most = c.g.splat(high, {}, element);
  if (low == high) {
    if (llvm::Error e = c.need(Condition::compare(Condition::Kind::Less, Expr(0), count)))
      return e;
    least = c.g.reduce(ReduceKind::Min, x, {0}, false);
    most = c.g.reduce(ReduceKind::Max, x, {0}, false);
    Value flat = c.g.compare(CompareKind::EQ, least, most);
    least = c.g.select(flat, c.g.binary<SubOp>(least, 1), least);
    most = c.g.select(flat, c.g.binary<AddOp>(most, 1), most);
  }
  Value from = c.g.broadcastTo(least, dimsOf(x)), to = c.g.broadcastTo(most, dimsOf(x));
  Value inside = c.g.binary<AndOp>(c.g.compare(CompareKind::GE, x, from), c.g.compare(CompareKind::LE, x, to));
  Type wide = element.isF64() ? element : Type(c.g.b.getF32Type());
  auto number = [&](Value v) { return c.g.cast(v, wide); };
  Value at = c.g.binary<MulOp>(c.g.div(c.g.sub(number(x), number(from)), c.g.sub(number(to), number(from))), double(bins));
  at = c.g.binary<MinOp>(c.g.unary<FloorOp>(at), double(bins - 1));
  Value place = c.g.select(inside, c.g.cast(c.g.select(inside, at, c.g.splatLike(0, at)), i64), c.g.splat(double(bins), dimsOf(x), i64));
  Value each = c.g.splat(1, dimsOf(x), c.resultElement());
  return c.give(scatterAlong(c.g, ScatterKind::Add, c.g.splat(0, {Expr(bins)}, c.resultElement()), place, each, 0));
}

/// A list that is sorted once; each element is looked up in it.
static llvm::Error isIn(OpContext &c) {
  Operand given = c.operand("elements"), among = c.operand("test_elements");
  Type common = c.promote({given, among});
  Value x = c.materialize(given, common), list = c.materialize(among, common);
  Expr count = c.g.facts.simplify(shape::product(dimsOf(list)));
  list = c.g.reshape(list, {count});
  Dims dims = dimsOf(x);
  Value hit;
  constexpr int64_t shortList = 16;
  if (count.constant().value_or(shortList + 1) <= shortList || common.isInteger(1)) {
    dims.push_back(count);
    int64_t last = dims.size() - 1;
    Value each = c.g.compare(CompareKind::EQ, c.g.broadcastTo(c.g.unsqueeze(x, {last}), dims), c.g.broadcastTo(list, dims));
    hit = c.g.reduce(ReduceKind::Or, each, {last}, false);
  } else {
    list = c.g.concat({c.g.takeAlong(list, c.g.sort(list, 0, false, count), 0), c.g.splat(0, {Expr(1)}, common)}, 0);
    Value end = c.g.broadcastTo(c.g.size(count), dims), place = placeInSorted(c.g, c.g.slice(list, 0, Expr(0), count), x, false);
    hit = c.g.binary<AndOp>(c.g.compare(CompareKind::LT, place, end), c.g.compare(CompareKind::EQ, c.g.gather(list, place, 0), x));
  }
  return c.give(c.flag("invert") ? c.g.unary<NotOp>(hit) : hit);
}

//===----------------------------------------------------------------------===//
// At places
//===----------------------------------------------------------------------===//

/// Of the flattened input.
static llvm::Error take(OpContext &c) {
  Value x = c.tensor("self"), index = c.tensor("index");
  if (!isIndex(index))
    return c.wrong("an index of {0}", index.getType());
  return c.give(c.g.gather(flattened(c, x), index, 0));
}

static llvm::Error takeAlongDim(OpContext &c) {
  Value x = c.tensor("self"), index = c.tensor("indices");
  if (!isIndex(index))
    return c.wrong("an index of {0}", index.getType());
  index = c.g.cast(index, c.g.b.getI64Type());
  if (!c.has("dim"))
    return c.give(c.g.gather(flattened(c, x),
                             flattened(c, index), 0));
  LATHE_TRY(axis, c.axis("dim", x));
  if (typeOf(x).getRank() == 0 || typeOf(index).getRank() != typeOf(x).getRank())
    return c.wrong("an index of {0} into {1}", index.getType(), x.getType());
  Dims own = dimsOf(x), places = dimsOf(index);
  for (size_t d = 0; d < own.size(); ++d)
    if (int64_t(d) != axis)
      own[d] = places[d] = own[d].isOne() ? places[d] : own[d];
  LATHE_TRY(data, c.broadcastTo(x, own));
  LATHE_TRY(at, c.broadcastTo(index, places));
  return c.give(c.g.takeAlong(data, at, axis));
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

/// From both ends, so that both are exact.
static llvm::Expected<Value> evenly(OpContext &c) {
  Dims dims = c.resultDims();
  if (dims.size() != 1)
    return c.wrong("a result of rank {0}", dims.size());
  Type element = c.resultElement(), wide = element.isF64() ? element : Type(c.g.b.getF32Type());
  if (llvm::isa<mlir::IntegerType>(element))
    wide = c.g.b.getF64Type();
  auto end = [&](const char *name) {
    Value v = c.materialize(c.operand(name), llvm::isa<mlir::IntegerType>(element) ? element : wide); // whole ends of whole numbers
    v = c.g.cast(v, wide);
    return c.g.broadcastTo(c.g.reshape(v, {}), dims);
  };
  Value from = end("start"), to = end("end"), i = c.g.iota(dims, 0, wide);
  Expr steps = c.g.facts.simplify(dims[0] - Expr(1));
  Value count = c.g.broadcastTo(c.g.cast(c.g.size(c.g.facts.simplify(Expr::max(steps, Expr(1)))), wide), dims);
  Value step = c.g.div(c.g.sub(to, from), count), half = c.g.broadcastTo(c.g.cast(c.g.size(Expr::floordiv(dims[0], Expr(2))), wide), dims);
  Value late = c.g.sub(to, c.g.mul(step, c.g.sub(c.g.broadcastTo(c.g.cast(c.g.size(steps), wide), dims), i)));
  Value early = c.g.add(from, c.g.mul(step, i));
  return dims[0].isOne() ? from : c.g.select(c.g.compare(CompareKind::LT, i, half), early, late);
}

static llvm::Error linspace(OpContext &c) {
  LATHE_TRY(r, evenly(c));
  return c.give(c.g.cast(r, c.resultElement()));
}

static llvm::Error logspace(OpContext &c) {
  LATHE_TRY(r, evenly(c));
  return c.give(c.g.cast(c.g.binary<PowOp>(c.g.splatLike(c.real("base"), r), r), c.resultElement()));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static llvm::Error countNonzero(OpContext &c) {
  Value x = c.g.cast(c.g.cast(c.tensor("self"), c.g.b.getI1Type()), c.resultElement());
  LATHE_TRY(axes, c.axes("dim", x));
  return c.give(c.g.reduce(ReduceKind::Sum, x, axes, false));
}

static llvm::Error leastAndMost(OpContext &c) {
  Value x = c.tensor("self");
  SmallVector<int64_t> axes;
  LATHE_TRY(axis, c.axis("dim", x));
  for (int64_t d = 0; d < typeOf(x).getRank(); ++d)
    if (!c.has("dim") || d == axis)
      axes.push_back(d);
  bool isBool = elementOf(x).isInteger(1);
  (void)c.give(c.g.reduce(isBool ? ReduceKind::And : ReduceKind::Min, x, axes, c.flag("keepdim")));
  return c.give(c.g.reduce(isBool ? ReduceKind::Or : ReduceKind::Max, x, axes, c.flag("keepdim")));
}

/// Without the NaNs.
template <bool mean> static llvm::Error reduceNumbers(OpContext &c) {
  Value x = c.g.cast(c.tensor("self"), c.resultElement());
  LATHE_TRY(axes, c.axes("dim", x));
  bool keep = c.flag("keepdim");
  if (!llvm::isa<mlir::FloatType>(elementOf(x)))
    return c.give(c.g.reduce(ReduceKind::Sum, x, axes, keep));
  return c.give(inFloat(c, x, [&](Value v) {
    Value there = c.g.compare(CompareKind::EQ, v, v);
    Value sum = c.g.reduce(ReduceKind::Sum, c.g.select(there, v, c.g.splatLike(0, v)), axes, keep);
    return mean ? c.g.div(sum, c.g.reduce(ReduceKind::Sum, c.g.cast(there, elementOf(v)), axes, keep)) : sum;
  }));
}

/// Down to the dims that broadcast to its own.
static llvm::Error sumToSize(OpContext &c) {
  Value x = c.g.cast(c.tensor("self"), c.resultElement());
  Dims want = c.sizes("size"), dims = dimsOf(x);
  if (want.size() > dims.size())
    return c.wrong("{0} to {1} dimensions", x.getType(), want.size());
  SmallVector<int64_t> axes;
  size_t lead = dims.size() - want.size();
  for (size_t d = 0; d < dims.size(); ++d)
    if (d < lead || (want[d - lead].isOne() && !dims[d].isOne()))
      axes.push_back(d);
  return c.give(axes.empty() ? x : c.g.reshape(c.g.reduce(elementOf(x).isInteger(1) ? ReduceKind::Or : ReduceKind::Sum, x, axes, false), want));
}

static llvm::Error cross(OpContext &c) {
  LATHE_TRY(xy, c.pair(c.operand("self"), c.operand("other"), c.resultElement()));
  auto [x, y] = xy;
  LATHE_TRY(given, c.axis("dim", x));
  int64_t axis = given;
  for (int64_t d = 0; !c.has("dim") && c.node.target == "aten.cross.default" && d < typeOf(x).getRank(); ++d)
    if (dimsOf(x)[d].constant() == std::optional<int64_t>(3)) {
      axis = d;
      break;
    }
  if (typeOf(x).getRank() == 0 || dimsOf(x)[axis].constant() != std::optional<int64_t>(3))
    return c.wrong("vectors of {0}", x.getType());
  SmallVector<Value> parts;
  auto at = [&](Value v, int64_t i) { return c.g.slice(v, axis, Expr(i % 3), Expr(1)); };
  for (int64_t i = 0; i < 3; ++i)
    parts.push_back(c.g.sub(c.g.mul(at(x, i + 1), at(y, i + 2)), c.g.mul(at(x, i + 2), at(y, i + 1))));
  return c.give(c.g.concat(parts, axis));
}

llvm::ArrayRef<OpEntry> fx::searchOps() {
  static const char *const sorted = "sorted_sequence:T self:TS out_int32:B=false right:B=false side:X? sorter:T?";
  static const char *const bounds = "self:TS boundaries:T out_int32:B=false right:B=false";
  static const char *const ends = "start:TZ end:TZ steps:N dtype:D?";
  static const char *const powers = "start:TS end:TS steps:N base:F=10 dtype:D?";
  static const char *const among = "elements:TS test_elements:TS assume_unique:B=false invert:B=false";
  static const char *const some = "self:T dim:I*? keepdim:B=false dtype:D?";
  static const OpEntry table[] = {
      {"searchsorted.Tensor", sorted, searchSorted},
      {"searchsorted.Scalar", sorted, searchSorted},
      {"bucketize.Tensor", bounds, bucketize},
      {"bucketize.Scalar", bounds, bucketize},
      {"histc.default", "self:T bins:I=100 min:F=0 max:F=0", histogram},
      {"isin.Tensor_Tensor", among, isIn},
      {"take.default", "self:T index:T", take},
      {"take_along_dim.default", "self:T indices:T dim:I?", takeAlongDim},
      {"linspace.default", ends, linspace},
      {"linspace.Tensor_Tensor", ends, linspace},
      {"linspace.Tensor_Scalar", ends, linspace},
      {"linspace.Scalar_Tensor", ends, linspace},
      {"logspace.default", powers, logspace},
      {"logspace.Tensor_Tensor", powers, logspace},
      {"logspace.Tensor_Scalar", powers, logspace},
      {"logspace.Scalar_Tensor", powers, logspace},
      {"count_nonzero.default", "self:T dim:I?", countNonzero},
      {"count_nonzero.dim_IntList", "self:T dim:I*", countNonzero},
      {"aminmax.default", "self:T dim:I? keepdim:B=false", leastAndMost},
      {"nansum.default", some, reduceNumbers<false>},
      {"nanmean.default", some, reduceNumbers<true>},
      {"sum_to_size.default", "self:T size:N*", sumToSize},
      {"cross.default", "self:T other:T dim:I?", cross},
      {"linalg_cross.default", "self:T other:T dim:I=-1", cross},
  };
  return table;
}
