//===- Pool.cpp - Pooling ---------------------------------------------------===//
//
// A window is a handful of shifted, strided reads of the padded input that are combined elementwise; they fuse into one loop.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "lathe/Dialect/Lathe/Scatter.h"
#include "lathe/Dialect/Lathe/Windows.h"
#include <limits>

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

constexpr int64_t maxSearched = 1024; // places that the search for an index looks at, one by one

namespace {
/// The windows over the last dimensions of an operand.
struct Pool {
  Value x;
  SmallVector<WindowDim> dims;
  SmallVector<Expr> before, after; ///< padding; with ceil_mode the last window may reach beyond what was asked for
  SmallVector<int64_t> padding;
  int64_t places = 1;
  size_t lead() const { return typeOf(x).getRank() - dims.size(); }
};
} // namespace

/// One value for all dimensions, or one for each.
static llvm::Expected<SmallVector<int64_t>> perDim(OpContext &c, const char *name, size_t count, SmallVector<int64_t> otherwise, int64_t least) {
  SmallVector<int64_t> values = c.integers(name);
  if (values.empty())
    values = std::move(otherwise);
  if (values.size() == 1)
    values.resize(count, values[0]);
  if (values.size() != count)
    return c.wrong("argument '{0}' has {1} values for {2} spatial dimensions", name, values.size(), count);
  for (int64_t v : values)
    if (v < least || v > INT32_MAX)
      return c.wrong("argument '{0}' holds {1}", name, v);
  return values;
}

/// How many windows there are. The last one begins inside the operand or the padding in front of it.
static llvm::Error countWindows(OpContext &c, Pool &p, size_t i, int64_t padding, bool ceil) {
  WindowDim &w = p.dims[i];
  Expr n = dimsOf(p.x)[p.lead() + i], reach(w.dilation * (w.kernel - 1) + 1), stride(w.stride);
  Expr room = c.g.facts.simplify(n + Expr(2 * padding) - reach);
  if (llvm::Error e = c.need(Condition::compare(Condition::Kind::LessEqual, Expr(0), room)))
    return e;
  w.low = Expr(padding);
  w.out = Expr::floordiv(room, stride) + Expr(1);
  if (ceil)
    w.out = Expr::min(Expr::floordiv(room + stride - Expr(1), stride), Expr::floordiv(n + Expr(padding - 1), stride)) + Expr(1);
  w.out = c.g.facts.simplify(w.out);
  // The program has decided already whether the last window counts.
  Expr told = c.resultDims()[p.lead() + i];
  if (ceil && !c.g.facts.provablyEqual(w.out, told)) {
    if (llvm::Error e = c.needEqual(w.out, told))
      return e;
    w.out = told;
  }
  Expr needed = c.g.facts.simplify((w.out - Expr(1)) * stride + reach - n - Expr(padding));
  p.before.push_back(Expr(padding));
  p.after.push_back(ceil ? c.g.facts.simplify(Expr::max(Expr(padding), needed)) : Expr(padding));
  return llvm::Error::success();
}

/// Of as many dimensions as the operator's name says.
static llvm::Expected<Pool> readPool(OpContext &c) {
  Pool p;
  p.x = c.tensor("self");
  const std::string &name = c.node.target;
  size_t spatial = name.find("1d") != std::string::npos ? 1 : name.find("3d") != std::string::npos ? 3 : 2;
  if (typeOf(p.x).getRank() < int64_t(spatial) + 1 || c.resultDims().size() != dimsOf(p.x).size())
    return c.wrong("an input of {0}", p.x.getType());
  LATHE_TRY(kernel, perDim(c, "kernel_size", spatial, {}, 1));
  LATHE_TRY(stride, perDim(c, "stride", spatial, kernel, 1));
  LATHE_TRY(padding, perDim(c, "padding", spatial, {0}, 0));
  LATHE_TRY(dilation, perDim(c, "dilation", spatial, {1}, 1));
  p.padding = padding;
  p.dims.resize(spatial);
  for (size_t i = 0; i < spatial; ++i) {
    if (llvm::MulOverflow(p.places, kernel[i], p.places))
      return c.wrong("argument 'kernel_size' holds {0}", kernel[i]);
    p.dims[i].kernel = kernel[i];
    p.dims[i].stride = stride[i];
    p.dims[i].dilation = dilation[i];
  }
  for (size_t i = 0; i < spatial; ++i)
    if (llvm::Error e = countWindows(c, p, i, padding[i], c.flag("ceil_mode")))
      return std::move(e);
  return p;
}

static Value surround(OpContext &c, const Pool &p, Value x, Value around) {
  Dims low(p.lead(), Expr(0)), high = low, dims = dimsOf(x);
  low.append(p.before.begin(), p.before.end());
  high.append(p.after.begin(), p.after.end());
  bool pads = false;
  for (size_t d = 0; d < dims.size(); ++d) {
    pads |= !low[d].isZero() || !high[d].isZero();
    dims[d] = c.g.facts.simplify(dims[d] + low[d] + high[d]);
  }
  mlir::OpBuilder &b = c.g.b;
  return pads ? b.create<PadOp>(c.g.loc, tensorType(dims, elementOf(x)), x, around, exprArray(b, low), exprArray(b, high)) : x;
}

/// The same maxima and better sums, without a conversion at each step.
static Value widened(OpContext &c, Value x) {
  Type element = elementOf(x);
  return element.isF16() || element.isBF16() ? c.g.cast(x, c.g.b.getF32Type()) : x;
}

/// The smallest value of the type.
static Value lowest(OpContext &c, Type element) {
  return c.g.b.create<ConstantOp>(c.g.loc, mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({}, element),
                                                                        llvm::ArrayRef<mlir::Attribute>{reduceIdentity(ReduceKind::Max, element)}));
}

static Value maxima(OpContext &c, const Pool &p) {
  Value x = widened(c, p.x), padded = surround(c, p, x, lowest(c, elementOf(x)));
  Value r = combineWindows(c.g, padded, p.dims, ReduceKind::Max);
  return c.g.cast(r, elementOf(p.x));
}

static llvm::Error maxPool(OpContext &c) {
  LATHE_TRY(p, readPool(c));
  return c.give(maxima(c, p));
}

/// Where in the operand's last dimensions a place of each window is; one number per window.
static Value placeInPlane(OpContext &c, const Pool &p, llvm::ArrayRef<int64_t> at, llvm::ArrayRef<Expr> out) {
  Type i64 = c.g.b.getI64Type();
  Value place = c.g.splat(0, out, i64);
  for (auto [i, w] : llvm::enumerate(p.dims)) {
    Value along = c.g.binary<MulOp>(c.g.iota(out, p.lead() + i, i64), double(w.stride));
    along = c.g.binary<AddOp>(along, double(at[i] * w.dilation - p.padding[i]));
    Value size = c.g.broadcastTo(c.g.size(dimsOf(p.x)[p.lead() + i]), out);
    place = c.g.add(c.g.mul(place, size), along);
  }
  return place;
}

/// The maxima, and where the first of each window is (the last NaN, where there is one).
static llvm::Error maxPoolWithIndices(OpContext &c) {
  LATHE_TRY(p, readPool(c));
  if (c.resultTypes.size() < 2 || !c.asked(1))
    return c.give(maxima(c, p));
  if (p.places > maxSearched)
    return c.cannot("the indices of maxima in a window of more than {0} elements", maxSearched);
  Value padded = surround(c, p, p.x, lowest(c, elementOf(p.x))), most, at;
  Dims out = dimsOf(p.x);
  SmallVector<int64_t> index(p.dims.size(), 0);
  for (size_t i = 0; i < p.dims.size(); ++i)
    out[p.lead() + i] = p.dims[i].out;
  for (int64_t place = 0; place < p.places; ++place) {
    int64_t rest = place;
    Value part = padded;
    for (size_t i = p.dims.size(); i-- > 0; rest /= p.dims[i].kernel)
      index[i] = rest % p.dims[i].kernel;
    for (auto [i, w] : llvm::enumerate(p.dims))
      part = c.g.slice(part, p.lead() + i, Expr(index[i] * w.dilation), w.out, w.stride);
    Value here = placeInPlane(c, p, index, out);
    if (most) {
      Value larger = c.g.compare(CompareKind::GT, part, most);
      if (llvm::isa<mlir::FloatType>(elementOf(part)))
        larger = c.g.binary<OrOp>(larger, c.g.compare(CompareKind::NE, part, part));
      here = c.g.select(larger, here, at);
      part = c.g.select(larger, part, most);
    }
    most = part;
    at = here;
  }
  (void)c.give(most);
  return c.give(at);
}

static llvm::Error averagePool(OpContext &c) {
  LATHE_TRY(p, readPool(c));
  Value x = widened(c, p.x), padded = surround(c, p, x, c.g.scalar(0, elementOf(x)));
  Value sum = combineWindows(c.g, padded, p.dims, ReduceKind::Sum);
  bool pads = llvm::any_of(p.padding, [](int64_t v) { return v != 0; }), counts = c.flag("count_include_pad");
  if (c.has("divisor_override"))
    return c.give(c.g.cast(c.g.binary<DivOp>(sum, c.real("divisor_override")), elementOf(p.x)));
  if (!c.flag("ceil_mode") && (counts || !pads))
    return c.give(c.g.cast(c.g.binary<DivOp>(sum, double(p.places)), elementOf(p.x)));
  Dims sizes = dimsOf(x);
  sizes.erase(sizes.begin(), sizes.begin() + p.lead());
  SmallVector<WindowDim> dims = p.dims;
  for (size_t i = 0; counts && i < sizes.size(); ++i) {
    sizes[i] = c.g.facts.simplify(sizes[i] + Expr(2 * p.padding[i]));
    dims[i].low = Expr(0);
  }
  Value covered = coveredPlaces(c.g, sizes, dims, elementOf(x));
  return c.give(c.g.cast(c.g.div(sum, c.g.broadcastTo(covered, dimsOf(sum))), elementOf(p.x)));
}

llvm::Error fx::giveInPlanes(OpContext &c, ScatterKind kind, Value x, Value at, const Dims &out, size_t lead) {
  auto flat = [&](llvm::ArrayRef<Expr> from) {
    Dims to(from.begin(), from.begin() + lead);
    to.push_back(c.g.facts.simplify(shape::product(from.drop_front(lead))));
    return to;
  };
  Dims given = flat(dimsOf(x));
  LATHE_TRY(places, c.broadcastTo(at, dimsOf(x)));
  Value zeros = c.g.splat(0, flat(out), elementOf(x));
  Value r = scatterAlong(c.g, kind, zeros, c.g.reshape(places, given), c.g.reshape(x, given), lead);
  return c.give(c.g.reshape(r, out));
}

/// Each element goes to the place in the plane that its index says.
static llvm::Error maxUnpool(OpContext &c) {
  Value x = c.tensor("self"), at = c.tensor("indices");
  Dims out = c.resultDims(), dims = dimsOf(x);
  size_t spatial = c.node.target.find("3d") != std::string::npos ? 3 : 2;
  if (dims.size() != out.size() || dims.size() < spatial || dimsOf(at).size() != dims.size() || !isIndex(at))
    return c.wrong("indices of {0} for {1}", at.getType(), x.getType());
  return giveInPlanes(c, ScatterKind::Set, x, at, out, dims.size() - spatial);
}

llvm::ArrayRef<OpEntry> fx::poolOps() {
  static const char *const largest =
      "self:T kernel_size:I* stride:I*? padding:I*=0 dilation:I*=1 ceil_mode:B=false";
  static const char *const average = "self:T kernel_size:I* stride:I*? padding:I*=0 ceil_mode:B=false "
                                     "count_include_pad:B=true divisor_override:I?";
  static const OpEntry table[] = {
      {"max_pool1d.default", largest, maxPool},
      {"max_pool2d.default", largest, maxPool},
      {"max_pool3d.default", largest, maxPool},
      {"max_pool1d_with_indices.default", largest, maxPoolWithIndices},
      {"max_pool2d_with_indices.default", largest, maxPoolWithIndices},
      {"max_pool3d_with_indices.default", largest, maxPoolWithIndices},
      {"avg_pool1d.default", average, averagePool},
      {"avg_pool2d.default", average, averagePool},
      {"avg_pool3d.default", average, averagePool},
      {"max_unpool2d.default", "self:T indices:T output_size:N*", maxUnpool},
      {"max_unpool3d.default", "self:T indices:T output_size:N* stride:I* padding:I*", maxUnpool},
  };
  return table;
}
