//===- EvaluateStructured.cpp - Views, reductions, contractions on constants ===//

#include "lathe/Dialect/Lathe/ElementWalk.h"
#include "lathe/Dialect/Lathe/Evaluate.h"
#include <cmath>

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;

using Inputs = ArrayRef<const ConstantTensor *>;
using Result = std::optional<ConstantTensor>;

/// The constant values of expressions; nothing when one has a symbol.
static std::optional<SmallVector<int64_t>> constantsOf(ArrayAttr texts) {
  SmallVector<int64_t> out;
  for (const shape::Expr &e : exprsOf(texts)) {
    if (!e.constant())
      return std::nullopt;
    out.push_back(*e.constant());
  }
  return out;
}

static Result iota(IotaOp op) {
  ConstantTensor out(typeOf(op.getResult()));
  Type e = out.type.getElementType();
  forEach(out.shape(), [&](int64_t i, ArrayRef<int64_t> at) {
    if (out.isFloat())
      out.floats[i] = roundTo(double(at[op.getAxis()]), e);
    else
      out.ints[i] = wrapTo(at[op.getAxis()], e);
  });
  return out;
}

static Result sizes(SizeOp op) {
  std::optional<SmallVector<int64_t>> values = constantsOf(op.getExprs());
  if (!values)
    return std::nullopt;
  ConstantTensor out(typeOf(op.getResult()));
  out.ints.assign(values->begin(), values->end());
  return out;
}

static Result reshape(ReshapeOp op, const ConstantTensor &x) {
  ConstantTensor out = x;
  out.type = typeOf(op.getResult());
  return out.size() == x.size() ? Result(std::move(out)) : std::nullopt;
}

static Result transpose(TransposeOp op, const ConstantTensor &x) {
  ConstantTensor out(typeOf(op.getResult()));
  SmallVector<int64_t> strides = stridesOf(x.shape());
  forEach(out.shape(), [&](int64_t i, ArrayRef<int64_t> at) {
    int64_t from = 0;
    for (size_t d = 0; d < at.size(); ++d)
      from += at[d] * strides[op.getPerm()[d]];
    out.copyFrom(x, from, i);
  });
  return out;
}

/// `count` elements that lie side by side.
static void copyRun(const ConstantTensor &x, int64_t from, ConstantTensor &out, int64_t to, int64_t count) {
  if (x.isFloat())
    std::copy_n(x.floats.begin() + from, count, out.floats.begin() + to);
  else
    std::copy_n(x.ints.begin() + from, count, out.ints.begin() + to);
}

/// Row by row: of the last dimension one element is repeated, or all are copied.
static Result broadcast(BroadcastOp op, const ConstantTensor &x) {
  ConstantTensor out(typeOf(op.getResult()));
  SmallVector<int64_t> strides = stridesOf(x.shape());
  for (auto [stride, size] : llvm::zip(strides, x.shape()))
    stride = size == 1 ? 0 : stride;
  int64_t row = out.shape().empty() ? 1 : out.shape().back();
  bool repeats = strides.empty() || strides.back() == 0;
  forEach(out.shape().empty() ? out.shape() : out.shape().drop_back(), [&](int64_t i, ArrayRef<int64_t> at) {
    int64_t from = 0, lead = int64_t(out.shape().size()) - int64_t(strides.size());
    for (int64_t d = 0; d + 1 < int64_t(strides.size()); ++d)
      from += at[d + lead] * strides[d];
    if (!repeats)
      copyRun(x, from, out, i * row, row);
    else if (x.isFloat())
      std::fill_n(out.floats.begin() + i * row, row, x.floats[from]);
    else
      std::fill_n(out.ints.begin() + i * row, row, x.ints[from]);
  });
  return out;
}

static Result slice(SliceOp op, const ConstantTensor &x) {
  std::optional<SmallVector<int64_t>> starts = constantsOf(op.getStarts());
  if (!starts)
    return std::nullopt;
  ConstantTensor out(typeOf(op.getResult()));
  SmallVector<int64_t> strides = stridesOf(x.shape());
  bool inside = true;
  forEach(out.shape(), [&](int64_t i, ArrayRef<int64_t> at) {
    int64_t from = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      int64_t c = (*starts)[d] + at[d] * op.getSteps()[d];
      inside &= c >= 0 && c < x.shape()[d];
      from += c * strides[d];
    }
    if (inside)
      out.copyFrom(x, from, i);
  });
  return inside ? Result(std::move(out)) : std::nullopt;
}

static Result concat(ConcatOp op, Inputs in) {
  ConstantTensor out(typeOf(op.getResult()));
  int64_t axis = op.getAxis(), offset = 0, inner = stridesOf(out.shape())[axis], row = out.shape()[axis] * inner;
  int64_t outer = row ? out.size() / row : 0;
  for (const ConstantTensor *x : in) {
    int64_t mine = x->shape()[axis] * inner;
    if (offset + x->shape()[axis] > out.shape()[axis] || x->size() != outer * mine)
      return std::nullopt;
    for (int64_t i = 0; i < outer; ++i)
      copyRun(*x, i * mine, out, i * row + offset * inner, mine);
    offset += x->shape()[axis];
  }
  return offset == out.shape()[axis] ? Result(std::move(out)) : std::nullopt;
}

static Result pad(PadOp op, const ConstantTensor &x, const ConstantTensor &value) {
  std::optional<SmallVector<int64_t>> low = constantsOf(op.getLow());
  if (!low)
    return std::nullopt;
  ConstantTensor out(typeOf(op.getResult()));
  SmallVector<int64_t> strides = stridesOf(x.shape());
  forEach(out.shape(), [&](int64_t i, ArrayRef<int64_t> at) {
    int64_t from = 0;
    bool inside = true;
    for (size_t d = 0; d < at.size(); ++d) {
      int64_t c = at[d] - (*low)[d];
      inside &= c >= 0 && c < x.shape()[d];
      from += c * strides[d];
    }
    out.copyFrom(inside ? x : value, inside ? from : 0, i);
  });
  return out;
}

/// Negative indices count from the end; what is outside is clamped.
static int64_t clampIndex(int64_t i, int64_t size) {
  if (i < 0)
    i += size;
  return std::max<int64_t>(0, std::min(i, size - 1));
}

static Result gather(GatherOp op, const ConstantTensor &x, const ConstantTensor &indices) {
  ConstantTensor out(typeOf(op.getResult()));
  int64_t axis = op.getAxis(), size = x.shape()[axis], inner = 1;
  if (size == 0 && out.size())
    return std::nullopt;
  for (int64_t d = axis + 1; d < int64_t(x.shape().size()); ++d)
    inner *= x.shape()[d];
  int64_t n = indices.size();
  for (int64_t i = 0; i < out.size(); ++i) {
    int64_t within = i % inner, at = (i / inner) % n, outer = i / inner / n;
    out.copyFrom(x, (outer * size + clampIndex(indices.ints[at], size)) * inner + within, i);
  }
  return out;
}

static Result gatherNd(GatherNdOp op, const ConstantTensor &x, const ConstantTensor &indices) {
  ConstantTensor out(typeOf(op.getResult()));
  int64_t batch = op.getBatchDims(), n = indices.shape().back(), size = 1, inner = 1, perBatch = 1;
  for (int64_t d = batch; d < x.type.getRank(); ++d) {
    size *= x.shape()[d];
    inner *= d >= batch + n ? x.shape()[d] : 1;
  }
  for (int64_t d : indices.shape().drop_back().drop_front(batch))
    perBatch *= d;
  if (out.size() && !x.size()) // picks elements of none
    return std::nullopt;
  SmallVector<int64_t> strides = stridesOf(x.shape());
  for (int64_t i = 0; i < out.size(); ++i) {
    int64_t vector = i / inner, from = vector / perBatch * size + i % inner;
    for (int64_t d = 0; d < n; ++d)
      from += clampIndex(indices.ints[vector * n + d], x.shape()[batch + d]) * strides[batch + d];
    out.copyFrom(x, from, i);
  }
  return out;
}

//===----------------------------------------------------------------------===//
// Reductions and contractions
//===----------------------------------------------------------------------===//

static double combineFloat(ReduceKind kind, double a, double b) {
  switch (kind) {
  case ReduceKind::Sum:
    return a + b;
  case ReduceKind::Prod:
    return a * b;
  case ReduceKind::Max:
    return std::isnan(a) ? a : std::isnan(b) ? b : std::fmax(a, b);
  case ReduceKind::Min:
    return std::isnan(a) ? a : std::isnan(b) ? b : std::fmin(a, b);
  default:
    return a;
  }
}

static int64_t combineInt(ReduceKind kind, int64_t a, int64_t b, bool isUnsigned) {
  bool less = isUnsigned ? uint64_t(a) < uint64_t(b) : a < b;
  switch (kind) {
  case ReduceKind::Sum:
    return int64_t(uint64_t(a) + uint64_t(b));
  case ReduceKind::Prod:
    return int64_t(uint64_t(a) * uint64_t(b));
  case ReduceKind::Max:
    return less ? b : a;
  case ReduceKind::Min:
    return less ? a : b;
  case ReduceKind::And:
    return a & b;
  case ReduceKind::Or:
    return a | b;
  }
  return a;
}

static Result reduce(ReduceOp op, const ConstantTensor &x) {
  ConstantTensor out(typeOf(op.getResult()));
  Type e = out.type.getElementType();
  TypedAttr identity = reduceIdentity(op.getKind(), e);
  if (auto f = dyn_cast<FloatAttr>(identity))
    out.floats.assign(out.size(), f.getValueAsDouble());
  else
    out.ints.assign(out.size(), wrapTo(cast<IntegerAttr>(identity).getValue().getSExtValue(), e));
  SmallVector<int64_t> strides = stridesOf(out.shape());
  forEach(x.shape(), [&](int64_t i, ArrayRef<int64_t> at) {
    int64_t to = 0;
    unsigned kept = 0;
    for (size_t d = 0; d < at.size(); ++d)
      if (!llvm::is_contained(op.getAxes(), int64_t(d)))
        to += at[d] * strides[kept++];
    if (out.isFloat())
      out.floats[to] = combineFloat(op.getKind(), out.floats[to], x.floats[i]);
    else
      out.ints[to] = wrapTo(combineInt(op.getKind(), out.ints[to], x.ints[i], isUnsignedElement(e)), e);
  });
  for (double &v : out.floats)
    v = roundTo(v, e);
  return out;
}

/// Dimensions of rank `rank` that are in neither list.
static SmallVector<int64_t> freeDims(int64_t rank, ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  SmallVector<int64_t> out;
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(a, d) && !llvm::is_contained(b, d))
      out.push_back(d);
  return out;
}

static Result contract(ContractOp op, const ConstantTensor &x, const ConstantTensor &y) {
  ConstantTensor out(typeOf(op.getResult()));
  Type e = out.type.getElementType();
  auto number = [](const ConstantTensor &t, int64_t at) { return t.isFloat() ? t.floats[at] : double(t.ints[at]); };
  ArrayRef<int64_t> xb = op.getLhsBatch(), yb = op.getRhsBatch(), xc = op.getLhsContract(), yc = op.getRhsContract();
  SmallVector<int64_t> xs = stridesOf(x.shape()), ys = stridesOf(y.shape()), sizes;
  SmallVector<int64_t> xf = freeDims(xs.size(), xb, xc), yf = freeDims(ys.size(), yb, yc);
  for (int64_t d : xc)
    sizes.push_back(x.shape()[d]);
  if (out.size() * ShapedType::getNumElements(sizes) > (int64_t(1) << 26))
    return std::nullopt;
  forEach(out.shape(), [&](int64_t i, ArrayRef<int64_t> at) {
    int64_t px = 0, py = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      if (d < xb.size()) {
        px += at[d] * xs[xb[d]];
        py += at[d] * ys[yb[d]];
      } else if (d < xb.size() + xf.size()) {
        px += at[d] * xs[xf[d - xb.size()]];
      } else {
        py += at[d] * ys[yf[d - xb.size() - xf.size()]];
      }
    }
    double sum = 0;
    uint64_t total = 0;
    forEach(sizes, [&](int64_t, ArrayRef<int64_t> c) {
      int64_t qx = px, qy = py;
      for (size_t d = 0; d < c.size(); ++d) {
        qx += c[d] * xs[xc[d]];
        qy += c[d] * ys[yc[d]];
      }
      if (out.isFloat())
        sum += number(x, qx) * number(y, qy);
      else
        total += uint64_t(x.ints[qx]) * uint64_t(y.ints[qy]);
    });
    if (out.isFloat())
      out.floats[i] = roundTo(sum, e);
    else
      out.ints[i] = wrapTo(int64_t(total), e);
  });
  return out;
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

static void combineAt(ConstantTensor &out, int64_t to, ScatterKind kind, const ConstantTensor &from, int64_t i) {
  static const ReduceKind kinds[] = {ReduceKind::Or, ReduceKind::Sum, ReduceKind::Prod, ReduceKind::Max, ReduceKind::Min};
  Type e = out.type.getElementType();
  ReduceKind k = kinds[unsigned(kind)];
  if (kind == ScatterKind::Set)
    out.copyFrom(from, i, to);
  else if (out.isFloat())
    out.floats[to] = roundTo(combineFloat(k, out.floats[to], from.floats[i]), e);
  else
    out.ints[to] = wrapTo(combineInt(k, out.ints[to], from.ints[i], isUnsignedElement(e)), e);
}

static Result scatter(ScatterOp op, Inputs in) {
  ConstantTensor out = *in[0];
  const ConstantTensor &updates = *in[1];
  SmallVector<int64_t> strides = stridesOf(out.shape());
  forEach(updates.shape(), [&](int64_t i, ArrayRef<int64_t> at) {
    int64_t to = 0;
    unsigned next = 2;
    bool inside = true;
    for (auto [d, place] : llvm::enumerate(op.getPlaces())) {
      int64_t size = out.shape()[d], c = place >= 0 ? at[place] : in[next++]->ints[i];
      c += place < 0 && c < 0 ? size : 0;
      inside &= c >= 0 && c < size;
      to += c * strides[d];
    }
    if (inside)
      combineAt(out, to, op.getKind(), updates, i);
  });
  return out;
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

std::optional<ConstantTensor> ir::evaluateStructured(Operation *op, Inputs in) {
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](IotaOp o) { return iota(o); })
      .Case([&](SizeOp o) { return sizes(o); })
      .Case([&](ReshapeOp o) { return reshape(o, *in[0]); })
      .Case([&](TransposeOp o) { return transpose(o, *in[0]); })
      .Case([&](BroadcastOp o) { return broadcast(o, *in[0]); })
      .Case([&](SliceOp o) { return slice(o, *in[0]); })
      .Case([&](ConcatOp o) { return concat(o, in); })
      .Case([&](PadOp o) { return pad(o, *in[0], *in[1]); })
      .Case([&](GatherOp o) { return gather(o, *in[0], *in[1]); })
      .Case([&](GatherNdOp o) { return gatherNd(o, *in[0], *in[1]); })
      .Case([&](ReduceOp o) { return reduce(o, *in[0]); })
      .Case([&](ScanOp o) { return evaluateScan(o, *in[0]); })
      .Case([&](CompactOp o) { return evaluateCompact(o, *in[0], *in[1]); })
      .Case([&](SortOp o) { return evaluateSort(o, *in[0]); })
      .Case([&](ContractOp o) { return contract(o, *in[0], *in[1]); })
      .Case([&](ScatterOp o) { return scatter(o, in); })
      .Default([](Operation *) { return std::nullopt; });
}

bool ir::canEvaluate(Operation *op) {
  if (op->getNumResults() != 1)
    return false;
  for (Type t : op->getOperandTypes())
    if (!isa<RankedTensorType>(t) || !isNumber(cast<RankedTensorType>(t).getElementType()))
      return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !type.hasStaticShape() || !isNumber(type.getElementType()))
    return false;
  if (isa<ElementwiseInterface>(op))
    return canEvaluateElementwise(op);
  if (auto s = dyn_cast<SizeOp>(op))
    return constantsOf(s.getExprs()).has_value();
  return isa<IotaOp, ReshapeOp, TransposeOp, BroadcastOp, SliceOp, ConcatOp, PadOp, GatherOp, GatherNdOp, ReduceOp, ScanOp,
             CompactOp, SortOp, ContractOp, ScatterOp>(op);
}

std::optional<ConstantTensor> ir::evaluate(Operation *op, Inputs in) {
  return isa<ElementwiseInterface>(op) ? evaluateElementwise(op, in) : evaluateStructured(op, in);
}
