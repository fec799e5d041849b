//===- Scatter.cpp - Writes at computed positions ---------------------------===//

#include "lathe/Dialect/Lathe/Scatter.h"
#include "Data.h"
#include "llvm/ADT/StringSwitch.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

//===----------------------------------------------------------------------===//
// Along a dimension
//===----------------------------------------------------------------------===//

namespace {
/// Updates along a dimension: operands of rank 1 at least, the updates cut to the index.
struct Along {
  Value data, index, updates;
  int64_t axis;
};
} // namespace

static llvm::Error needFits(OpContext &c, const Expr &size, const Expr &room) {
  return c.need(Condition::compare(Condition::Kind::LessEqual, size, room));
}

/// `from`: a tensor or number, the updates. A tensor that is larger than the index lends its first elements.
static llvm::Expected<Along> along(OpContext &c, const Operand &from) {
  Value data = c.tensor("self"), index = c.tensor("index");
  LATHE_TRY(axis, c.axis("dim", data));
  Along a{atLeastOneDim(c, data), atLeastOneDim(c, index), {}, axis};
  int64_t rank = typeOf(a.data).getRank();
  if (!isIndex(index) || typeOf(a.index).getRank() != rank)
    return c.wrong("an index of {0} into {1}", index.getType(), data.getType());
  Dims dims = dimsOf(a.index);
  if (!from.tensor)
    a.updates = c.g.broadcastTo(c.scalarOf(from.number, elementOf(data)), dims);
  else
    a.updates = atLeastOneDim(c, c.g.cast(from.tensor, elementOf(data)));
  if (typeOf(a.updates).getRank() != rank)
    return c.wrong("updates of {0} for {1}", a.updates.getType(), data.getType());
  for (int64_t d = 0; d < rank; ++d) {
    if (c.g.facts.provablyLess(dimsOf(a.updates)[d], dims[d]) ||
        (d != axis && c.g.facts.provablyLess(dimsOf(a.data)[d], dims[d])))
      return c.wrong("the index is larger than the updates or the input in dimension {0}", d);
    if (d != axis)
      if (llvm::Error e = needFits(c, dims[d], dimsOf(a.data)[d]))
        return std::move(e);
    if (llvm::Error e = needFits(c, dims[d], dimsOf(a.updates)[d]))
      return std::move(e);
    if (!c.g.facts.provablyEqual(dimsOf(a.updates)[d], dims[d]))
      a.updates = c.g.slice(a.updates, d, Expr(0), dims[d]);
  }
  return a;
}

/// Sums of booleans are their disjunction: a maximum of numbers.
template <typename Scatter> static Value onBooleans(OpContext &c, ScatterKind kind, Value data, Value updates, Scatter scatter) {
  Type element = elementOf(data), byte = c.g.b.getIntegerType(8, false);
  if (!element.isInteger(1) || kind == ScatterKind::Set)
    return scatter(kind, data, updates);
  ScatterKind other = kind == ScatterKind::Add ? ScatterKind::Max : kind == ScatterKind::Mul ? ScatterKind::Min : kind;
  return c.g.cast(scatter(other, c.g.cast(data, byte), c.g.cast(updates, byte)), element);
}

static llvm::Error giveAlong(OpContext &c, ScatterKind kind, const Operand &from) {
  LATHE_TRY(a, along(c, from));
  Value r = onBooleans(c, kind, a.data, a.updates, [&](ScatterKind k, Value data, Value updates) {
    return scatterAlong(c.g, k, data, a.index, updates, a.axis);
  });
  return c.give(c.g.reshape(r, dimsOf(c.tensor("self"))));
}

static llvm::Expected<ScatterKind> kindOf(OpContext &c, llvm::StringRef text) {
  auto kind = llvm::StringSwitch<std::optional<ScatterKind>>(text)
                  .Cases("add", "sum", "mean", ScatterKind::Add)
                  .Cases("multiply", "prod", ScatterKind::Mul)
                  .Case("amax", ScatterKind::Max)
                  .Case("amin", ScatterKind::Min)
                  .Default(std::nullopt);
  if (!kind)
    return c.wrong("the reduction '{0}'", text);
  return *kind;
}

static llvm::Error scatterSource(OpContext &c) { return giveAlong(c, ScatterKind::Set, c.operand("src")); }
static llvm::Error scatterValue(OpContext &c) { return giveAlong(c, ScatterKind::Set, c.operand("value")); }
static llvm::Error scatterAdd(OpContext &c) { return giveAlong(c, ScatterKind::Add, c.operand("src")); }

static llvm::Error combineSource(OpContext &c) {
  LATHE_TRY(kind, kindOf(c, c.text("reduce")));
  return giveAlong(c, kind, c.operand("src"));
}
static llvm::Error combineValue(OpContext &c) {
  LATHE_TRY(kind, kindOf(c, c.text("reduce")));
  return giveAlong(c, kind, c.operand("value"));
}

/// The element that changes no other.
static Value identityOf(OpContext &c, ScatterKind kind, Type element) {
  static const ReduceKind kinds[] = {ReduceKind::Sum, ReduceKind::Sum, ReduceKind::Prod, ReduceKind::Max,
                                     ReduceKind::Min};
  mlir::TypedAttr one = reduceIdentity(kinds[unsigned(kind)], element);
  return c.g.b.create<ConstantOp>(c.g.loc, mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({}, element),
                                                                        llvm::ArrayRef<mlir::Attribute>{one}));
}

/// Each element of the updates to where its index says.
static llvm::Error giveReduction(OpContext &c, const std::string &name, Along a) {
  LATHE_TRY(kind, kindOf(c, name));
  if (elementOf(a.data).isInteger(1) && name == "mean")
    return c.cannot("the mean of booleans");
  if (elementOf(a.data).isInteger(1)) { // as numbers, of which a sum is the largest and a product the smallest
    Type byte = c.g.b.getIntegerType(8, false);
    a.data = c.g.cast(a.data, byte);
    a.updates = c.g.cast(a.updates, byte);
    kind = kind == ScatterKind::Add ? ScatterKind::Max : kind == ScatterKind::Mul ? ScatterKind::Min : kind;
  }
  Type element = elementOf(a.data);
  Value start = a.data;
  if (!c.flag("include_self")) {
    Value identity = c.g.broadcastTo(identityOf(c, kind, element), dimsOf(a.updates));
    start = scatterAlong(c.g, ScatterKind::Set, start, a.index, identity, a.axis);
  }
  Value r = scatterAlong(c.g, kind, start, a.index, a.updates, a.axis);
  if (name == "mean") {
    Type counting = llvm::isa<mlir::FloatType>(element) ? Type(c.g.b.getF32Type()) : Type(c.g.b.getI64Type());
    Value count = c.g.splat(c.flag("include_self") ? 1 : 0, dimsOf(r), counting);
    count = scatterAlong(c.g, ScatterKind::Add, count, a.index, c.g.splat(1, dimsOf(a.updates), counting), a.axis);
    count = c.g.cast(c.g.binary<MaxOp>(count, 1), element);
    r = llvm::isa<mlir::FloatType>(element) ? c.g.div(r, count) : c.g.binary<FloorDivOp>(r, count);
  }
  return c.give(c.g.reshape(c.g.cast(r, elementOf(c.tensor("self"))), dimsOf(c.tensor("self"))));
}

static llvm::Error scatterReduce(OpContext &c) {
  LATHE_TRY(a, along(c, c.operand("src")));
  return giveReduction(c, c.text("reduce"), a);
}

/// Position i of the index stands for the i-th slice of the source.
static llvm::Error indexReduce(OpContext &c) {
  Value self = c.tensor("self"), data = atLeastOneDim(c, self), index = atLeastOneDim(c, c.tensor("index"));
  Value source = c.g.cast(atLeastOneDim(c, c.tensor("source")), elementOf(data));
  LATHE_TRY(axis, c.axis("dim", self));
  if (!isIndex(index) || typeOf(index).getRank() != 1 || typeOf(source).getRank() != typeOf(data).getRank())
    return c.wrong("an index of {0} for {1} and {2}", index.getType(), self.getType(), source.getType());
  Dims dims = dimsOf(data), along(dims.size(), Expr(1));
  dims[axis] = along[axis] = dimsOf(index)[0];
  for (auto [a, b] : llvm::zip(dims, dimsOf(source)))
    if (llvm::Error e = c.needEqual(a, b))
      return e;
  return giveReduction(c, c.text("reduce"), {data, c.g.broadcastTo(c.g.reshape(index, along), dims), source, axis});
}

//===----------------------------------------------------------------------===//
// Slices at positions of a dimension
//===----------------------------------------------------------------------===//

/// index_add, index_copy, index_fill: position i of the index stands for the i-th slice of the updates.
static llvm::Error writeSlices(OpContext &c, ScatterKind kind, Value updates) {
  Value self = c.tensor("self"), data = atLeastOneDim(c, self), index = atLeastOneDim(c, c.tensor("index"));
  LATHE_TRY(axis, c.axis("dim", self));
  if (!isIndex(index) || typeOf(index).getRank() != 1)
    return c.wrong("an index of {0}", index.getType());
  Dims dims = dimsOf(data), along(dims.size(), Expr(1));
  dims[axis] = along[axis] = dimsOf(index)[0];
  updates = c.g.cast(updates, elementOf(data));
  if (typeOf(updates).getRank() < int64_t(dims.size()) && typeOf(self).getRank() > 0 && typeOf(updates).getRank() > 0)
    return c.wrong("updates of {0} for {1}", updates.getType(), self.getType());
  LATHE_TRY(given, c.broadcastTo(atLeastOneDim(c, updates), dims));
  Value at = c.g.broadcastTo(c.g.reshape(index, along), dims);
  Value r = onBooleans(c, kind, data, given, [&](ScatterKind k, Value d, Value u) { return scatterAlong(c.g, k, d, at, u, axis); });
  return c.give(c.g.reshape(r, dimsOf(self)));
}

static llvm::Error indexCopy(OpContext &c) { return writeSlices(c, ScatterKind::Set, c.tensor("source")); }
static llvm::Error indexFill(OpContext &c) {
  return writeSlices(c, ScatterKind::Set, c.materialize(c.operand("value"), elementOf(c.tensor("self"))));
}
static llvm::Error indexAdd(OpContext &c) {
  Value source = c.g.cast(c.tensor("source"), elementOf(c.tensor("self")));
  Value alpha = c.scalarOf(c.number("alpha"), elementOf(source));
  return writeSlices(c, ScatterKind::Add, c.g.mul(source, c.g.broadcastTo(alpha, dimsOf(source))));
}

//===----------------------------------------------------------------------===//
// Advanced indexing
//===----------------------------------------------------------------------===//

/// One mask and one value for all that it covers: the number of places need not be known.
static llvm::Expected<Value> fillMasked(OpContext &c, Value x, Value mask, Value value) {
  Dims dims = dimsOf(x), first(dims.begin(), dims.begin() + typeOf(mask).getRank());
  for (auto [a, b] : llvm::zip(first, dimsOf(mask)))
    if (llvm::Error e = c.needEqual(a, b))
      return std::move(e);
  first.resize(dims.size(), Expr(1));
  Value where = c.g.broadcastTo(c.g.reshape(mask, first), dims);
  return c.g.select(where, c.g.broadcastTo(c.g.reshape(value, {}), dims), x);
}

/// The places that a mask over the first dimensions picks take slices of the values, one after the other.
static llvm::Expected<Value> takeMasked(OpContext &c, Value x, Value mask, Value values) {
  Dims dims = dimsOf(x), given = dimsOf(values), first(dims.begin(), dims.begin() + typeOf(mask).getRank());
  Dims rest(dims.begin() + first.size(), dims.end()), want = rest;
  for (auto [a, b] : llvm::zip(first, dimsOf(mask)))
    if (llvm::Error e = c.needEqual(a, b))
      return std::move(e);
  if (given.size() > rest.size() + 1)
    return c.wrong("values of {0} at the places of {1}", values.getType(), mask.getType());
  Dims wide = first;
  wide.resize(dims.size(), Expr(1));
  Value where = c.g.broadcastTo(c.g.reshape(mask, wide), dims);
  if (given.size() > rest.size() && given[0].isOne()) {
    values = c.g.squeeze(values, {0});
    given.erase(given.begin());
  }
  if (given.size() <= rest.size()) { // without a number of places: each takes the same
    LATHE_TRY(same, c.broadcastTo(values, dims));
    return c.g.select(where, same, x);
  }
  want.insert(want.begin(), given[0]);
  LATHE_TRY(slices, c.broadcastTo(values, want));
  if (given[0].isZero())
    return x;
  if (!c.g.facts.provablyPositive(given[0])) { // none is read where there is none, but a gather needs one
    want[0] = Expr(1);
    slices = c.g.concat({slices, c.g.splat(0, want, elementOf(slices))}, 0);
  }
  Expr count = c.g.facts.simplify(shape::product(first));
  Value list = c.g.reshape(mask, {count}), at = c.g.scan(ScanKind::Sum, c.g.cast(list, c.g.b.getI64Type()), 0, true);
  return c.g.select(where, c.g.reshape(c.g.gather(slices, at, 0), dims), x);
}

/// Brings the dimensions of v from `at` on, `count` of them, in front of those before.
static Value broughtForward(OpContext &c, Value v, int64_t at, int64_t count, bool back) {
  SmallVector<int64_t> perm, inverse(typeOf(v).getRank());
  for (int64_t i = 0; i < typeOf(v).getRank(); ++i)
    perm.push_back(i < count ? at + i : i < at + count ? i - count : i);
  for (auto [to, from] : llvm::enumerate(perm))
    inverse[from] = to;
  return c.g.transpose(v, back ? inverse : perm);
}

/// One mask, at some dimension: no place is picked twice, and their number need not be known.
static llvm::Error putMasked(OpContext &c, Value x, Value mask, int64_t at, Value values, bool accumulates) {
  int64_t rank = typeOf(x).getRank(), covered = typeOf(mask).getRank(), behind = rank - at - covered;
  if (behind < 0)
    return c.wrong("a mask of {0} at dimension {1} of {2}", mask.getType(), at, x.getType());
  bool one = c.g.facts.provablyEqual(shape::product(dimsOf(values)), Expr(1));
  if (at > 0 && !one && typeOf(values).getRank() > behind) { // values [before, places, behind]
    Dims wide = dimsOf(values);
    while (int64_t(wide.size()) < at + 1 + behind)
      wide.insert(wide.begin(), Expr(1));
    values = broughtForward(c, c.g.reshape(values, wide), at, 1, /*back=*/false);
  }
  Value turned = broughtForward(c, x, at, covered, /*back=*/false), start = accumulates ? c.g.splatLike(0, turned) : turned;
  LATHE_TRY(filled, one ? fillMasked(c, start, mask, values) : takeMasked(c, start, mask, values));
  if (accumulates)
    filled = elementOf(x).isInteger(1) ? c.g.binary<OrOp>(turned, filled) : c.g.add(turned, filled);
  return c.give(broughtForward(c, filled, at, covered, /*back=*/true));
}

/// A mask beside other indices stands for the places of its true elements.
static llvm::Expected<SmallVector<Value>> placesForMasks(OpContext &c, llvm::ArrayRef<Value> given, Value values) {
  SmallVector<Value> result;
  for (Value v : given) {
    if (!v || isIndex(v)) {
      result.push_back(v);
      continue;
    }
    if (!elementOf(v).isInteger(1) || typeOf(v).getRank() == 0)
      return c.cannot("an index of {0}", v.getType());
    Dims dims = dimsOf(values), self = dimsOf(c.tensor("self"));
    for (int64_t d = 0; d < typeOf(v).getRank() && result.size() + d < self.size(); ++d)
      if (llvm::Error e = c.needEqual(dimsOf(v)[d], self[result.size() + d]))
        return std::move(e);
    auto counted = llvm::find_if(dims, [&](const Expr &e) { return e.asSymbol() && c.late->bound.count(*e.asSymbol()); });
    if (counted == dims.end()) {
      result.append(coordinatesOfTrue(c, v));
      continue;
    }
    LATHE_TRY(places, coordinatesOfTrue(c, v, *counted));
    result.append(places);
  }
  return result;
}

static llvm::Error putValues(OpContext &c, Value values, bool accumulates) {
  Value x = c.tensor("self");
  SmallVector<Value> given = c.tensors("indices"), indices;
  SmallVector<int64_t> indexed;
  int64_t rank = typeOf(x).getRank();
  auto isMask = [](Value v) { return v && !isIndex(v); };
  if (llvm::any_of(given, isMask)) {
    if (llvm::count_if(given, [](Value v) { return bool(v); }) == 1) {
      int64_t at = llvm::find_if(given, isMask) - given.begin();
      if (!elementOf(given[at]).isInteger(1))
        return c.cannot("index {0} is {1}", at, given[at].getType());
      return putMasked(c, x, given[at], at, values, accumulates);
    }
    LATHE_TRY(places, placesForMasks(c, given, values));
    given = places;
  }
  if (int64_t(given.size()) > rank)
    return c.wrong("{0} indices for rank {1}", given.size(), rank);
  for (auto [d, v] : llvm::enumerate(given))
    if (v) {
      indices.push_back(v);
      indexed.push_back(d);
    }
  if (indices.empty())
    return c.wrong("no index");
  if (llvm::Error e = c.broadcast(indices))
    return e;
  // Neighbouring indices leave their dimensions in place; separated ones put them first.
  bool neighbours = indexed.back() - indexed.front() + 1 == int64_t(indexed.size());
  int64_t before = neighbours ? indexed.front() : 0, shared = typeOf(indices[0]).getRank();
  Dims wanted;
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(indexed, d))
      wanted.push_back(dimsOf(x)[d]);
  Dims common = dimsOf(indices[0]);
  wanted.insert(wanted.begin() + before, common.begin(), common.end());
  LATHE_TRY(updates, c.broadcastTo(values, wanted));
  SmallVector<int64_t> perm;
  for (int64_t i = 0; i < shared; ++i)
    perm.push_back(before + i);
  for (int64_t i = 0; i < int64_t(wanted.size()); ++i)
    if (i < before || i >= before + shared)
      perm.push_back(i);
  ScatterKind kind = accumulates ? ScatterKind::Add : ScatterKind::Set;
  return c.give(onBooleans(c, kind, x, c.g.transpose(updates, perm), [&](ScatterKind k, Value data, Value u) {
    return scatterSlices(c.g, k, data, indices, indexed, u);
  }));
}

static llvm::Error indexPut(OpContext &c) {
  return putValues(c, c.g.cast(c.tensor("values"), elementOf(c.tensor("self"))), c.flag("accumulate"));
}

/// Where the mask is false nothing is added, wherever that is.
static llvm::Error maskedAccumulate(OpContext &c) {
  Value values = c.g.cast(c.tensor("values"), elementOf(c.tensor("self")));
  Value both[] = {c.g.cast(c.tensor("mask"), c.g.b.getI1Type()), values};
  if (llvm::Error e = c.broadcast(both))
    return e;
  return putValues(c, c.g.select(both[0], both[1], c.g.splatLike(0, both[1])), true);
}

/// Positions in the flattened input.
static llvm::Error put(OpContext &c) {
  Value x = c.tensor("self"), index = c.tensor("index"), source = c.g.cast(c.tensor("source"), elementOf(x));
  if (!isIndex(index))
    return c.wrong("an index of {0}", index.getType());
  Expr count = shape::product(dimsOf(index));
  if (llvm::Error e = c.needEqual(count, shape::product(dimsOf(source))))
    return e;
  ScatterKind kind = c.flag("accumulate") ? ScatterKind::Add : ScatterKind::Set;
  Value flat = c.g.reshape(x, {shape::product(dimsOf(x))});
  Value r = scatterAlong(c.g, kind, flat, c.g.reshape(index, {count}), c.g.reshape(source, {count}), 0);
  return c.give(c.g.reshape(r, dimsOf(x)));
}

llvm::ArrayRef<OpEntry> fx::scatterOps() {
  static const OpEntry table[] = {
      {"scatter.src", "self:T dim:I index:T src:T", scatterSource},
      {"scatter.value", "self:T dim:I index:T value:Z", scatterValue},
      {"scatter.reduce", "self:T dim:I index:T src:T reduce:X", combineSource},
      {"scatter.value_reduce", "self:T dim:I index:T value:S reduce:X", combineValue},
      {"scatter_add.default", "self:T dim:I index:T src:T", scatterAdd},
      {"scatter_reduce.two", "self:T dim:I index:T src:T reduce:X include_self:B=true", scatterReduce},
      {"index_add.default", "self:T dim:I index:T source:T alpha:S=1", indexAdd},
      {"index_copy.default", "self:T dim:I index:T source:T", indexCopy},
      {"index_fill.int_Scalar", "self:T dim:I index:T value:Z", indexFill},
      {"index_fill.int_Tensor", "self:T dim:I index:T value:T", indexFill},
      {"index_put.default", "self:T indices:T*? values:T accumulate:B=false", indexPut},
      {"_unsafe_index_put.default", "self:T indices:T*? values:T accumulate:B=false", indexPut},
      {"_unsafe_masked_index_put_accumulate.default", "self:T mask:T indices:T*? values:T", maskedAccumulate},
      {"index_reduce.default", "self:T dim:I index:T source:T reduce:X include_self:B=true", indexReduce},
      {"put.default", "self:T index:T source:T accumulate:B=false", put},
  };
  return table;
}
