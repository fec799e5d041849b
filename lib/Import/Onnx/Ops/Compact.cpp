//===- Compact.cpp - Operators whose results are as large as the data says -===//
//
// How many elements there are is counted by a kernel and read by the host, as a symbol; then the positions are listed.
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"
#include "Order.h"
#include "lathe/Dialect/Lathe/Positions.h"
#include "lathe/Dialect/Lathe/RowOrder.h"

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

static Expr countTrue(Node &n, Value list) {
  return countOf(n, n.g.reduce(ReduceKind::Sum, n.g.cast(list, n.g.b.getI64Type()), {0}, false));
}

/// Whether a function of the runtime lists them.
static bool onHost(Node &n) { return n.importer.session().sizes.importOptions().hostPositions; }

/// The positions of the true elements of a list.
static Value positionsOf(Node &n, Value mask) {
  Expr count = countTrue(n, mask);
  return ir::positionsOfTrue(n.g, mask, count, n.simplify(count), onHost(n));
}

static Value flat(Node &n, Value x) { return n.reshape(x, {n.simplify(shape::product(n.dims(x)))}); }

void nonZero(Node &n) {
  Value x = n.in(0), mask = n.g.cast(x, n.g.b.getI1Type());
  Expr rank(n.rank(x)), count = countTrue(n, flat(n, mask)), size = n.simplify(count);
  if (n.rank(x) == 0) { // no coordinates, however many there are
    n.out(n.g.splat(0, {rank, size}, n.g.b.getI64Type()));
    return;
  }
  n.out(ir::coordinatesOfTrue(n.g, mask, count, size, onHost(n)));
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
  if (n.rank(x) > 1 || !n.g.facts.provablyEqual(n.dim(condition, 0), n.dim(x, 0))) {
    n.out(n.g.gather(x, positionsOf(n, condition), axis));
    return;
  }
  Expr count = countTrue(n, condition);
  n.out(ir::elementsWhereTrue(n.g, x, condition, count, n.simplify(count), onHost(n)));
}

namespace {
struct Distinct {
  Value elements, firsts, inverse, counts;
};
} // namespace

/// Equal elements stand side by side once they are sorted, each group with its first element in front. Without an axis, of all elements.
static Distinct distinct(Node &n, Value x, std::optional<int64_t> along, bool sorted) {
  if (n.isBool(x))
    failUnsupported("elements of type bool");
  n.requireNumber(x);
  int64_t axis = along.value_or(0);
  Value elements = along ? x : flat(n, x), rows = elements;
  if (along) {
    SmallVector<int64_t> perm{axis};
    for (int64_t d = 0; d < n.rank(x); ++d)
      if (d != axis)
        perm.push_back(d);
    rows = n.g.transpose(x, perm);
  }
  Dims dims = n.dims(rows);
  Expr size = dims[0], width = n.simplify(shape::product(llvm::ArrayRef<Expr>(dims).drop_front()));
  rows = n.reshape(rows, {size, width});
  Value order, ordered;
  if (width.isOne()) {
    Value list = n.reshape(rows, {size});
    order = orderOf(n, list, 0, false, size);
    ordered = n.reshape(n.g.takeAlong(list, order, 0), {size, width});
  } else {
    order = ir::orderOfRows(n.g, rows);
    ordered = n.g.gather(rows, order, 0);
  }
  Value starts = ir::startsOfRows(n.g, ordered), positions = positionsOf(n, starts), firsts = n.g.gather(order, positions, 0);
  Expr count = n.dim(positions, 0);
  auto inverse = [&](Value permutation) { return n.g.sort(permutation, 0, false, n.dim(permutation, 0)); };
  Value again; // of groups that are wanted in the order of their first elements
  if (!sorted)
    again = inverse(firsts);
  auto arranged = [&](Value v) { return again ? n.g.gather(v, again, 0) : v; };
  Value group = n.g.binary<ir::SubOp>(n.g.scan(ir::ScanKind::Sum, n.g.cast(starts, n.g.b.getI64Type()), 0), 1.0);
  Value place = n.g.gather(group, inverse(order), 0);
  Value ends = n.g.slice(n.g.concat({positions, n.g.sizes({size})}, 0), 0, Expr(1), count);
  // Groups of single elements, in order, are read in that order: they need not be looked up one by one.
  Value found = !along && sorted ? n.g.gather(n.reshape(ordered, {size}), positions, 0) : n.g.gather(elements, arranged(firsts), axis);
  return {found, arranged(firsts), again ? n.g.gather(inverse(again), place, 0) : place,
          arranged(n.g.sub(ends, positions))};
}

void unique(Node &n) {
  std::optional<int64_t> axis;
  if (n.hasAttribute("axis"))
    axis = n.axis(n.integer("axis", 0), n.rank(n.in(0)));
  Distinct d = distinct(n, n.in(0), axis, n.flag("sorted", true));
  n.out(0, d.elements);
  n.out(1, d.firsts);
  n.out(2, d.inverse);
  n.out(3, d.counts);
}

/// ONNX Runtime's: of a list, in the order in which elements come first.
void contribUnique(Node &n) {
  n.requireRank(n.in(0), 1);
  Distinct d = distinct(n, n.in(0), std::nullopt, false);
  n.out(0, d.elements);
  n.out(1, d.inverse);
  n.out(2, d.counts);
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
  SmallVector<Type> types{ir::tensorType({most, Expr(3)}, i64), ir::tensorType({}, i64), ir::tensorType({b[1], Expr(4)}, i64)};
  SmallVector<Value> operands{boxes, scores, scalar(2, i64), scalar(3, f32), least};
  auto call = n.g.b.create<ir::CallOp>(n.g.loc, types, "non_max_suppression", operands, ir::exprArray(n.g.b, sizes));
  Expr count = countOf(n, call.getResult(1));
  auto part = n.g.b.create<ir::CallOp>(n.g.loc, ir::tensorType({n.simplify(count), Expr(3)}, i64), "copy_first",
                                       mlir::ValueRange{call.getResult(0)}, ir::exprArray(n.g.b, {n.simplify(count * Expr(3)), count}));
  n.out(part.getResult(0));
}

} // namespace lathe::onnx
