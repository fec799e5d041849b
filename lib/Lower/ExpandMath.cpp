//===- ExpandMath.cpp - Math functions as arithmetic -----------------------===//

#include "lathe/Lower/ExpandMath.h"
#include "FloatBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include <functional>
#include <optional>

using namespace mlir;
using namespace lathe::lower;

namespace {
using Function = Fl (*)(ArrayRef<Fl>);
struct Expansion {
  const char *op;
  Function function;
  bool throughDouble; ///< f32 is computed in f64
};
} // namespace

template <Fl (*fn)(Fl)> static Fl unary(ArrayRef<Fl> x) { return fn(x[0]); }
template <Fl (*fn)(Fl, Fl)> static Fl binary(ArrayRef<Fl> x) { return fn(x[0], x[1]); }
static Fl log2Of(Fl x) { return x.f->isDouble() ? logOf(x) * 1.4426950408889634 : log2Single(x); }
static Fl log10Of(Fl x) { return logOf(x) * 0.43429448190325183; }
static Fl rsqrtOf(Fl x) { return 1.0 / x.f->sqrt(x); }

/// The larger (smaller) one, NaN when one is: a NaN in y takes the place of x, and the comparison with its selection is one instruction,
/// which gives the second operand when one is NaN. (Two selections of y would be joined, and no such instruction be seen.)
static Fl maximumOf(Fl x, Fl y) {
  Fl kept = x.f->select(x.f->isNan(y), y, x);
  return x.f->select(y > kept, y, kept);
}
static Fl minimumOf(Fl x, Fl y) {
  Fl kept = x.f->select(x.f->isNan(y), y, x);
  return x.f->select(y < kept, y, kept);
}

/// A first guess by logarithms and one Newton step.
static Fl cbrtOf(Fl x) {
  FloatBuilder &f = *x.f;
  Fl a = f.abs(x), r = expOf(logOf(a) * 0.33333333333333331);
  Fl better = r - (r * r * r - a) / (r * r * 3.0);
  return f.copySign(f.select((a == 0.0) | (a == f.inf()), a, better), x);
}

static const Expansion expansions[] = {
    {"math.exp", unary<expOf>, false},     {"math.exp2", unary<exp2Of>, false},   {"math.expm1", unary<expm1Of>, false},
    {"math.log", unary<logOf>, false},     {"math.log1p", unary<log1pOf>, false}, {"math.tanh", unary<tanhOf>, false},
    {"math.erf", unary<erfOf>, false},     {"math.rsqrt", unary<rsqrtOf>, false}, {"math.log2", unary<log2Of>, false},
    {"math.log10", unary<log10Of>, true},  {"math.sinh", unary<sinhOf>, false},    {"math.cosh", unary<coshOf>, false},
    {"math.asinh", unary<asinhOf>, false},  {"math.acosh", unary<acoshOf>, false},  {"math.atanh", unary<atanhOf>, false},
    {"math.sin", unary<sinOf>, true},      {"math.cos", unary<cosOf>, true},      {"math.tan", unary<tanOf>, true},
    {"math.asin", unary<asinOf>, false},    {"math.acos", unary<acosOf>, false},    {"math.atan", unary<atanOf>, false},
    {"math.atan2", binary<atan2Of>, false}, {"math.powf", binary<powOf>, false},    {"math.cbrt", unary<cbrtOf>, true},
    {"math.round", unary<roundOf>, false}, {"arith.remf", binary<remOf>, false},
    {"arith.maximumf", binary<maximumOf>, false}, {"arith.minimumf", binary<minimumOf>, false},
};
/// Where rounding is no instruction.
static const Expansion roundings[] = {
    {"math.floor", unary<floorOf>, false},
    {"math.ceil", unary<ceilOf>, false},
    {"math.trunc", unary<truncOf>, false},
    {"math.roundeven", unary<roundEvenOf>, false},
};

static bool isExpandable(Type t) {
  Type e = getElementTypeOrSelf(t);
  return e.isF32() || e.isF64();
}

static Value apply(OpBuilder &b, Operation *op, const Expansion &x, const ExpandMathOptions &options) {
  Type type = op->getResult(0).getType();
  bool widen = x.throughDouble && getElementTypeOrSelf(type).isF32();
  Type wide = type;
  if (widen)
    wide = isa<VectorType>(type) ? Type(VectorType::get(cast<VectorType>(type).getShape(), b.getF64Type()))
                                 : Type(b.getF64Type());
  FloatBuilder f(b, op->getLoc(), wide, options);
  SmallVector<Fl> operands;
  for (Value v : op->getOperands())
    operands.push_back(f.of(widen ? b.create<arith::ExtFOp>(op->getLoc(), wide, v).getResult() : v));
  Value v = x.function(operands).v;
  return widen ? b.create<arith::TruncFOp>(op->getLoc(), type, v).getResult() : v;
}

/// What a vector has in all lanes, or a scalar; null where lanes differ.
static Value lanesOf(Value v) {
  if (auto splat = v.getDefiningOp<vector::SplatOp>())
    return splat.getInput();
  if (auto broadcast = v.getDefiningOp<vector::BroadcastOp>(); broadcast && !isa<VectorType>(broadcast.getSourceType()))
    return broadcast.getSource();
  return {};
}

static std::optional<double> constantOf(Value v) {
  Attribute attr;
  if (Value scalar = lanesOf(v))
    return constantOf(scalar);
  if (!matchPattern(v, m_Constant(&attr)))
    return std::nullopt;
  if (auto dense = dyn_cast<DenseElementsAttr>(attr); dense && dense.isSplat() && isa<FloatType>(dense.getElementType()))
    return dense.getSplatValue<APFloat>().convertToDouble();
  if (auto scalar = dyn_cast<FloatAttr>(attr))
    return scalar.getValueAsDouble();
  return std::nullopt;
}

/// Whether all lanes of a vector are the same: one scalar's, or that of a half type widened.
static bool isUniform(Value v) {
  if (auto wide = v.getDefiningOp<arith::ExtFOp>())
    return isUniform(wide.getIn());
  return lanesOf(v) != nullptr;
}

/// With one exponent for all lanes, which a run knows: it is asked whether that is one of those that are simple, by a branch that every vector
/// takes alike.
static Value powerByExponent(OpBuilder &b, math::PowFOp op, const ExpandMathOptions &options) {
  auto type = dyn_cast<VectorType>(op.getType());
  if (!type || !isUniform(op.getRhs()))
    return {};
  Location loc = op.getLoc();
  FloatBuilder f(b, loc, type, options);
  FloatBuilder one(b, loc, type.getElementType(), options);
  Fl x = f.of(op.getLhs());
  Fl y = one.of(b.create<vector::ExtractOp>(loc, op.getRhs(), ArrayRef<int64_t>{0}));
  static const double simple[] = {2.0, 0.5, 3.0, -1.0, 1.0};
  Fl any;
  for (double e : simple)
    any = any.v ? any | (y == e) : y == e;
  std::function<Value(ArrayRef<double>)> choose = [&](ArrayRef<double> exponents) -> Value {
    if (exponents.size() == 1)
      return simplePower(x, exponents[0]).v;
    auto branch = b.create<scf::IfOp>(loc, TypeRange{type}, (y == exponents[0]).v, true, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    b.create<scf::YieldOp>(loc, simplePower(x, exponents[0]).v);
    b.setInsertionPointToStart(branch.elseBlock());
    b.create<scf::YieldOp>(loc, choose(exponents.drop_front()));
    return branch.getResult(0);
  };
  auto branch = b.create<scf::IfOp>(loc, TypeRange{type}, any.v, true, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  b.create<scf::YieldOp>(loc, choose(simple));
  b.setInsertionPointToStart(branch.elseBlock());
  b.create<scf::YieldOp>(loc, powOf(x, f.of(op.getRhs())).v);
  return branch.getResult(0);
}

/// Powers with an exponent that is a constant, or at least one for all lanes.
static Value powerOfOne(OpBuilder &b, math::PowFOp op, const ExpandMathOptions &options) {
  std::optional<double> exponent = constantOf(op.getRhs());
  if (!exponent)
    return powerByExponent(b, op, options);
  FloatBuilder f(b, op.getLoc(), op.getType(), options);
  return simplePower(f.of(op.getLhs()), *exponent).v;
}

/// Integer powers by squaring. A negative exponent gives 0 but for bases 1 and -1; exponents count modulo 64 bits' worth of
/// squarings: what overflows wraps around.
static Value integerPower(OpBuilder &b, math::IPowIOp op) {
  Location loc = op.getLoc();
  Type type = op.getType();
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  auto constant = [&](int64_t v) -> Value {
    Attribute a = b.getIntegerAttr(getElementTypeOrSelf(type), v);
    if (auto vector = dyn_cast<VectorType>(type))
      a = DenseElementsAttr::get(vector, a);
    return b.create<arith::ConstantOp>(loc, cast<TypedAttr>(a));
  };
  auto compare = [&](arith::CmpIPredicate p, Value x, int64_t y) -> Value {
    return b.create<arith::CmpIOp>(loc, p, x, constant(y));
  };
  auto select = [&](Value c, Value x, Value y) -> Value { return b.create<arith::SelectOp>(loc, c, x, y); };
  Value base = op.getLhs(), exponent = op.getRhs(), result = constant(1), square = base;
  // An even base is 0 after as many squarings as it has bits; odd ones repeat with a period that divides 2^width.
  for (unsigned bit = 0; bit < width; ++bit) {
    Value mask = constant(static_cast<int64_t>(uint64_t(1) << bit));
    Value isSet = compare(arith::CmpIPredicate::ne, b.create<arith::AndIOp>(loc, exponent, mask), 0);
    result = select(isSet, b.create<arith::MulIOp>(loc, result, square), result);
    square = b.create<arith::MulIOp>(loc, square, square);
  }
  Value isOdd = compare(arith::CmpIPredicate::ne, b.create<arith::AndIOp>(loc, exponent, constant(1)), 0);
  Value inverse = select(compare(arith::CmpIPredicate::eq, base, -1), select(isOdd, constant(-1), constant(1)),
                         select(compare(arith::CmpIPredicate::eq, base, 1), constant(1), constant(0)));
  return select(compare(arith::CmpIPredicate::slt, exponent, 0), inverse, result);
}

/// The quotient (or remainder) of vectors of integers by way of floats with more digits than both, rounded towards zero: exact, since a
/// quotient of n bits that is no whole number is farther from the next one than a rounding. There is no such instruction for integers, and
/// their lanes would be divided one by one. The divisor is not zero, nor the quotient too large: the kernel's body sees to it.
static Value vectorQuotient(OpBuilder &b, Operation *op) {
  auto type = dyn_cast<VectorType>(op->getResult(0).getType());
  bool isSigned = isa<arith::DivSIOp, arith::RemSIOp>(op);
  unsigned width = type ? type.getElementTypeBitWidth() : 64;
  if (width > 32 || (!isSigned && width == 32) || matchPattern(op->getOperand(1), m_Constant()))
    return {};
  Location loc = op->getLoc();
  auto of = [&](Type element) { return VectorType::get(type.getShape(), element); };
  Type i32 = of(b.getI32Type()), real = of(width == 32 ? Type(b.getF64Type()) : Type(b.getF32Type()));
  auto converted = [&](Value x) -> Value {
    if (width < 32)
      x = isSigned ? b.create<arith::ExtSIOp>(loc, i32, x).getResult() : b.create<arith::ExtUIOp>(loc, i32, x).getResult();
    return b.create<arith::SIToFPOp>(loc, real, x);
  };
  Value x = op->getOperand(0), y = op->getOperand(1);
  Value q = b.create<arith::FPToSIOp>(loc, i32, b.create<arith::DivFOp>(loc, converted(x), converted(y)));
  if (width < 32)
    q = b.create<arith::TruncIOp>(loc, type, q);
  if (isa<arith::DivSIOp, arith::DivUIOp>(op))
    return q;
  return b.create<arith::SubIOp>(loc, x, b.create<arith::MulIOp>(loc, q, y));
}

/// As in 1 / (1 + exp(-x)).
static bool isAddedToOne(Operation *op) {
  auto sum = op->hasOneUse() ? dyn_cast<arith::AddFOp>(*op->user_begin()) : arith::AddFOp();
  return sum && llvm::any_of(sum->getOperands(), [](Value v) { return constantOf(v) == 1.0; });
}

/// x * (1 / (1 + exp(-x))), as a SiLU is written, is a quotient: a step less, and a rounding. The divisor is at least 1, so neither form has an
/// infinity that the other has not.
static Value sigmoidQuotient(OpBuilder &b, Operation *op) {
  for (unsigned side = 0; side < 2; ++side) {
    auto quotient = op->getOperand(side).getDefiningOp<arith::DivFOp>();
    auto sum = quotient && quotient->hasOneUse() && constantOf(quotient.getLhs()) == 1.0 ? quotient.getRhs().getDefiningOp<arith::AddFOp>() : arith::AddFOp();
    if (sum && llvm::any_of(sum->getOperands(), [](Value v) { return v.getDefiningOp<math::ExpOp>() && isAddedToOne(v.getDefiningOp()); }))
      return b.create<arith::DivFOp>(op->getLoc(), op->getOperand(1 - side), quotient.getRhs());
  }
  return {};
}

namespace {
/// An expansion for operands or uses of which more is known.
struct Special {
  Expansion expansion;
  bool (*applies)(Operation *);
};
} // namespace

static const Special specials[] = {
    {{"math.exp", unary<expUpToOne>, false}, [](Operation *op) { return op->hasAttr(expUpToOneName); }},
    {{"math.exp", unary<expBesideOne>, false}, isAddedToOne},
    {{"math.sin", unary<sinOfHalf>, false}, [](Operation *op) { return op->hasAttr(ofHalfName); }},
    {{"math.cos", unary<cosOfHalf>, false}, [](Operation *op) { return op->hasAttr(ofHalfName); }},
};

/// Vectors of floats to integers of 64 bits, where lanes would be converted one by one: by way of 32 bits while all of them fit there.
static Value vectorToLongs(OpBuilder &b, arith::FPToSIOp op, const ExpandMathOptions &options) {
  auto type = dyn_cast<VectorType>(op.getType());
  if (options.hasLongs || !type || !type.getElementType().isInteger(64) || !isExpandable(op.getIn().getType()))
    return {};
  Location loc = op.getLoc();
  FloatBuilder f(b, loc, op.getIn().getType(), options);
  Fl x = f.of(op.getIn());
  Value large = f.any(f.compare(arith::CmpFPredicate::UGE, f.abs(x), f.c(0x1p31)));
  large = b.create<LLVM::ExpectOp>(loc, large, b.create<arith::ConstantOp>(loc, b.getBoolAttr(false)));
  auto branch = b.create<scf::IfOp>(loc, TypeRange{type}, large, true, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  auto each = b.create<arith::FPToSIOp>(loc, type, x.v);
  b.create<scf::YieldOp>(loc, each.getResult());
  b.setInsertionPointToStart(branch.elseBlock());
  Value narrow = b.create<arith::FPToSIOp>(loc, f.shaped(b.getI32Type()), x.v);
  b.create<scf::YieldOp>(loc, b.create<arith::ExtSIOp>(loc, type, narrow).getResult());
  return branch.getResult(0);
}

static const Expansion *expansionOf(Operation *op, const ExpandMathOptions &options) {
  for (const Special &s : specials)
    if (op->getName().getStringRef() == s.expansion.op && s.applies(op))
      return &s.expansion;
  StringRef name = op->getName().getStringRef();
  for (const Expansion &x : expansions)
    if (name == x.op)
      return &x;
  for (const Expansion &x : roundings)
    if (!options.hasRounding && name == x.op)
      return &x;
  return nullptr;
}

static Value expand(OpBuilder &b, Operation *op, const ExpandMathOptions &options) {
  if (auto power = dyn_cast<math::IPowIOp>(op))
    return integerPower(b, power);
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op))
    return vectorQuotient(b, op);
  if (auto conversion = dyn_cast<arith::FPToSIOp>(op))
    return vectorToLongs(b, conversion, options);
  if (op->getNumResults() != 1 || !isExpandable(op->getResult(0).getType()))
    return {};
  if (auto power = dyn_cast<math::PowFOp>(op))
    if (Value v = powerOfOne(b, power, options))
      return v;
  if (auto power = dyn_cast<math::FPowIOp>(op)) {
    Value y = b.create<arith::SIToFPOp>(op->getLoc(), op->getResult(0).getType(), power.getRhs());
    op = b.create<math::PowFOp>(op->getLoc(), power.getLhs(), y);
    b.setInsertionPointAfter(op);
    Value v = expand(b, op, options);
    op->erase();
    return v;
  }
  if (auto fma = dyn_cast<math::FmaOp>(op); fma && !options.hasFma)
    return b.create<arith::AddFOp>(op->getLoc(), b.create<arith::MulFOp>(op->getLoc(), fma.getA(), fma.getB()), fma.getC());
  const Expansion *x = expansionOf(op, options);
  return x ? apply(b, op, *x, options) : Value();
}

/// Replaces what `expansion` has a value for.
static void replaceAll(ArrayRef<Operation *> ops, llvm::function_ref<Value(OpBuilder &, Operation *)> expansion) {
  for (Operation *op : ops) {
    OpBuilder b(op);
    if (Value v = expansion(b, op)) {
      op->getResult(0).replaceAllUsesWith(v);
      op->erase();
    }
  }
}

void lathe::lower::expandMath(Operation *root, const ExpandMathOptions &options) {
  SmallVector<Operation *> ops, products;
  root->walk([&](arith::MulFOp op) { products.push_back(op); });
  replaceAll(products, sigmoidQuotient);
  root->walk([&](Operation *op) {
    if (isa_and_nonnull<math::MathDialect>(op->getDialect()) || isa<arith::RemFOp, arith::MaximumFOp, arith::MinimumFOp, arith::FPToSIOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op))
      ops.push_back(op);
  });
  replaceAll(ops, [&](OpBuilder &b, Operation *op) { return expand(b, op, options); });
}

void lathe::lower::expandIntegerPowers(Operation *root) {
  SmallVector<Operation *> ops;
  root->walk([&](math::IPowIOp op) { ops.push_back(op); });
  replaceAll(ops, [](OpBuilder &b, Operation *op) { return integerPower(b, cast<math::IPowIOp>(op)); });
}
