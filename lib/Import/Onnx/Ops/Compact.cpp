//===- Compact.cpp - Operators whose results are as large as the data says -===//
//
// How many elements there are is counted by a kernel and read by the host, as a symbol; then the positions are listed.
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"

using namespace lathe;
using ir::CompareKind;
using ir::ReduceKind;
using llvm::SmallVector;

namespace lathe::onnx {

/// A count that a kernel computed, as the symbol that it is read as. A call that has it among its sizes runs behind the read, and
/// behind the checks of what is known of the symbol.
static Expr countOf(Node &n, Value scalar) {
  std::optional<Dims> read = n.importer.elementsOf(scalar);
  if (!read || read->size() != 1)
    failUnsupported("its result's size depends on data");
  n.requireAtLeast(read->front(), 0, "the number of elements");
  return read->front();
}

/// The positions of the true elements of a list.
static Value positionsOf(Node &n, Value mask) {
  Type i64 = n.g.b.getI64Type();
  Expr count = countOf(n, n.g.reduce(ReduceKind::Sum, n.g.cast(mask, i64), {0}, false));
  auto call = n.g.b.create<ir::CallOp>(n.g.loc, ir::tensorType({n.simplify(count)}, i64), "compact", mlir::ValueRange{mask},
                                       ir::exprArray(n.g.b, {n.dims(mask)[0], count}));
  return call.getResult(0);
}

static Value flat(Node &n, Value x) { return n.reshape(x, {n.simplify(shape::product(n.dims(x)))}); }

void nonZero(Node &n) {
  Value x = n.in(0);
  Dims dims = n.dims(x);
  Value positions = positionsOf(n, flat(n, n.g.cast(x, n.g.b.getI1Type())));
  Expr count = n.dim(positions, 0), stride(1);
  SmallVector<Value> coordinates(dims.size());
  for (size_t d = dims.size(); d-- > 0;) {
    auto whole = [&](const Expr &e) { return n.g.broadcastTo(n.g.size(n.simplify(e)), {count}); };
    Value at = n.g.binary<ir::ModOp>(n.g.binary<ir::FloorDivOp>(positions, whole(stride)), whole(dims[d]));
    coordinates[d] = n.g.unsqueeze(at, {0});
    stride = stride * dims[d];
  }
  n.out(coordinates.empty() ? n.g.splat(0, {Expr(0), count}, n.g.b.getI64Type()) : n.g.concat(coordinates, 0));
}

void compress(Node &n) {
  Value x = n.in(0), condition = n.in(1);
  n.requireBool(condition);
  n.requireRank(condition, 1);
  int64_t axis = 0;
  if (n.hasAttribute("axis"))
    axis = n.axis(n.integer("axis", 0), n.rank(x));
  else
    x = flat(n, x);
  Expr length = n.simplify(n.dim(condition, 0)), size = n.simplify(n.dim(x, axis));
  if (n.g.facts.provablyLess(size, length))
    condition = n.g.slice(condition, 0, Expr(0), size);
  else if (!n.g.facts.provablyLessEqual(length, size))
    n.require(length, "le", size, "the condition is no longer than the axis");
  n.out(n.g.gather(x, positionsOf(n, condition), axis));
}

namespace {

/// Elements (or slices along an axis) as rows [E, K], and how they compare with one another, [E, E].
struct Rows {
  Value equal, less;
  Expr count;
};

Rows compareRows(Node &n, Value rows) {
  Expr e = n.dim(rows, 0), k = n.dim(rows, 1);
  Dims all{e, e, k}, pairs{e, e};
  Type i64 = n.g.b.getI64Type();
  Value a = n.g.broadcastTo(n.g.unsqueeze(rows, {1}), all), b = n.g.broadcastTo(n.g.unsqueeze(rows, {0}), all);
  // The first place in which they differ decides.
  Value index = n.g.iota(all, 2, i64), end = n.g.broadcastTo(n.g.size(k), all);
  Value first = n.g.reduce(ReduceKind::Min, n.g.select(n.g.compare(CompareKind::NE, a, b), index, end), {2}, true);
  Value isFirst = n.g.compare(CompareKind::EQ, index, n.g.broadcastTo(first, all));
  Value below = n.g.cast(n.g.binary<ir::AndOp>(isFirst, n.g.compare(CompareKind::LT, a, b)), i64);
  Value less = n.g.compare(CompareKind::GT, n.g.reduce(ReduceKind::Sum, below, {2}, false), n.g.splat(0, pairs, i64));
  Value equal = n.g.compare(CompareKind::EQ, n.reshape(first, pairs), n.g.broadcastTo(n.g.size(k), pairs));
  return {equal, less, e};
}

Value countTrue(Node &n, Value pairs) {
  return n.g.reduce(ReduceKind::Sum, n.g.cast(pairs, n.g.b.getI64Type()), {1}, false);
}

} // namespace

void unique(Node &n) {
  Value x = n.in(0);
  if (n.isBool(x))
    failUnsupported("elements of type bool");
  n.requireNumber(x);
  bool sorted = n.flag("sorted", true), byAxis = n.hasAttribute("axis");
  int64_t axis = byAxis ? n.axis(n.integer("axis", 0), n.rank(x)) : 0;
  Value elements = byAxis ? x : flat(n, x), rows = elements;
  if (byAxis) {
    SmallVector<int64_t> perm{axis};
    for (int64_t d = 0; d < n.rank(x); ++d)
      if (d != axis)
        perm.push_back(d);
    rows = n.g.transpose(x, perm);
  }
  Dims dims = n.dims(rows);
  rows = n.reshape(rows, {dims[0], n.simplify(shape::product(llvm::ArrayRef<Expr>(dims).drop_front()))});
  Rows r = compareRows(n, rows);
  Type i64 = n.g.b.getI64Type();
  Dims list{r.count}, pairs{r.count, r.count};
  Value row = n.g.iota(pairs, 0, i64), column = n.g.iota(pairs, 1, i64);
  // Where each element stands first; an element that does not equal itself (NaN) stands for itself.
  Value last = n.g.broadcastTo(n.g.size(r.count), pairs);
  Value firsts = n.g.reduce(ReduceKind::Min, n.g.select(r.equal, column, last), {1}, false);
  firsts = n.g.binary<ir::MinOp>(firsts, n.g.iota(list, 0, i64));
  Value isFirst = n.g.compare(CompareKind::EQ, firsts, n.g.iota(list, 0, i64));
  Value positions = positionsOf(n, isFirst);
  Expr count = n.dim(positions, 0);
  // The place of each element in the result: how many different ones come before it.
  Value firstColumns = n.g.broadcastTo(n.g.unsqueeze(isFirst, {0}), pairs), before;
  if (sorted) {
    SmallVector<int64_t> swap{1, 0};
    before = n.g.transpose(r.less, swap); // element j below element i
  } else {
    before = n.g.compare(CompareKind::LT, column, n.g.broadcastTo(n.g.unsqueeze(firsts, {1}), pairs));
  }
  (void)row;
  Value place = countTrue(n, n.g.binary<ir::AndOp>(firstColumns, before));
  if (sorted) { // the position whose place is p
    Dims square{count, count};
    Value at = n.g.broadcastTo(n.g.unsqueeze(n.g.gather(place, positions, 0), {0}), square);
    Value hit = n.g.compare(CompareKind::EQ, at, n.g.iota(square, 0, i64));
    Value from = n.g.broadcastTo(n.g.unsqueeze(positions, {0}), square);
    positions = n.g.reduce(ReduceKind::Max, n.g.select(hit, from, n.g.splat(0, square, i64)), {1}, false);
  }
  n.out(0, n.g.gather(elements, positions, axis));
  if (n.wants(1))
    n.out(1, positions);
  if (n.wants(2))
    n.out(2, place);
  if (n.wants(3))
    n.out(3, n.g.gather(countTrue(n, r.equal), positions, 0));
}

/// Boxes and scores are looked at one after the other, on the host.
void nonMaxSuppression(Node &n) {
  Value boxes = n.in(0), scores = n.in(1);
  Type i64 = n.g.b.getI64Type(), f32 = n.g.b.getF32Type();
  n.requireRank(boxes, 3);
  n.requireRank(scores, 3);
  if (n.element(boxes) != f32 || n.element(scores) != f32)
    failUnsupported("boxes {0} and scores {1}, expected f32", describe(boxes.getType()), describe(scores.getType()));
  Dims b = n.dims(boxes), s = n.dims(scores);
  n.requireEqual(b[0], s[0], "the batches of boxes and scores");
  n.requireEqual(b[1], s[2], "the numbers of boxes and of scores");
  n.requireEqual(b[2], Expr(4), "the coordinates of a box");
  auto scalar = [&](unsigned i, Type element) {
    Value v = n.maybe(i) ? n.in(i) : n.constantInteger(0, element);
    n.requireEqual(shape::product(n.dims(v)), Expr(1), llvm::formatv("the elements of operand {0}", i).str());
    return n.g.cast(n.reshape(v, {}), element);
  };
  // Without a threshold for scores every box counts.
  Value least = n.maybe(4) ? scalar(4, f32) : n.g.scalar(-std::numeric_limits<double>::infinity(), f32);
  Expr most = n.simplify(b[0] * s[1] * b[1]);
  Dims sizes{b[0], s[1], b[1], Expr(n.integer("center_point_box", 0))};
  SmallVector<Type> types{ir::tensorType({most, Expr(3)}, i64), ir::tensorType({}, i64), ir::tensorType({b[1], Expr(2)}, i64)};
  SmallVector<Value> operands{boxes, scores, scalar(2, i64), scalar(3, f32), least};
  auto call = n.g.b.create<ir::CallOp>(n.g.loc, types, "non_max_suppression", operands, ir::exprArray(n.g.b, sizes));
  Expr count = countOf(n, call.getResult(1));
  auto part = n.g.b.create<ir::CallOp>(n.g.loc, ir::tensorType({n.simplify(count), Expr(3)}, i64), "copy_first",
                                       mlir::ValueRange{call.getResult(0)}, ir::exprArray(n.g.b, {n.simplify(count * Expr(3)), count}));
  n.out(part.getResult(0));
}

} // namespace lathe::onnx
