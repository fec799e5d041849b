//===- Segments.cpp - Pieces of dimensions: reductions, norms and joins of them ---===//

#include "Families.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

/// Of the elements of each segment along a dimension, by their lengths or by where they begin: [.., n, ..] -> [..,
/// segments, ..]. A segment's elements are those whose place is in it.
static llvm::Error segmentReduce(OpContext &c) {
  Value x = c.tensor("data"), lengths = c.tensor("lengths"), offsets = c.tensor("offsets");
  std::string name = c.text("reduce");
  bool mean = name == "mean";
  auto kind = llvm::StringSwitch<std::optional<ReduceKind>>(name)
                  .Cases("sum", "mean", ReduceKind::Sum)
                  .Case("prod", ReduceKind::Prod)
                  .Case("max", ReduceKind::Max)
                  .Case("min", ReduceKind::Min)
                  .Default(std::nullopt);
  LATHE_TRY(axis, c.axisOf(c.integer("axis"), typeOf(x).getRank()));
  Value marks = lengths ? lengths : offsets;
  if (!kind || !marks || !isIndex(marks) || typeOf(marks).getRank() != axis + 1 ||
      !llvm::isa<mlir::FloatType>(elementOf(x)))
    return c.cannot("the reduction '{0}' of {1}", name, x.getType());
  Type i64 = c.g.b.getI64Type();
  marks = c.g.cast(marks, i64);
  Expr count = dimsOf(marks)[axis];
  Value begin, end;
  if (lengths) {
    end = c.g.scan(ScanKind::Sum, marks, axis);
    begin = c.g.sub(end, marks);
  } else {
    if (llvm::Error e = c.need(Condition::compare(Condition::Kind::LessEqual, Expr(1), count)))
      return e;
    count = c.g.facts.simplify(count - Expr(1));
    begin = c.g.slice(marks, axis, Expr(0), count);
    end = c.g.slice(marks, axis, Expr(1), count);
  }
  Dims dims = dimsOf(x), wide(dims.begin(), dims.begin() + axis), low;
  for (int64_t d = 0; d < axis; ++d)
    if (llvm::Error e = c.needEqual(dims[d], dimsOf(marks)[d]))
      return e;
  wide.append({count, dims[axis]}); // [.., segments, n, rest..]
  low = wide;
  low.back() = Expr(1);
  wide.append(dims.begin() + axis + 1, dims.end());
  low.resize(wide.size(), Expr(1));
  Value place = c.g.iota(wide, axis + 1, i64);
  auto along = [&](Value v) { return c.g.broadcastTo(c.g.reshape(v, low), wide); };
  Value inside = c.g.binary<AndOp>(c.g.compare(CompareKind::GE, place, along(begin)),
                                   c.g.compare(CompareKind::LT, place, along(end)));
  double identity = *kind == ReduceKind::Sum    ? 0
                    : *kind == ReduceKind::Prod ? 1
                    : *kind == ReduceKind::Max  ? -INFINITY
                                                : INFINITY;
  Value all = c.g.broadcastTo(c.g.unsqueeze(x, {axis}), wide);
  Value r = c.g.reduce(*kind, c.g.select(inside, all, c.g.splatLike(identity, all)), {axis + 1}, false);
  if (auto first = c.optionalNumber("initial")) {
    Value start = c.g.splatLike(
        first->kind == Number::Kind::Float ? first->value : double(first->size.constant().value_or(0)), r);
    r = *kind == ReduceKind::Sum    ? c.g.add(r, start)
        : *kind == ReduceKind::Prod ? c.g.mul(r, start)
        : *kind == ReduceKind::Max  ? c.g.binary<MaxOp>(r, start)
                                    : c.g.binary<MinOp>(r, start);
  }
  if (mean) {
    low.erase(low.begin() + axis + 1);
    Value size = c.g.broadcastTo(c.g.reshape(c.g.cast(c.g.sub(end, begin), elementOf(r)), low), dimsOf(r));
    Value divided = c.g.div(r, size), zero = c.g.splatLike(0, r);
    Value empty = c.has("initial") ? r : c.g.splatLike(NAN, r);
    r = c.g.select(c.g.compare(CompareKind::EQ, size, zero), empty, divided);
  }
  return c.give(r);
}

/// Slices along the dimension whose norm is above the largest are scaled down to it.
static llvm::Error renorm(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axis, c.axis("dim", x));
  double p = c.optionalNumber("p")->value, most = c.optionalNumber("maxnorm")->value;
  if (typeOf(x).getRank() < 2 || !(p > 0))
    return c.wrong("norms of {0}, p = {1}", x.getType(), p);
  SmallVector<int64_t> others;
  for (int64_t d = 0; d < typeOf(x).getRank(); ++d)
    if (d != axis)
      others.push_back(d);
  return c.give(inFloat(c, x, [&](Value v) {
    Value size = c.g.unary<AbsOp>(v), norm;
    if (std::isinf(p))
      norm = c.g.reduce(ReduceKind::Max, size, others, true);
    else if (p == 2)
      norm = c.g.unary<SqrtOp>(c.g.reduce(ReduceKind::Sum, c.g.mul(v, v), others, true));
    else
      norm = c.g.binary<PowOp>(c.g.reduce(ReduceKind::Sum, c.g.binary<PowOp>(size, p), others, true), 1 / p);
    Value scale = c.g.div(c.g.splatLike(most, norm), c.g.binary<AddOp>(norm, 1e-7));
    scale = c.g.select(c.g.compare(CompareKind::GT, norm, c.g.splatLike(most, norm)), scale, c.g.splatLike(1, norm));
    return c.g.mul(v, c.g.broadcastTo(scale, dimsOf(v)));
  }));
}

/// Each tensor in as many chunks, the last filled with zeros, each chunk flat; then side by side.
static llvm::Error chunkCat(OpContext &c) {
  SmallVector<Value> all = c.tensors("tensors"), parts;
  int64_t chunks = c.integer("num_chunks");
  if (all.empty() || chunks < 1)
    return c.wrong("{0} tensors in {1} chunks", all.size(), chunks);
  LATHE_TRY(axis, c.axisOf(c.integer("dim"), typeOf(all[0]).getRank()));
  for (Value x : all) {
    Dims dims = dimsOf(x);
    if (axis >= int64_t(dims.size()))
      return c.wrong("dimension {0} of {1}", axis, x.getType());
    x = c.g.cast(x, c.resultElement());
    Expr size = Expr::floordiv(dims[axis] + Expr(chunks - 1), Expr(chunks)),
         whole = c.g.facts.simplify(size * Expr(chunks));
    Dims low(dims.size(), Expr(0)), high = low;
    high[axis] = c.g.facts.simplify(whole - dims[axis]);
    dims[axis] = whole;
    x = c.g.b.createOrFold<PadOp>(c.g.loc, tensorType(dims, elementOf(x)), x, c.g.scalar(0, elementOf(x)),
                                  exprArray(c.g.b, low), exprArray(c.g.b, high));
    Dims flat(dims.begin(), dims.begin() + axis);
    flat.push_back(Expr(chunks));
    flat.push_back(c.g.facts.simplify(size * shape::product(llvm::ArrayRef<Expr>(dims).drop_front(axis + 1))));
    parts.push_back(c.g.reshape(x, flat));
  }
  return c.give(joinParts(c, parts, axis + 1));
}

llvm::ArrayRef<OpEntry> fx::segmentOps() {
  static const OpEntry table[] = {
      {"segment_reduce.default", "data:T reduce:X lengths:T? indices:T? offsets:T? axis:I=0 unsafe:B=false initial:S?",
       segmentReduce},
      {"renorm.default", "self:T p:S dim:I maxnorm:S", renorm},
      {"_chunk_cat.default", "tensors:T* dim:I num_chunks:I", chunkCat},
  };
  return table;
}
