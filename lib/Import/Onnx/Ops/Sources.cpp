//===- Sources.cpp - Operators that make tensors from sizes and constants --===//

#include "Constants.h"
#include "GraphImporter.h"
#include "Tensors.h"
#include "lathe/Dialect/Lathe/Evaluate.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace lathe;
using ir::CompareKind;

namespace lathe::onnx {

void constant(Node &n) {
  if (const TensorProto *t = n.tensor("value"))
    return n.out(n.constant(*t));
  Builder &b = n.g.b;
  auto list = [&](const char *name, bool scalar, auto values, Type element) {
    using T = typename std::decay_t<decltype(values)>::value_type;
    auto type = scalar ? RankedTensorType::get({}, element) : RankedTensorType::get({int64_t(values.size())}, element);
    n.out(n.constant(DenseElementsAttr::get(type, ArrayRef<T>(values))));
  };
  if (n.hasAttribute("value_int"))
    return list("value_int", true, std::vector<int64_t>{n.integer("value_int", 0)}, b.getI64Type());
  if (n.hasAttribute("value_float"))
    return list("value_float", true, std::vector<float>{float(n.real("value_float", 0))}, b.getF32Type());
  if (n.hasAttribute("value_ints"))
    return list("value_ints", false, n.integers("value_ints"), b.getI64Type());
  if (const AttributeProto *a = n.attribute("value_floats"))
    return list("value_floats", false, std::vector<float>(a->floats().begin(), a->floats().end()), b.getF32Type());
  for (const char *name : {"value_string", "value_strings", "sparse_value"})
    if (n.hasAttribute(name))
      failUnsupported("attribute '{0}'", name);
  failWrong("no value attribute");
}

void constantOfShape(Node &n) {
  Dims dims = n.sizes(0);
  for (const Expr &e : dims)
    if (e.constant() && *e.constant() < 0)
      failWrong("the shape has the size {0}", e.str());
  const TensorProto *t = n.tensor("value");
  if (!t)
    return n.out(n.g.splat(0, dims, n.g.b.getF32Type()));
  Value v = n.constant(*t);
  n.requireEqual(shape::product(n.dims(v)), Expr(1), "the elements of attribute 'value'");
  n.out(n.g.broadcastTo(n.reshape(v, {}), dims));
}

/// [first, last) of the dimensions, as Slice clamps.
void shapeOf(Node &n) {
  Dims dims = n.dims(n.in(0));
  int64_t rank = dims.size();
  auto clamp = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
  int64_t first = clamp(n.integer("start", 0)), last = clamp(n.integer("end", rank));
  Dims part(dims.begin() + first, dims.begin() + std::max(first, last));
  for (Expr &e : part)
    e = n.simplify(e);
  n.out(n.g.sizes(part));
}

void sizeOf(Node &n) { n.out(n.g.size(n.simplify(shape::product(n.dims(n.in(0)))))); }

std::optional<llvm::SmallVector<double>> constantNumbers(Value v) {
  while (auto reshape = v.getDefiningOp<ir::ReshapeOp>())
    v = reshape.getX();
  DenseFPElementsAttr dense;
  if (!matchPattern(v, m_Constant(&dense))) {
    std::optional<ir::ConstantTensor> known = ir::knownNumbers(v, shape::Facts());
    return known && known->isFloat() ? std::optional<SmallVector<double>>(llvm::to_vector(known->floats)) : std::nullopt;
  }
  SmallVector<double> out;
  for (APFloat f : dense.getValues<APFloat>()) {
    bool lossy;
    f.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
    out.push_back(f.convertToDouble());
  }
  return out;
}

/// The count is computed by a kernel and read by the host.
static void rangeOnData(Node &n) {
  SmallVector<Value> bounds;
  for (unsigned i = 0; i < 3; ++i)
    bounds.push_back(n.reshape(n.in(i), {}));
  Value start = bounds[0], delta = bounds[2];
  auto precise = [&](Value v) { return n.g.cast(v, n.g.b.getF64Type()); };
  Value count = n.g.unary<ir::CeilOp>(n.g.div(n.g.sub(precise(bounds[1]), precise(start)), precise(delta)));
  count = n.g.cast(n.g.binary<ir::MaxOp>(count, 0), n.g.b.getI64Type());
  std::optional<Dims> read = n.importer.elementsOf(count);
  if (!read)
    failUnsupported("its bounds are not known when compiling");
  n.requireAtLeast(read->front(), 0, "the number of elements");
  Dims dims{n.simplify(read->front())};
  Value i = n.g.iota(dims, 0, n.element(start));
  n.out(n.g.add(n.g.mul(i, n.g.broadcastTo(delta, dims)), n.g.broadcastTo(start, dims)));
}

static void floatRange(Node &n, Value start) {
  double v[3];
  for (unsigned i = 0; i < 3; ++i) {
    std::optional<SmallVector<double>> c = constantNumbers(n.in(i));
    if (!c || c->size() != 1)
      return rangeOnData(n);
    v[i] = (*c)[0];
  }
  double count = std::ceil((v[1] - v[0]) / v[2]);
  if (v[2] == 0 || !(count < double(int64_t(1) << 40)))
    failWrong("from {0} to {1} in steps of {2}", v[0], v[1], v[2]);
  Dims dims{Expr(int64_t(std::max(0.0, count)))};
  Value i = n.g.iota(dims, 0, n.element(start));
  n.out(n.g.binary<ir::AddOp>(n.g.binary<ir::MulOp>(i, v[2]), v[0]));
}

void range(Node &n) {
  Value start = n.in(0), delta = n.in(2);
  n.requireSameElement({start, n.in(1), delta});
  for (unsigned i = 0; i < 3; ++i)
    n.requireEqual(shape::product(n.dims(n.in(i))), Expr(1), "the elements of a range's bound");
  if (n.isFloat(start))
    return floatRange(n, start);
  Expr first = n.valueScalar(0), limit = n.valueScalar(1), step = n.valueScalar(2);
  if (step.isZero())
    failWrong("the step is 0");
  bool up = n.g.facts.provablyPositive(step), down = n.g.facts.provablyLess(step, Expr(0));
  Expr divisor = step;
  if (!up && !down) {
    n.require(Expr(0), "ne", step, "the step of the range is not 0");
    divisor = step + n.axisFlag(step, 0);
  }
  Expr count = down ? Expr::ceildiv(first - limit, -step) : Expr::ceildiv(limit - first, divisor);
  count = n.simplify(Expr::max(Expr(0), n.simplify(count)));
  Dims dims{n.readsElement(count) ? n.define("count", count) : count};
  Value r = n.g.iota(dims, 0, n.element(start));
  if (!step.isOne())
    r = n.g.mul(r, n.g.broadcastTo(n.reshape(delta, {}), dims));
  if (!first.isZero())
    r = n.g.add(r, n.g.broadcastTo(n.reshape(start, {}), dims));
  n.out(r);
}

void eyeLike(Node &n) {
  Value x = n.in(0);
  n.requireRank(x, 2);
  Type element = n.hasAttribute("dtype") ? n.elementOfOnnx(n.integer("dtype", 1)) : n.element(x);
  Dims dims = n.dims(x);
  Type i64 = n.g.b.getI64Type();
  Value row = n.g.iota(dims, 0, i64), column = n.g.iota(dims, 1, i64);
  Value k = n.g.broadcastTo(n.constantInteger(n.integer("k", 0), i64), dims);
  n.out(n.g.cast(n.g.compare(CompareKind::EQ, n.g.add(row, k), column), element));
}

void oneHot(Node &n) {
  Value indices = n.in(0), values = n.in(2);
  n.requireNumber(indices);
  Expr depth = n.sizeScalarOf(n.in(1), 1);
  n.requireRank(values, 1);
  n.requireEqual(n.dim(values, 0), Expr(2), "the elements of operand 2 (off, on)");
  int64_t rank = n.rank(indices) + 1, axis = n.axis(n.integer("axis", -1), rank);
  Type i64 = n.g.b.getI64Type();
  Dims dims = n.dims(indices);
  dims.insert(dims.begin() + axis, depth);
  Value at = n.g.broadcastTo(n.g.unsqueeze(n.g.cast(indices, i64), {axis}), dims);
  // Negative indices count from the end; what is out of range matches nothing.
  Value size = n.g.broadcastTo(n.g.size(depth), dims);
  Value zero = n.g.splat(0, dims, i64);
  at = n.g.select(n.g.compare(CompareKind::LT, at, zero), n.g.add(at, size), at);
  Value hit = n.g.compare(CompareKind::EQ, at, n.g.iota(dims, axis, i64));
  auto pick = [&](int64_t i) { return n.g.broadcastTo(n.reshape(n.g.slice(values, 0, Expr(i), Expr(1)), {}), dims); };
  n.out(n.g.select(hit, pick(1), pick(0)));
}

void trilu(Node &n) {
  Value x = n.in(0);
  n.requireRankAtLeast(x, 2);
  bool upper = n.flag("upper", true);
  Dims dims = n.dims(x);
  Type i64 = n.g.b.getI64Type();
  int64_t rank = n.rank(x);
  Value row = n.g.iota(dims, rank - 2, i64), column = n.g.iota(dims, rank - 1, i64);
  if (n.has(1)) {
    n.requireEqual(shape::product(n.dims(n.in(1))), Expr(1), "the elements of operand 1 (k)");
    n.requireInteger(n.in(1));
    Value k = n.g.broadcastTo(n.reshape(n.g.cast(n.in(1), i64), {}), dims);
    row = n.g.add(row, k);
  }
  Value keep = n.g.compare(upper ? CompareKind::GE : CompareKind::LE, column, row);
  n.out(n.g.select(keep, x, n.g.splatLike(0, x)));
}

} // namespace lathe::onnx
