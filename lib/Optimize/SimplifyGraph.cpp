//===- SimplifyGraph.cpp - Identities and canonical forms ------------------===//

#include "EmptyTaps.h"
#include "Paddings.h"
#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include "lathe/Dialect/Lathe/GraphBuilder.h"
#include "lathe/Optimize/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <cmath>

namespace lathe::opt {
#define GEN_PASS_DEF_SIMPLIFYGRAPH
#include "lathe/Optimize/Passes.h.inc"
} // namespace lathe::opt

using namespace mlir;
using namespace lathe;
using namespace lathe::opt;
using namespace lathe::ir;

/// What an op may be replaced by; null for no change.
using Rewrite = Value (*)(Operation *op, OpBuilder &b);

static bool isFloat(Value v) { return isa<FloatType>(elementOf(v)); }
static bool isSplat(Value v, double value) {
  std::optional<double> s = splatValue(v);
  return s && *s == value && (value != 0 || !std::signbit(*s) || std::signbit(value));
}
static bool isMinusZero(Value v) {
  std::optional<double> s = splatValue(v);
  return s && *s == 0 && std::signbit(*s);
}
static bool isPlusZero(Value v) {
  std::optional<double> s = splatValue(v);
  return s && *s == 0 && !std::signbit(*s);
}

/// A constant like v, of one value (broadcast as v's own splat was).
static Value splatLike(OpBuilder &b, Location loc, double value, Value v) {
  shape::Facts none;
  return GraphBuilder(b, loc, none).splatLike(value, v);
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// v >= +0 or NaN, never -0: what makes pow(v, 0.5) and sqrt(v) the same.
static bool isNonNegative(Value v, unsigned depth = 0) {
  Operation *op = v.getDefiningOp();
  if (std::optional<double> s = splatValue(v))
    return *s > 0 || isPlusZero(v);
  if (!op || depth > 8)
    return false;
  auto all = [&] { return llvm::all_of(op->getOperands(), [&](Value x) { return isNonNegative(x, depth + 1); }); };
  if (isa<AbsOp, ExpOp>(op))
    return true;
  if (auto mul = dyn_cast<MulOp>(op))
    return mul.getLhs() == mul.getRhs() || all();
  if (auto r = dyn_cast<ReduceOp>(op))
    return r.getKind() == ReduceKind::Sum && all();
  return isa<AddOp, DivOp, BroadcastOp, ReshapeOp, TransposeOp>(op) && all();
}

static Value simplifyAdd(Operation *op, OpBuilder &b) {
  Value x = op->getOperand(0), y = op->getOperand(1);
  // x + (+0) is not x for x = -0.
  bool (*neutral)(Value) = isFloat(x) ? isMinusZero : isPlusZero;
  return neutral(y) ? x : neutral(x) ? y : Value();
}

static Value simplifySub(Operation *op, OpBuilder &b) { return isPlusZero(op->getOperand(1)) ? op->getOperand(0) : Value(); }

static Value simplifyMul(Operation *op, OpBuilder &b) {
  Value x = op->getOperand(0), y = op->getOperand(1);
  if (isSplat(y, 1))
    return x;
  if (isSplat(x, 1))
    return y;
  if (isFloat(x) && isSplat(y, -1))
    return b.create<NegOp>(op->getLoc(), x.getType(), x);
  return {};
}

/// Whether c and 1/c are both exact and normal in the type.
static bool hasExactReciprocal(double c, Type e) {
  int exponent;
  return std::isfinite(c) && std::fabs(std::frexp(c, &exponent)) == 0.5 && std::abs(exponent) <= (e.isF16() ? 13 : 120);
}

static Value simplifyDiv(Operation *op, OpBuilder &b) {
  Value x = op->getOperand(0), y = op->getOperand(1);
  if (isSplat(y, 1))
    return x;
  if (!isFloat(x))
    return {};
  if (std::optional<double> c = splatValue(y); c && hasExactReciprocal(*c, elementOf(x)))
    return b.create<MulOp>(op->getLoc(), x.getType(), x, splatLike(b, op->getLoc(), 1.0 / *c, x));
  if (auto root = y.getDefiningOp<SqrtOp>(); root && isSplat(x, 1))
    return b.create<RsqrtOp>(op->getLoc(), x.getType(), root.getX());
  return {};
}

static Value simplifyPow(Operation *op, OpBuilder &b) {
  Value x = op->getOperand(0);
  std::optional<double> exponent = splatValue(op->getOperand(1));
  if (!exponent)
    return {};
  auto times = [&](Value p, Value q) -> Value { return b.create<MulOp>(op->getLoc(), x.getType(), p, q); };
  if (*exponent == 1)
    return x;
  if (*exponent == 2)
    return times(x, x);
  if (*exponent == 3)
    return times(times(x, x), x);
  if (!isFloat(x) || !isNonNegative(x))
    return {};
  if (*exponent == 0.5)
    return b.create<SqrtOp>(op->getLoc(), x.getType(), x);
  if (*exponent == -0.5)
    return b.create<RsqrtOp>(op->getLoc(), x.getType(), x);
  return {};
}

/// neg of neg, not of not.
template <typename OpT> static Value simplifyInvolution(Operation *op, OpBuilder &) {
  auto inner = op->getOperand(0).getDefiningOp<OpT>();
  return inner ? inner.getX() : Value();
}

static Value simplifySelect(Operation *op, OpBuilder &b) {
  auto s = cast<SelectOp>(op);
  if (s.getLhs() == s.getRhs())
    return s.getLhs();
  if (std::optional<double> c = splatValue(s.getCondition()))
    return *c ? s.getLhs() : s.getRhs();
  if (auto inverted = s.getCondition().getDefiningOp<NotOp>())
    return b.create<SelectOp>(op->getLoc(), s.getType(), inverted.getX(), s.getRhs(), s.getLhs());
  return {};
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

/// Every value of `from` is a value of `to`.
static bool isExact(Type from, Type to) {
  auto mantissa = [](Type t) { return int(APFloat::semanticsPrecision(cast<FloatType>(t).getFloatSemantics())); };
  auto exponent = [](Type t) { return APFloat::semanticsMaxExponent(cast<FloatType>(t).getFloatSemantics()); };
  if (isa<FloatType>(from))
    return isa<FloatType>(to) && mantissa(from) <= mantissa(to) && exponent(from) <= exponent(to);
  int bits = int(from.getIntOrFloatBitWidth()), toBits = int(to.getIntOrFloatBitWidth());
  if (isa<FloatType>(to))
    return bits - (isUnsignedElement(from) ? 0 : 1) <= mantissa(to);
  if (isUnsignedElement(from) == isUnsignedElement(to))
    return bits <= toBits;
  return isUnsignedElement(from) && bits < toBits;
}

static Value simplifyCast(Operation *op, OpBuilder &b) {
  auto outer = cast<CastOp>(op);
  if (outer.getX().getType() == outer.getType())
    return outer.getX();
  auto inner = outer.getX().getDefiningOp<CastOp>();
  if (!inner)
    return {};
  Type from = elementOf(inner.getX()), middle = elementOf(inner.getResult()), to = elementOf(outer.getResult());
  if (!isNumber(from) || !isNumber(middle) || !isNumber(to) || !isExact(from, middle))
    return {};
  if (inner.getX().getType() == outer.getType())
    return inner.getX();
  // Floats saturate where integers wrap.
  bool throughFloat = isa<IntegerType>(from) && isa<FloatType>(middle) && isa<IntegerType>(to);
  if (throughFloat && !to.isInteger(1))
    return {};
  return b.create<CastOp>(op->getLoc(), outer.getType(), inner.getX());
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

static bool allZero(ArrayAttr exprs) {
  return llvm::all_of(exprsOf(exprs), [](const shape::Expr &e) { return e.isZero(); });
}

static Value simplifySlice(Operation *op, OpBuilder &) {
  auto s = cast<SliceOp>(op);
  bool whole = s.getX().getType() == s.getType() && allZero(s.getStarts()) &&
               llvm::all_of(s.getSteps(), [](int64_t step) { return step == 1; });
  return whole ? s.getX() : Value();
}

static Value simplifyConcat(Operation *op, OpBuilder &) {
  auto c = cast<ConcatOp>(op);
  return c.getInputs().size() == 1 && c.getInputs()[0].getType() == c.getType() ? c.getInputs()[0] : Value();
}

static Value simplifyPad(Operation *op, OpBuilder &b) {
  auto p = cast<PadOp>(op);
  bool isNone = p.getX().getType() == p.getType() && allZero(p.getLow()) && allZero(p.getHigh());
  return isNone ? p.getX() : joinPaddings(op, b);
}

static Value simplifyConv(Operation *op, OpBuilder &b) {
  Value taken = takePadding(op, b);
  return taken ? taken : withoutEmptyTaps(op, b);
}

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

/// The first of an order from the largest element down (of integers also up) is the first place of the extremum: two reductions, which
/// run as such wherever they are compiled for. The first of all NaNs counts as the largest. Upwards NaNs come last, which no minimum says.
static Value simplifySort(Operation *op, OpBuilder &b) {
  auto sort = cast<SortOp>(op);
  Value x = sort.getX();
  Type element = elementOf(x);
  int64_t axis = sort.getAxis();
  if (dimsOf(op->getResult(0))[axis].constant() != 1 || element.isInteger(1) || !isNumber(element) || (!sort.getDescending() && isFloat(x)))
    return {};
  shape::Facts none;
  GraphBuilder g(b, op->getLoc(), none);
  Dims dims = dimsOf(x);
  Value extremum = g.reduce(sort.getDescending() ? ReduceKind::Max : ReduceKind::Min, x, {axis}, true);
  Value hit = g.compare(CompareKind::EQ, x, g.broadcastTo(extremum, dims));
  if (isFloat(x))
    hit = g.binary<OrOp>(hit, g.compare(CompareKind::NE, x, x));
  Value nowhere = g.broadcastTo(g.size(dims[axis]), dims);
  return g.reduce(ReduceKind::Min, g.select(hit, g.iota(dims, axis, b.getI64Type()), nowhere), {axis}, true);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static const llvm::StringMap<Rewrite> &rewrites() {
  static const llvm::StringMap<Rewrite> table = {
      {"add", simplifyAdd},       {"sub", simplifySub},   {"mul", simplifyMul},
      {"div", simplifyDiv},       {"pow", simplifyPow},   {"neg", simplifyInvolution<NegOp>},
      {"not", simplifyInvolution<NotOp>}, {"select", simplifySelect}, {"cast", simplifyCast},
      {"slice", simplifySlice},   {"concat", simplifyConcat}, {"pad", simplifyPad},
      {"sort", simplifySort},     {"conv", simplifyConv}};
  return table;
}

namespace {
struct TablePattern : RewritePattern {
  explicit TablePattern(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa_and_nonnull<LatheDialect>(op->getDialect()))
      return failure();
    Rewrite rewrite = rewrites().lookup(op->getName().stripDialect());
    Value value = rewrite ? rewrite(op, rewriter) : Value();
    if (!value || value.getType() != op->getResult(0).getType())
      return failure();
    rewriter.replaceOp(op, value);
    return success();
  }
};

struct SimplifyGraphPass : opt::impl::SimplifyGraphBase<SimplifyGraphPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<TablePattern>(&getContext());
    FrozenRewritePatternSet frozen(std::move(patterns));
    GreedyRewriteConfig config;
    config.enableRegionSimplification = GreedySimplifyRegionLevel::Disabled;
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>())
      if (failed(applyPatternsAndFoldGreedily(func, frozen, config)))
        return signalPassFailure();
  }
};
} // namespace
