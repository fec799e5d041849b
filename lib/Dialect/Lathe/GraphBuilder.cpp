//===- GraphBuilder.cpp - Building model graphs ----------------------------===//

#include "lathe/Dialect/Lathe/GraphBuilder.h"
#include "lathe/Dialect/Lathe/ElementTypes.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;
using shape::Expr;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// A number as attribute of any element type.
static Attribute numberAttr(double value, Type element) {
  if (auto f = dyn_cast<FloatType>(element)) {
    APFloat v(value);
    bool lossy;
    v.convert(f.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lossy);
    return FloatAttr::get(f, v);
  }
  return IntegerAttr::get(element, APInt(element.getIntOrFloatBitWidth(), uint64_t(int64_t(value)), /*isSigned=*/true));
}

Value GraphBuilder::scalar(double value, Type element) {
  if (isNarrow(element))
    return cast(scalar(value, b.getF32Type()), element);
  auto type = RankedTensorType::get({}, element);
  return b.create<ConstantOp>(loc, DenseElementsAttr::get(type, numberAttr(value, element)));
}

Value GraphBuilder::splat(double value, ArrayRef<Expr> dims, Type element) {
  RankedTensorType type = tensorType(dims, element);
  if (type.hasStaticShape() && !isNarrow(element))
    return b.create<ConstantOp>(loc, DenseElementsAttr::get(type, numberAttr(value, element)));
  return broadcastTo(scalar(value, element), dims);
}

Value GraphBuilder::integers(ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get({int64_t(values.size())}, b.getI64Type());
  return b.create<ConstantOp>(loc, DenseElementsAttr::get(type, values));
}

Value GraphBuilder::sizes(ArrayRef<Expr> exprs) {
  SmallVector<int64_t> constants;
  for (const Expr &e : exprs)
    if (std::optional<int64_t> c = e.constant())
      constants.push_back(*c);
  if (constants.size() == exprs.size())
    return integers(constants);
  auto type = RankedTensorType::get({int64_t(exprs.size())}, b.getI64Type());
  return b.create<SizeOp>(loc, type, exprArray(b, exprs));
}

Value GraphBuilder::size(const Expr &expr) {
  auto type = RankedTensorType::get({}, b.getI64Type());
  if (std::optional<int64_t> c = expr.constant())
    return b.create<ConstantOp>(loc, DenseElementsAttr::get(type, *c));
  return b.create<SizeOp>(loc, type, exprArray(b, {expr}));
}

//===----------------------------------------------------------------------===//
// Broadcasting
//===----------------------------------------------------------------------===//

std::optional<Dims> GraphBuilder::broadcastDims(ArrayRef<Expr> a, ArrayRef<Expr> other) {
  Dims out;
  size_t rank = std::max(a.size(), other.size());
  for (size_t i = 0; i < rank; ++i) {
    int64_t ia = int64_t(a.size()) - int64_t(rank) + int64_t(i), ib = int64_t(other.size()) - int64_t(rank) + int64_t(i);
    if (ia < 0 || ib < 0) {
      out.push_back(ia < 0 ? other[ib] : a[ia]);
      continue;
    }
    if (a[ia].isOne() || other[ib].isOne())
      out.push_back(a[ia].isOne() ? other[ib] : a[ia]);
    else if (facts.provablyEqual(a[ia], other[ib]))
      out.push_back(a[ia].constant() ? a[ia] : other[ib].constant() ? other[ib] : a[ia]);
    else
      return std::nullopt;
  }
  return out;
}

Value GraphBuilder::broadcastTo(Value x, ArrayRef<Expr> dims) {
  RankedTensorType type = tensorType(dims, elementOf(x));
  if (type == x.getType())
    return x;
  if (auto c = x.getDefiningOp<ConstantOp>(); c && type.hasStaticShape())
    if (auto dense = dyn_cast<DenseElementsAttr>(c.getValue()); dense && dense.isSplat())
      return b.create<ConstantOp>(loc, DenseElementsAttr::get(type, dense.getSplatValue<Attribute>()));
  // Equal sizes under another name are only renamed.
  Dims from = dimsOf(x);
  bool same = from.size() == dims.size();
  for (size_t i = 0; same && i < dims.size(); ++i)
    same = facts.provablyEqual(from[i], dims[i]);
  if (same)
    return b.createOrFold<ReshapeOp>(loc, type, x);
  // A dimension that is equal under another name must read as the result's, or the verifier takes it for another size.
  size_t lead = dims.size() - from.size();
  bool renamed = false;
  for (size_t i = 0; i < from.size(); ++i)
    if (!from[i].isOne() && from[i] != dims[i + lead]) {
      from[i] = dims[i + lead];
      renamed = true;
    }
  if (renamed)
    x = b.createOrFold<ReshapeOp>(loc, tensorType(from, elementOf(x)), x);
  return b.createOrFold<BroadcastOp>(loc, type, x);
}

bool GraphBuilder::broadcastAll(MutableArrayRef<Value> values, std::string *why) {
  if (values.empty())
    return true;
  Dims dims = dimsOf(values[0]);
  for (Value v : values.drop_front()) {
    std::optional<Dims> next = broadcastDims(dims, dimsOf(v));
    if (!next) {
      if (why)
        for (Value w : values) {
          llvm::raw_string_ostream os(*why);
          os << (w == values[0] ? "" : " and ") << w.getType();
        }
      return false;
    }
    dims = *next;
  }
  for (Value &v : values)
    v = broadcastTo(v, dims);
  return true;
}

//===----------------------------------------------------------------------===//
// Elementwise and views
//===----------------------------------------------------------------------===//

Value GraphBuilder::compare(CompareKind kind, Value x, Value y) {
  return b.createOrFold<CompareOp>(loc, tensorType(dimsOf(x), b.getI1Type()), kind, x, y);
}

Value GraphBuilder::select(Value condition, Value x, Value y) {
  return b.createOrFold<SelectOp>(loc, x.getType(), condition, x, y);
}

Value GraphBuilder::bitcast(Value x, Type element) {
  if (elementOf(x) == element)
    return x;
  return b.createOrFold<BitcastOp>(loc, tensorType(dimsOf(x), element), x);
}

Value GraphBuilder::cast(Value x, Type element) {
  if (elementOf(x) == element)
    return x;
  return b.createOrFold<CastOp>(loc, tensorType(dimsOf(x), element), x);
}

Value GraphBuilder::reshape(Value x, ArrayRef<Expr> dims) {
  RankedTensorType type = tensorType(dims, elementOf(x));
  if (type == x.getType())
    return x;
  Expr has = shape::product(dimsOf(x)), wants = shape::product(dims);
  if (!facts.provablyEqual(has, wants) && (facts.provablyLess(has, wants) || facts.provablyLess(wants, has))) {
    if (misfit.empty())
      misfit = llvm::formatv("{0} elements do not have the sizes [{1}]", facts.simplify(has).str(),
                             llvm::join(llvm::map_range(dims, [&](const Expr &d) { return facts.simplify(d).str(); }), ", "));
    return b.create<ReshapeOp>(loc, type, x);
  }
  if (auto c = x.getDefiningOp<ConstantOp>(); c && type.hasStaticShape())
    if (auto dense = dyn_cast<DenseElementsAttr>(c.getValue()))
      return b.create<ConstantOp>(loc, dense.reshape(type));
  return b.createOrFold<ReshapeOp>(loc, type, x);
}

Value GraphBuilder::transpose(Value x, ArrayRef<int64_t> perm) {
  Dims from = dimsOf(x), dims;
  for (int64_t p : perm)
    dims.push_back(from[p]);
  return b.createOrFold<TransposeOp>(loc, tensorType(dims, elementOf(x)), x, perm);
}

Value GraphBuilder::unsqueeze(Value x, ArrayRef<int64_t> axes) {
  Dims dims = dimsOf(x);
  for (int64_t a : axes)
    dims.insert(dims.begin() + a, Expr(1));
  return reshape(x, dims);
}

Value GraphBuilder::squeeze(Value x, ArrayRef<int64_t> axes) {
  Dims dims;
  for (auto [i, e] : llvm::enumerate(dimsOf(x)))
    if (!llvm::is_contained(axes, int64_t(i)))
      dims.push_back(e);
  return reshape(x, dims);
}

Value GraphBuilder::slice(Value x, int64_t axis, const Expr &start, const Expr &size, int64_t step) {
  Dims dims = dimsOf(x), starts(dims.size(), Expr(0));
  if (start.isZero() && step == 1 && facts.provablyEqual(dims[axis], size))
    return x;
  SmallVector<int64_t> steps(dims.size(), 1);
  dims[axis] = size;
  starts[axis] = start;
  steps[axis] = step;
  return b.createOrFold<SliceOp>(loc, tensorType(dims, elementOf(x)), x, exprArray(b, starts), steps);
}

Value GraphBuilder::concat(ValueRange inputs, int64_t axis) {
  if (inputs.size() == 1)
    return inputs[0];
  Dims dims = dimsOf(inputs[0]);
  for (Value v : inputs.drop_front())
    dims[axis] = dims[axis] + dimsOf(v)[axis];
  return b.createOrFold<ConcatOp>(loc, tensorType(dims, elementOf(inputs[0])), inputs, axis);
}

Value GraphBuilder::gather(Value x, Value indices, int64_t axis) {
  Dims from = dimsOf(x), dims(from.begin(), from.begin() + axis), at = dimsOf(indices);
  dims.append(at.begin(), at.end());
  dims.append(from.begin() + axis + 1, from.end());
  // One known position is a slice, which moves nothing.
  if (typeOf(indices).hasStaticShape() && typeOf(indices).getNumElements() == 1)
    if (std::optional<Dims> known = symbolicValue(indices)) {
      Expr start = known->front();
      if (start.constant() && *start.constant() < 0)
        start = start + from[axis];
      if (facts.provablyLessEqual(Expr(0), start) && facts.provablyLess(start, from[axis]))
        return reshape(slice(x, axis, start, Expr(1)), dims);
    }
  return b.createOrFold<GatherOp>(loc, tensorType(dims, elementOf(x)), x, indices, axis);
}

Value GraphBuilder::iota(ArrayRef<Expr> dims, int64_t axis, Type element) {
  return b.create<IotaOp>(loc, tensorType(dims, element), axis);
}

//===----------------------------------------------------------------------===//
// Reductions and contractions
//===----------------------------------------------------------------------===//

Value GraphBuilder::reduce(ReduceKind kind, Value x, ArrayRef<int64_t> axes, bool keepDims) {
  Dims kept, dropped;
  for (auto [i, e] : llvm::enumerate(dimsOf(x))) {
    bool gone = llvm::is_contained(axes, int64_t(i));
    kept.push_back(gone ? Expr(1) : e);
    if (!gone)
      dropped.push_back(e);
  }
  if (!axes.empty())
    x = b.createOrFold<ReduceOp>(loc, tensorType(dropped, elementOf(x)), kind, x, axes);
  return keepDims ? reshape(x, kept) : x;
}

Value GraphBuilder::scan(ScanKind kind, Value x, int64_t axis, bool exclusive, bool reverse) {
  return b.createOrFold<ScanOp>(loc, x.getType(), kind, x, axis, exclusive, reverse);
}

Value GraphBuilder::compact(Value x, Value mask, const Expr &count) {
  return b.createOrFold<CompactOp>(loc, tensorType({count}, elementOf(x)), x, mask);
}

Value GraphBuilder::sort(Value x, int64_t axis, bool descending, const Expr &count) {
  Dims dims = dimsOf(x);
  dims[axis] = count;
  return b.createOrFold<SortOp>(loc, tensorType(dims, b.getI64Type()), x, axis, descending);
}

/// A gather with all dimensions but the last in its batch; that is where the axis goes and comes back from.
Value GraphBuilder::takeAlong(Value x, Value indices, int64_t axis) {
  int64_t rank = typeOf(x).getRank();
  SmallVector<int64_t> last, back(rank);
  for (int64_t d = 0; d < rank; ++d)
    if (d != axis)
      last.push_back(d);
  last.push_back(axis);
  for (int64_t d = 0; d < rank; ++d)
    back[last[d]] = d;
  bool moves = axis != rank - 1;
  if (moves)
    x = transpose(x, last), indices = transpose(indices, last);
  Type type = tensorType(dimsOf(indices), elementOf(x));
  Value taken = b.createOrFold<GatherNdOp>(loc, type, x, unsqueeze(indices, {rank}), rank - 1);
  return moves ? transpose(taken, back) : taken;
}

Value GraphBuilder::mean(Value x, ArrayRef<int64_t> axes, bool keepDims) {
  Expr count(1);
  for (int64_t a : axes)
    count = count * dimsOf(x)[a];
  Value sum = reduce(ReduceKind::Sum, x, axes, keepDims);
  if (std::optional<int64_t> c = count.constant())
    return div(sum, splatLike(double(*c), sum));
  return div(sum, broadcastTo(cast(size(count), elementOf(x)), dimsOf(sum)));
}

Value GraphBuilder::contract(Value x, Value y, ArrayRef<int64_t> xBatch, ArrayRef<int64_t> yBatch,
                             ArrayRef<int64_t> xContract, ArrayRef<int64_t> yContract) {
  Dims dx = dimsOf(x), dy = dimsOf(y), dims;
  for (int64_t d : xBatch)
    dims.push_back(dx[d]);
  for (int64_t d = 0; d < int64_t(dx.size()); ++d)
    if (!llvm::is_contained(xBatch, d) && !llvm::is_contained(xContract, d))
      dims.push_back(dx[d]);
  for (int64_t d = 0; d < int64_t(dy.size()); ++d)
    if (!llvm::is_contained(yBatch, d) && !llvm::is_contained(yContract, d))
      dims.push_back(dy[d]);
  return b.create<ContractOp>(loc, tensorType(dims, elementOf(x)), x, y, xBatch, yBatch, xContract, yContract);
}

Value GraphBuilder::matmul(Value x, Value y, std::string *why) {
  auto fail = [&](StringRef text) {
    if (why) {
      llvm::raw_string_ostream os(*why);
      os << text << ": " << x.getType() << " times " << y.getType();
    }
    return Value();
  };
  if (typeOf(x).getRank() == 0 || typeOf(y).getRank() == 0)
    return fail("a matrix product needs rank 1 or more");
  bool rowVector = typeOf(x).getRank() == 1, columnVector = typeOf(y).getRank() == 1;
  if (rowVector)
    x = unsqueeze(x, {0});
  if (columnVector)
    y = unsqueeze(y, {1});
  Dims dx = dimsOf(x), dy = dimsOf(y);
  if (!facts.provablyEqual(dx.back(), dy[dy.size() - 2]))
    return fail("the inner sizes differ");
  Value r;
  if (dy.size() == 2) { // a shared second operand: all of x's leading dims are rows
    r = contract(x, y, {}, {}, {int64_t(dx.size()) - 1}, {0});
  } else {
    std::optional<Dims> batch = broadcastDims(ArrayRef<Expr>(dx).drop_back(2), ArrayRef<Expr>(dy).drop_back(2));
    if (!batch)
      return fail("the batch sizes do not broadcast");
    Dims tx = *batch, ty = *batch;
    tx.append(dx.end() - 2, dx.end());
    ty.append(dy.end() - 2, dy.end());
    x = broadcastTo(x, tx);
    y = broadcastTo(y, ty);
    SmallVector<int64_t> axes;
    for (int64_t d = 0; d < int64_t(batch->size()); ++d)
      axes.push_back(d);
    int64_t n = batch->size();
    r = contract(x, y, axes, axes, {n + 1}, {n});
  }
  int64_t rank = typeOf(r).getRank();
  SmallVector<int64_t> drop;
  if (rowVector)
    drop.push_back(rank - 2);
  if (columnVector)
    drop.push_back(rank - 1);
  return drop.empty() ? r : squeeze(r, drop);
}

Value GraphBuilder::linear(Value x, Value w, Value bias) {
  Value r = contract(x, w, {}, {}, {typeOf(x).getRank() - 1}, {1});
  return bias ? add(r, broadcastTo(bias, dimsOf(r))) : r;
}
