//===- Scan.cpp - Softmax, running combinations, differences ----------------===//

#include "Convert.h"
#include <limits>

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

static llvm::Error softmax(OpContext &c) {
  Value x = c.g.cast(c.tensor("self"), c.resultElement());
  LATHE_TRY(axis, c.axis("dim", x));
  if (typeOf(x).getRank() == 0)
    return c.give(c.g.splatLike(1, x));
  return c.give(inFloat(c, x, [&](Value v) { return c.g.softmax(v, axis); }));
}

/// Where a row has nothing but -infinity, zeros.
static llvm::Error safeSoftmax(OpContext &c) {
  if (llvm::Error e = softmax(c))
    return e;
  Value x = c.g.cast(c.tensor("self"), c.resultElement()), y = c.results.pop_back_val();
  LATHE_TRY(axis, c.axis("dim", x));
  Value none = c.g.compare(CompareKind::EQ, x, c.g.splatLike(-std::numeric_limits<double>::infinity(), x));
  if (typeOf(x).getRank())
    none = c.g.broadcastTo(c.g.reduce(ReduceKind::And, none, {axis}, true), dimsOf(x));
  return c.give(c.g.select(none, c.g.splatLike(0, y), y));
}

static llvm::Error logSoftmax(OpContext &c) {
  Value x = c.g.cast(c.tensor("self"), c.resultElement());
  LATHE_TRY(axis, c.axis("dim", x));
  if (typeOf(x).getRank() == 0)
    return c.give(c.g.splatLike(0, x));
  return c.give(inFloat(c, x, [&](Value v) {
    Dims dims = dimsOf(v);
    Value centered = c.g.sub(v, c.g.broadcastTo(c.g.reduce(ReduceKind::Max, v, {axis}, true), dims));
    Value sum = c.g.reduce(ReduceKind::Sum, c.g.unary<ExpOp>(centered), {axis}, true);
    return c.g.sub(centered, c.g.broadcastTo(c.g.unary<LogOp>(sum), dims));
  }));
}

/// cumsum, cumprod, logcumsumexp, in the result's type.
template <ScanKind kind> static llvm::Error cumulate(OpContext &c) {
  Value x = convertedTo(c, c.tensor("self"), c.resultElement());
  LATHE_TRY(axis, c.axis("dim", x));
  return c.give(typeOf(x).getRank() ? c.g.scan(kind, x, axis) : x);
}

/// The running extreme, and where it stands: at the last element so far that equals it, or that is NaN.
template <ScanKind kind> static llvm::Error cumulateExtreme(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axis, c.axis("dim", x));
  Type index = c.g.b.getI64Type();
  if (typeOf(x).getRank() == 0) {
    (void)c.give(x);
    return c.give(c.g.scalar(0, index));
  }
  Value extreme = c.g.scan(kind, x, axis);
  Value isNew = c.g.compare(CompareKind::EQ, x, extreme);
  if (llvm::isa<mlir::FloatType>(elementOf(x)))
    isNew = c.g.binary<OrOp>(isNew, c.g.compare(CompareKind::NE, x, x));
  Value places = c.g.iota(dimsOf(x), axis, index);
  (void)c.give(extreme);
  return c.give(c.g.scan(ScanKind::Max, c.g.select(isNew, places, c.g.splatLike(0, places)), axis));
}

static llvm::Error diff(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axis, c.axis("dim", x));
  int64_t times = c.integer("n");
  if (typeOf(x).getRank() == 0 || times < 0 || times > 8)
    return c.cannot("a difference of order {0} of a tensor of rank {1}", times, typeOf(x).getRank());
  SmallVector<Value> parts;
  for (Value part : {c.tensor("prepend"), x, c.tensor("append")}) {
    if (!part)
      continue;
    if (typeOf(part).getRank() != typeOf(x).getRank())
      return c.cannot("prepend or append has another rank than the input");
    Dims want = dimsOf(x);
    want[axis] = dimsOf(part)[axis];
    LATHE_TRY(wide, c.broadcastTo(c.g.cast(part, elementOf(x)), want));
    parts.push_back(wide);
  }
  x = c.g.concat(parts, axis);
  for (int64_t i = 0; i < times && !dimsOf(x)[axis].isZero(); ++i) { // of no elements there are none to take away
    Expr rest = c.g.facts.simplify(dimsOf(x)[axis] - Expr(1));
    if (llvm::Error e = c.need(Condition::compare(Condition::Kind::LessEqual, Expr(0), rest)))
      return e;
    Value next = c.g.slice(x, axis, Expr(1), rest), previous = c.g.slice(x, axis, Expr(0), rest);
    bool isBool = elementOf(x).isInteger(1);
    x = isBool ? c.g.binary<XorOp>(next, previous) : c.g.sub(next, previous);
  }
  return c.give(x);
}

llvm::ArrayRef<OpEntry> fx::scanOps() {
  static const OpEntry table[] = {
      {"softmax.int", "self:T dim:I dtype:D?", softmax},
      {"_softmax.default", "self:T dim:I half_to_float:B=false", softmax},
      {"_safe_softmax.default", "self:T dim:I dtype:D?", safeSoftmax},
      {"log_softmax.int", "self:T dim:I dtype:D?", logSoftmax},
      {"_log_softmax.default", "self:T dim:I half_to_float:B=false", logSoftmax},
      {"cumsum.default", "self:T dim:I dtype:D?", cumulate<ScanKind::Sum>},
      {"cumprod.default", "self:T dim:I dtype:D?", cumulate<ScanKind::Prod>},
      {"logcumsumexp.default", "self:T dim:I", cumulate<ScanKind::LogAddExp>},
      {"cummax.default", "self:T dim:I", cumulateExtreme<ScanKind::Max>},
      {"cummin.default", "self:T dim:I", cumulateExtreme<ScanKind::Min>},
      {"diff.default", "self:T n:I=1 dim:I=-1 prepend:T? append:T?", diff},
  };
  return table;
}
