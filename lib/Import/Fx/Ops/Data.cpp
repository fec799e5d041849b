//===- Data.cpp - Results as large as the data says -------------------------===//
//
// How many elements there are is counted by a kernel and read by the host, as the symbol that the file has for it (u0); then the
// positions are listed.
//
//===----------------------------------------------------------------------===//

#include "Data.h"
#include "lathe/Dialect/Lathe/Positions.h"
#include "lathe/Dialect/Lathe/RowOrder.h"
#include "lathe/Dialect/Lathe/Scatter.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

static Value asMask(OpContext &c, Value x) { return c.g.cast(x, c.g.b.getI1Type()); }

/// Before each element of a list of booleans, how many are true; with it, or without.
static Value countUpTo(OpContext &c, Value mask, bool exclusive) {
  return c.g.scan(ScanKind::Sum, c.g.cast(mask, c.g.b.getI64Type()), 0, exclusive);
}

static Value countTrue(OpContext &c, Value mask) {
  return c.g.reduce(ReduceKind::Sum, c.g.cast(flattened(c, mask), c.g.b.getI64Type()), {0}, false);
}

/// The places of the true elements of a list.
static Value placesOf(OpContext &c, Value mask, const Expr &count) {
  return positionsOfTrue(c.g, mask, count, count, c.hostPositions);
}

/// `own`: how many are read here; `count`: the size that this is.
static SmallVector<Value> coordinates(OpContext &c, Value mask, const Expr &own, const Expr &count) {
  int64_t rank = typeOf(mask).getRank();
  SmallVector<Value> result;
  if (rank == 1)
    result.push_back(c.g.reshape(placesOf(c, mask, own), {count}));
  if (rank < 2)
    return result;
  Value all = ir::coordinatesOfTrue(c.g, mask, own, own, c.hostPositions);
  for (int64_t d = 0; d < rank; ++d)
    result.push_back(c.g.reshape(c.g.slice(all, 0, Expr(d), Expr(1)), {count}));
  return result;
}

llvm::Expected<SmallVector<Value>> fx::coordinatesOfTrue(OpContext &c, Value mask, const Expr &count) {
  if (count.isZero() && c.g.facts.provablyEqual(shape::product(dimsOf(mask)), Expr(0))) // there is no element
    return SmallVector<Value>(typeOf(mask).getRank(), c.g.splat(0, {Expr(0)}, c.g.b.getI64Type()));
  LATHE_TRY(own, c.bindSizeAgain(count, countTrue(c, mask)));
  return coordinates(c, mask, own, count);
}

SmallVector<Value> fx::coordinatesOfTrue(OpContext &c, Value mask) {
  Expr own = c.bindOwnSize(countTrue(c, mask));
  return coordinates(c, mask, own, own);
}

static llvm::Error nonzero(OpContext &c) {
  Value x = c.tensor("self");
  Dims dims = c.resultDims();
  if (dims.size() != 2)
    return c.wrong("a result of rank {0}", dims.size());
  LATHE_TRY(columns, coordinatesOfTrue(c, asMask(c, x), dims[0]));
  if (columns.empty()) // a number has no coordinates
    return c.give(c.g.splat(0, dims, c.g.b.getI64Type()));
  for (Value &v : columns)
    v = c.g.unsqueeze(v, {1});
  return c.give(columns.size() == 1 ? columns[0] : c.g.concat(columns, 1));
}

/// A size of the first result, by which the file names how many there are.
static llvm::Expected<Expr> countOf(OpContext &c, int64_t axis = 0) {
  Dims dims = c.resultDims();
  if (!c.asked(0) || axis >= int64_t(dims.size()))
    return c.cannot("how many there are is named by a result that nobody reads, or by none");
  return dims[axis];
}

static llvm::Error nonzeroColumns(OpContext &c) {
  Value mask = asMask(c, atLeastOneDim(c, c.tensor(c.has("self") ? "self" : "condition")));
  LATHE_TRY(count, countOf(c));
  LATHE_TRY(columns, coordinatesOfTrue(c, mask, count));
  for (Value v : columns)
    (void)c.give(v);
  return llvm::Error::success();
}

/// As many as asked for; what is missing is a value.
static llvm::Error nonzeroStatic(OpContext &c) {
  Value x = c.tensor("self"), mask = flattened(c, asMask(c, x));
  Expr size = c.size("size");
  Dims dims = dimsOf(x);
  Type i64 = c.g.b.getI64Type();
  if (dims.empty())
    return c.give(c.g.splat(0, c.resultDims(), i64));
  Value fill = c.g.splat(double(c.integer("fill_value")), {size}, i64), end = c.g.broadcastTo(c.g.size(size), dimsOf(mask));
  Value to = c.g.select(mask, countUpTo(c, mask, true), end); // beyond the end: nowhere
  SmallVector<Value> columns;
  for (int64_t d = 0; d < int64_t(dims.size()); ++d) {
    Value at = flattened(c, c.g.iota(dims, d, i64));
    columns.push_back(c.g.unsqueeze(scatterAlong(c.g, ScatterKind::Set, fill, to, at, 0), {1}));
  }
  return c.give(columns.size() == 1 ? columns[0] : c.g.concat(columns, 1));
}

llvm::Expected<Value> fx::elementsOfTrue(OpContext &c, Value x, Value mask, const Expr &count) {
  x = flattened(c, x);
  mask = flattened(c, mask);
  if (count.isZero() && c.g.facts.provablyEqual(dimsOf(mask)[0], Expr(0))) // there is no element
    return x;
  LATHE_TRY(own, c.bindSizeAgain(count, countTrue(c, mask)));
  return c.g.reshape(elementsWhereTrue(c.g, x, mask, own, own, c.hostPositions), {count});
}

static llvm::Error maskedSelect(OpContext &c) {
  Value both[] = {c.tensor("self"), asMask(c, c.tensor("mask"))};
  if (llvm::Error e = c.broadcast(both))
    return e;
  LATHE_TRY(count, countOf(c));
  LATHE_TRY(taken, elementsOfTrue(c, both[0], both[1], count));
  return c.give(taken);
}

/// The true places take the source's elements in their order.
Value fx::scatterMasked(OpContext &c, Value x, Value mask, Value source) {
  Value taken = flattened(c, mask), list = flattened(c, source);
  if (dimsOf(list)[0].isZero()) // there is nothing to take
    return x;
  if (!c.g.facts.provablyPositive(dimsOf(list)[0])) // likewise, and a gather needs one
    list = c.g.concat({list, c.g.splat(0, {Expr(1)}, elementOf(list))}, 0);
  Value from = c.g.gather(list, countUpTo(c, taken, true), 0);
  return c.g.select(mask, c.g.reshape(from, dimsOf(x)), x);
}

static llvm::Error maskedScatter(OpContext &c) {
  Value both[] = {c.tensor("self"), asMask(c, c.tensor("mask"))};
  if (llvm::Error e = c.broadcast(both))
    return e;
  return c.give(scatterMasked(c, both[0], both[1], c.g.cast(c.tensor("source"), elementOf(both[0]))));
}

/// A truth value that the program goes by. What torch.export knew it to be is asserted; what it did not is a symbol that is 0 or 1.
static llvm::Error truth(OpContext &c, Value x, const Argument &result) {
  const Condition &told = *result.condition;
  bool isKnown = told.operands.empty() && (told.kind == Condition::Kind::And || told.kind == Condition::Kind::Or);
  if (isKnown) {
    bool isTrue = told.kind == Condition::Kind::And;
    c.assertTrue(isTrue ? x : c.g.unary<NotOp>(x),
                 "node '" + c.node.name + "': a value that was " + (isTrue ? "true" : "false") + " when the program was exported is not");
    return llvm::Error::success();
  }
  bool isSymbol = told.kind == Condition::Kind::Equal && told.left.asSymbol() && told.right.isOne() && c.late->isLate(*told.left.asSymbol());
  return isSymbol ? c.bindSize(told.left, c.g.cast(x, c.g.b.getI64Type())) : c.cannot("its result is {0}", told.str());
}

/// A number that the program computes with: a size, or a floating one.
static llvm::Error item(OpContext &c) {
  Value x = c.tensor("self");
  if (!c.g.facts.provablyEqual(shape::product(dimsOf(x)), Expr(1)))
    return c.wrong("one number of {0}", x.getType());
  x = c.g.reshape(x, {});
  const Argument *result = c.node.outputs.empty() ? nullptr : &c.node.outputs[0];
  if (result && result->kind == Argument::Kind::Tensor)
    return c.give(c.g.cast(x, c.resultElement()));
  if (result && result->condition && elementOf(x).isInteger(1))
    return truth(c, x, *result);
  if (!result || result->kind != Argument::Kind::Int || result->ints.empty() || !result->ints[0].expr)
    return c.cannot("its result is {0}", result ? describe(*result) : "nothing");
  if (!llvm::isa<mlir::IntegerType>(elementOf(x)))
    return c.wrong("an integer of {0}", x.getType());
  Expr told = *result->ints[0].expr; // a symbol that is known to be another size is one that is checked to be
  return c.bindSize(told.asSymbol() && c.late->isLate(*told.asSymbol()) ? told : c.g.facts.simplify(told), x);
}

/// How often each number from 0 on occurs, or the sums of the weights there. torch.export describes those as integers, too.
static llvm::Error binCount(OpContext &c) {
  Value x = c.tensor("self"), weights = c.tensor("weights");
  Type i64 = c.g.b.getI64Type();
  if (typeOf(x).getRank() != 1 || !isIndex(x) || (weights && typeOf(weights).getRank() != 1))
    return c.wrong("an operand of {0}", x.getType());
  x = c.g.cast(x, i64);
  Value least = c.g.splat(double(c.integer("minlength")), {}, i64);
  Value most = c.g.binary<AddOp>(c.g.reduce(ReduceKind::Max, x, {0}, false), 1);
  LATHE_TRY(size, countOf(c));
  if (!size.constant() && !c.late->bound.count(size.str()))
    if (llvm::Error e = c.bindSize(size, c.g.binary<MaxOp>(most, least)))
      return e;
  Value each = c.g.splat(1, dimsOf(x), i64);
  if (weights) {
    Type f64 = c.g.b.getF64Type();
    LATHE_TRY(given, c.broadcastTo(elementOf(weights).isF32() ? weights : c.g.cast(weights, f64), dimsOf(x)));
    each = given;
  }
  return c.give(scatterAlong(c.g, ScatterKind::Add, c.g.splat(0, {size}, elementOf(each)), x, each, 0));
}

/// The number i repeats[i] times: each beginning of a run counts one more.
static Value repeatedPlaces(OpContext &c, Value repeats, const Expr &count) {
  Type i64 = c.g.b.getI64Type();
  repeats = c.g.cast(repeats, i64);
  Value ends = c.g.scan(ScanKind::Sum, repeats, 0);
  Value marks = scatterAlong(c.g, ScatterKind::Add, c.g.splat(0, {count}, i64), ends, c.g.splatLike(1, ends), 0);
  return c.g.scan(ScanKind::Sum, marks, 0);
}

static llvm::Expected<Value> countRepeats(OpContext &c, Value repeats, const Expr &count) {
  if (typeOf(repeats).getRank() != 1 || !isIndex(repeats))
    return c.wrong("repeats of {0}", repeats.getType());
  if (!count.constant() && !c.late->bound.count(count.str()))
    if (llvm::Error e = c.bindSize(count, c.g.reduce(ReduceKind::Sum, c.g.cast(repeats, c.g.b.getI64Type()), {0}, false)))
      return std::move(e);
  return repeatedPlaces(c, repeats, count);
}

static llvm::Error repeatPlaces(OpContext &c) {
  LATHE_TRY(count, countOf(c));
  LATHE_TRY(places, countRepeats(c, c.tensor("repeats"), count));
  return c.give(c.g.cast(places, c.resultElement()));
}

static llvm::Error repeatEach(OpContext &c) {
  Value x = c.tensor("self"), repeats = c.tensor("repeats");
  if (!c.has("dim"))
    x = flattened(c, x);
  LATHE_TRY(axis, c.has("dim") ? c.axis("dim", x) : llvm::Expected<int64_t>(0));
  if (typeOf(x).getRank() == 0)
    return c.wrong("the input has rank 0");
  if (typeOf(repeats).getRank() == 0)
    repeats = c.g.unsqueeze(repeats, {0});
  LATHE_TRY(each, c.broadcastTo(repeats, {dimsOf(x)[axis]}));
  LATHE_TRY(count, countOf(c, axis));
  LATHE_TRY(places, countRepeats(c, each, count));
  return c.give(c.g.gather(x, places, axis));
}

//===----------------------------------------------------------------------===//
// Distinct elements
//===----------------------------------------------------------------------===//

namespace {
struct Groups {
  Value order;   ///< of the elements, equal ones side by side; null: as they are
  Value ordered; ///< the elements so
  Value firsts;  ///< where in the order each group begins
  Value numbers; ///< of each element's group, in the order
};
} // namespace

static llvm::Expected<Groups> groupsOf(OpContext &c, Value list, bool sorts, const Expr &count) {
  Groups groups;
  Type i64 = c.g.b.getI64Type();
  Expr size = dimsOf(list)[0];
  if (sorts) {
    groups.order = c.g.sort(list, 0, false, size);
    list = c.g.takeAlong(list, groups.order, 0);
  }
  groups.ordered = list;
  Value place = c.g.iota({size}, 0, i64), zero = c.g.splatLike(0, place);
  Value before = c.g.gather(list, c.g.binary<MaxOp>(c.g.binary<SubOp>(place, 1), zero), 0);
  Value begins = c.g.binary<OrOp>(c.g.compare(CompareKind::NE, list, before), c.g.compare(CompareKind::EQ, place, zero));
  if (llvm::Error e = c.bindSize(count, countTrue(c, begins)))
    return std::move(e);
  groups.firsts = placesOf(c, begins, count);
  groups.numbers = c.g.binary<SubOp>(countUpTo(c, begins, false), 1);
  return groups;
}

/// The distinct elements; which one each element is; how often each occurs.
template <bool sorts> static llvm::Error unique(OpContext &c) {
  Value x = c.tensor("self"), list = flattened(c, x);
  LATHE_TRY(count, countOf(c));
  Expr size = dimsOf(list)[0];
  LATHE_TRY(groups, groupsOf(c, list, sorts, count));
  (void)c.give(c.g.gather(groups.ordered, groups.firsts, 0));
  Value back = sorts ? c.g.sort(groups.order, 0, false, size) : Value(); // of a permutation: its inverse
  (void)c.give(c.g.reshape(back ? c.g.gather(groups.numbers, back, 0) : groups.numbers, dimsOf(x)));
  Value ends = c.g.slice(c.g.concat({groups.firsts, c.g.sizes({size})}, 0), 0, Expr(1), count);
  return c.give(c.g.sub(ends, groups.firsts));
}

/// Of slices along a dimension: their rows in lexicographic order, or as they are.
template <bool sorts> static llvm::Error uniqueSlices(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axis, c.axis("dim", x));
  if (typeOf(x).getRank() < 2)
    return unique<sorts>(c);
  SmallVector<int64_t> perm{axis};
  for (int64_t d = 0; d < typeOf(x).getRank(); ++d)
    if (d != axis)
      perm.push_back(d);
  Value first = c.g.transpose(x, perm);
  Dims dims = dimsOf(first);
  Expr size = dims[0], width = c.g.facts.simplify(shape::product(llvm::ArrayRef<Expr>(dims).drop_front()));
  Value rows = c.g.reshape(first, {size, width});
  if (elementOf(rows).isInteger(1))
    rows = c.g.cast(rows, c.g.b.getI64Type());
  Value order = sorts ? orderOfRows(c.g, rows) : c.g.iota({size}, 0, c.g.b.getI64Type());
  Value begins = startsOfRows(c.g, c.g.gather(rows, order, 0));
  LATHE_TRY(count, countOf(c, axis));
  if (llvm::Error e = c.bindSize(count, countTrue(c, begins)))
    return e;
  Value firsts = placesOf(c, begins, count), numbers = c.g.binary<SubOp>(countUpTo(c, begins, false), 1);
  (void)c.give(c.g.gather(x, c.g.gather(order, firsts, 0), axis));
  (void)c.give(c.g.gather(numbers, c.g.sort(order, 0, false, size), 0)); // of a permutation: its inverse
  Value ends = c.g.slice(c.g.concat({firsts, c.g.sizes({size})}, 0), 0, Expr(1), count);
  return c.give(c.g.sub(ends, firsts));
}

template <bool sorts> static llvm::Error uniqueAlong(OpContext &c) { return c.has("dim") ? uniqueSlices<sorts>(c) : unique<sorts>(c); }

llvm::ArrayRef<OpEntry> fx::dataOps() {
  static const OpEntry table[] = {
      {"item.default", "self:T", item},
      {"_local_scalar_dense.default", "self:T", item},
      {"nonzero.default", "self:T", nonzero},
      {"argwhere.default", "self:T", nonzero},
      {"nonzero_numpy.default", "self:T", nonzeroColumns},
      {"where.default", "condition:T", nonzeroColumns},
      {"nonzero_static.default", "self:T size:N fill_value:I=-1", nonzeroStatic},
      {"masked_select.default", "self:T mask:T", maskedSelect},
      {"masked_scatter.default", "self:T mask:T source:T", maskedScatter},
      {"bincount.default", "self:T weights:T? minlength:I=0", binCount, OwnElements},
      {"repeat_interleave.Tensor", "repeats:T output_size:N?", repeatPlaces},
      {"repeat_interleave.self_Tensor", "self:T repeats:T dim:I? output_size:N?", repeatEach},
      {"_unique2.default", "self:T sorted:B=true return_inverse:B=false return_counts:B=false", unique<true>, OwnElements},
      {"unique_dim.default", "self:T dim:I sorted:B=true return_inverse:B=false return_counts:B=false", uniqueAlong<true>, OwnElements},
      {"unique_consecutive.default", "self:T return_inverse:B=false return_counts:B=false dim:I?", uniqueAlong<false>, OwnElements},
  };
  return table;
}
