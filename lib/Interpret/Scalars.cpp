//===- Scalars.cpp - Ops of arith and math, element by element -------------===//
//
// Tables from op name to a function on numbers, after MLIR's descriptions. Floats are computed in double and rounded
// once; integers are kept sign-extended (i1 as 0 and 1). What MLIR leaves undefined is a fault.
//
//===----------------------------------------------------------------------===//

#include "Interpreter.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace lathe;
using namespace lathe::interpret;
using ir::roundTo, ir::wrapTo;
using llvm::Expected;
using I = int64_t;
using U = uint64_t;

namespace {
using FloatFn = double (*)(double, double, double);
/// Operands and the width; sets `bad` where the result is undefined.
using IntFn = I (*)(I, I, unsigned, bool &bad);
} // namespace

static double least(double x, double y) { return x == y ? (std::signbit(x) ? x : y) : std::fmin(x, y); }
static double most(double x, double y) { return x == y ? (std::signbit(x) ? y : x) : std::fmax(x, y); }
static double nanOr(double x, double y, double other) { return std::isnan(x) || std::isnan(y) ? NAN : other; }

static const llvm::StringMap<FloatFn> &floatTable() {
  static const llvm::StringMap<FloatFn> table = {
      {"arith.addf", [](double x, double y, double) { return x + y; }},
      {"arith.subf", [](double x, double y, double) { return x - y; }},
      {"arith.mulf", [](double x, double y, double) { return x * y; }},
      {"arith.divf", [](double x, double y, double) { return x / y; }},
      {"arith.remf", [](double x, double y, double) { return std::fmod(x, y); }},
      {"arith.negf", [](double x, double, double) { return -x; }},
      {"arith.maximumf", [](double x, double y, double) { return nanOr(x, y, most(x, y)); }},
      {"arith.minimumf", [](double x, double y, double) { return nanOr(x, y, least(x, y)); }},
      {"arith.maxnumf", [](double x, double y, double) { return most(x, y); }},
      {"arith.minnumf", [](double x, double y, double) { return least(x, y); }},
      {"math.absf", [](double x, double, double) { return std::fabs(x); }},
      {"math.exp", [](double x, double, double) { return std::exp(x); }},
      {"math.exp2", [](double x, double, double) { return std::exp2(x); }},
      {"math.expm1", [](double x, double, double) { return std::expm1(x); }},
      {"math.log", [](double x, double, double) { return std::log(x); }},
      {"math.log1p", [](double x, double, double) { return std::log1p(x); }},
      {"math.log2", [](double x, double, double) { return std::log2(x); }},
      {"math.log10", [](double x, double, double) { return std::log10(x); }},
      {"math.sqrt", [](double x, double, double) { return std::sqrt(x); }},
      {"math.rsqrt", [](double x, double, double) { return 1 / std::sqrt(x); }},
      {"math.cbrt", [](double x, double, double) { return std::cbrt(x); }},
      {"math.sin", [](double x, double, double) { return std::sin(x); }},
      {"math.cos", [](double x, double, double) { return std::cos(x); }},
      {"math.tan", [](double x, double, double) { return std::tan(x); }},
      {"math.asin", [](double x, double, double) { return std::asin(x); }},
      {"math.acos", [](double x, double, double) { return std::acos(x); }},
      {"math.atan", [](double x, double, double) { return std::atan(x); }},
      {"math.atan2", [](double x, double y, double) { return std::atan2(x, y); }},
      {"math.sinh", [](double x, double, double) { return std::sinh(x); }},
      {"math.cosh", [](double x, double, double) { return std::cosh(x); }},
      {"math.tanh", [](double x, double, double) { return std::tanh(x); }},
      {"math.asinh", [](double x, double, double) { return std::asinh(x); }},
      {"math.acosh", [](double x, double, double) { return std::acosh(x); }},
      {"math.atanh", [](double x, double, double) { return std::atanh(x); }},
      {"math.erf", [](double x, double, double) { return std::erf(x); }},
      {"math.floor", [](double x, double, double) { return std::floor(x); }},
      {"math.ceil", [](double x, double, double) { return std::ceil(x); }},
      {"math.round", [](double x, double, double) { return std::round(x); }},
      {"math.roundeven", [](double x, double, double) { return std::nearbyint(x); }},
      {"math.trunc", [](double x, double, double) { return std::trunc(x); }},
      {"math.powf", [](double x, double y, double) { return std::pow(x, y); }},
      {"math.copysign", [](double x, double y, double) { return std::copysign(x, y); }},
      {"math.fma", [](double x, double y, double z) { return x * y + z; }},
      {"arith.extf", [](double x, double, double) { return x; }},
      {"arith.truncf", [](double x, double, double) { return x; }}};
  return table;
}

static U bitsOf(I x, unsigned width) { return width < 64 ? U(x) & ((U(1) << width) - 1) : U(x); }

static I divide(I x, I y, unsigned width, bool &bad) {
  bad |= y == 0 || (y == -1 && x == I(0 - (U(1) << (width - 1))));
  return y == 0 ? 0 : y == -1 ? I(0 - U(x)) : x / y;
}

static I power(I x, I y, unsigned, bool &bad) {
  if (y < 0)
    return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : (bad |= x == 0, 0);
  U result = 1, base = U(x);
  for (U n = U(y); n; n >>= 1, base *= base)
    if (n & 1)
      result *= base;
  return I(result);
}

static const llvm::StringMap<IntFn> &intTable() {
  static const llvm::StringMap<IntFn> table = {
      {"arith.addi", [](I x, I y, unsigned, bool &) { return I(U(x) + U(y)); }},
      {"arith.subi", [](I x, I y, unsigned, bool &) { return I(U(x) - U(y)); }},
      {"arith.muli", [](I x, I y, unsigned, bool &) { return I(U(x) * U(y)); }},
      {"arith.divsi", divide},
      {"arith.divui",
       [](I x, I y, unsigned w, bool &bad) { return (bad |= y == 0) ? 0 : I(bitsOf(x, w) / bitsOf(y, w)); }},
      {"arith.remsi", [](I x, I y, unsigned, bool &bad) { return (bad |= y == 0) || y == -1 ? 0 : x % y; }},
      {"arith.remui",
       [](I x, I y, unsigned w, bool &bad) { return (bad |= y == 0) ? 0 : I(bitsOf(x, w) % bitsOf(y, w)); }},
      {"arith.floordivsi",
       [](I x, I y, unsigned w, bool &bad) {
         I q = divide(x, y, w, bad);
         return y != 0 && y != -1 && x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q;
       }},
      {"arith.ceildivsi",
       [](I x, I y, unsigned w, bool &bad) {
         I q = divide(x, y, w, bad);
         return y != 0 && y != -1 && x % y != 0 && (x < 0) == (y < 0) ? q + 1 : q;
       }},
      {"arith.andi", [](I x, I y, unsigned, bool &) { return x & y; }},
      {"arith.ori", [](I x, I y, unsigned, bool &) { return x | y; }},
      {"arith.xori", [](I x, I y, unsigned, bool &) { return x ^ y; }},
      {"arith.shli", [](I x, I y, unsigned w, bool &bad) { return (bad |= U(y) >= w) ? 0 : I(U(x) << y); }},
      {"arith.shrsi", [](I x, I y, unsigned w, bool &bad) { return (bad |= U(y) >= w) ? 0 : x >> y; }},
      {"arith.shrui", [](I x, I y, unsigned w, bool &bad) { return (bad |= U(y) >= w) ? 0 : I(bitsOf(x, w) >> y); }},
      {"arith.maxsi", [](I x, I y, unsigned, bool &) { return std::max(x, y); }},
      {"arith.minsi", [](I x, I y, unsigned, bool &) { return std::min(x, y); }},
      {"arith.maxui", [](I x, I y, unsigned w, bool &) { return bitsOf(x, w) < bitsOf(y, w) ? y : x; }},
      {"arith.minui", [](I x, I y, unsigned w, bool &) { return bitsOf(x, w) < bitsOf(y, w) ? x : y; }},
      {"math.absi", [](I x, I, unsigned, bool &) { return x < 0 ? I(0 - U(x)) : x; }},
      {"math.ipowi", power},
      {"math.ctpop", [](I x, I, unsigned w, bool &) { return I(llvm::popcount(bitsOf(x, w))); }},
      {"math.ctlz", [](I x, I, unsigned w, bool &) { return I(llvm::countl_zero(bitsOf(x, w))) - (64 - I(w)); }},
      {"math.cttz",
       [](I x, I, unsigned w, bool &) { return bitsOf(x, w) ? I(llvm::countr_zero(bitsOf(x, w))) : I(w); }},
      {"arith.extsi", [](I x, I, unsigned w, bool &) { return w == 1 ? -x : x; }},
      {"arith.extui", [](I x, I, unsigned w, bool &) { return I(bitsOf(x, w)); }},
      {"arith.index_cast", [](I x, I, unsigned, bool &) { return x; }},
      {"arith.trunci", [](I x, I, unsigned, bool &) { return x; }}};
  return table;
}

//===----------------------------------------------------------------------===//
// Comparisons, conversions
//===----------------------------------------------------------------------===//

static bool holds(arith::CmpIPredicate p, I x, I y, unsigned w) {
  U a = bitsOf(x, w), b = bitsOf(y, w);
  if (w == 1) // i1 is kept as 0 and 1, but signed it is 0 and -1
    x = -x, y = -y;
  switch (p) {
  case arith::CmpIPredicate::eq:
    return x == y;
  case arith::CmpIPredicate::ne:
    return x != y;
  case arith::CmpIPredicate::slt:
    return x < y;
  case arith::CmpIPredicate::sle:
    return x <= y;
  case arith::CmpIPredicate::sgt:
    return x > y;
  case arith::CmpIPredicate::sge:
    return x >= y;
  case arith::CmpIPredicate::ult:
    return a < b;
  case arith::CmpIPredicate::ule:
    return a <= b;
  case arith::CmpIPredicate::ugt:
    return a > b;
  case arith::CmpIPredicate::uge:
    return a >= b;
  }
  return false;
}

/// The bits of MLIR's predicates are those of an ordered comparison: equal, greater, less, unordered.
static bool holds(arith::CmpFPredicate p, double x, double y) {
  using P = arith::CmpFPredicate;
  bool unordered = std::isnan(x) || std::isnan(y);
  switch (p) {
  case P::AlwaysFalse:
    return false;
  case P::AlwaysTrue:
    return true;
  case P::ORD:
    return !unordered;
  case P::UNO:
    return unordered;
  case P::OEQ:
    return x == y;
  case P::ONE:
    return !unordered && x != y;
  case P::OLT:
    return x < y;
  case P::OLE:
    return x <= y;
  case P::OGT:
    return x > y;
  case P::OGE:
    return x >= y;
  case P::UEQ:
    return unordered || x == y;
  case P::UNE:
    return x != y;
  case P::ULT:
    return !(x >= y);
  case P::ULE:
    return !(x > y);
  case P::UGT:
    return !(x <= y);
  case P::UGE:
    return !(x < y);
  }
  return false;
}

/// A float whose integer part lies outside of the type has no defined result.
static I toInt(double x, unsigned width, bool isUnsigned, bool &bad) {
  double t = std::trunc(x), limit = std::ldexp(1.0, isUnsigned ? width : width - 1);
  if (std::isnan(x) || t >= limit || t < (isUnsigned ? 0 : -limit)) {
    bad = true;
    return 0;
  }
  return isUnsigned ? I(U(t)) : I(t);
}

static double toFloat(I x, unsigned width, bool isUnsigned, Type to) {
  if (!isUnsigned && width == 1)
    x = -x;
  if (to.isF32()) // rounded once
    return isUnsigned ? float(bitsOf(x, width)) : float(x);
  return roundTo(isUnsigned ? double(bitsOf(x, width)) : double(x), to);
}

static Tensor bitcast(const Tensor &x, RankedTensorType type) { return fromBytes(type, toBytes(x).data()); }

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

static void fill(Tensor &out, TypedAttr value) {
  if (auto f = dyn_cast<FloatAttr>(value)) {
    bool lossy;
    APFloat v = f.getValue();
    v.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
    std::fill(out.floats.begin(), out.floats.end(), v.convertToDouble());
  } else {
    APInt v = cast<IntegerAttr>(value).getValue();
    std::fill(out.ints.begin(), out.ints.end(), v.getBitWidth() == 1 ? I(v.getZExtValue()) : v.getSExtValue());
  }
}

/// Ops that the tables do not hold, and whether it is one of them.
static bool runOther(Operation *op, Inputs in, Tensor &out, bool &bad) {
  Type from = in.empty() ? Type() : in[0]->type.getElementType(), to = out.type.getElementType();
  unsigned w = from ? from.getIntOrFloatBitWidth() : 0;
  auto each = [&](auto f) {
    for (int64_t i = 0, n = out.size(); i < n; ++i)
      f(i);
    return true;
  };
  if (auto c = dyn_cast<arith::ConstantOp>(op))
    return fill(out, c.getValue()), true;
  if (auto c = dyn_cast<arith::CmpIOp>(op))
    return each([&](int64_t i) { out.ints[i] = holds(c.getPredicate(), in[0]->ints[i], in[1]->ints[i], w); });
  if (auto c = dyn_cast<arith::CmpFOp>(op))
    return each([&](int64_t i) { out.ints[i] = holds(c.getPredicate(), in[0]->floats[i], in[1]->floats[i]); });
  if (isa<arith::SelectOp>(op))
    return each([&](int64_t i) { out.copyFrom(in[0]->ints[i] ? *in[1] : *in[2], i, i); });
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op))
    return each([&](int64_t i) { out.floats[i] = toFloat(in[0]->ints[i], w, isa<arith::UIToFPOp>(op), to); });
  if (isa<arith::FPToSIOp, arith::FPToUIOp>(op))
    return each([&](int64_t i) {
      I v = toInt(in[0]->floats[i], to.getIntOrFloatBitWidth(), isa<arith::FPToUIOp>(op), bad);
      out.ints[i] = wrapTo(v, to);
    });
  if (isa<arith::BitcastOp>(op))
    return out = bitcast(*in[0], out.type), true;
  return false;
}

Expected<Tensor> interpret::runScalarOp(Operation *op, Inputs in, ArrayRef<int64_t> shape) {
  if (op->getNumResults() != 1)
    return bug("{0}: not an op on scalars", op->getName().getStringRef());
  Type e = op->getResult(0).getType();
  Tensor out(RankedTensorType::get(shape, isa<IndexType>(e) ? IntegerType::get(op->getContext(), 64) : e));
  StringRef name = op->getName().getStringRef();
  bool bad = false;
  if (FloatFn f = floatTable().lookup(name)) {
    for (int64_t i = 0, n = out.size(); i < n; ++i) {
      double y = in.size() > 1 ? in[1]->floats[i] : 0, z = in.size() > 2 ? in[2]->floats[i] : 0;
      out.floats[i] = roundTo(f(in[0]->floats[i], y, z), e);
    }
  } else if (IntFn f = intTable().lookup(name)) {
    unsigned width = in[0]->type.getElementType().getIntOrFloatBitWidth();
    for (int64_t i = 0, n = out.size(); i < n; ++i)
      out.ints[i] = wrapTo(f(in[0]->ints[i], in.size() > 1 ? in[1]->ints[i] : 0, width, bad), e);
  } else if (!runOther(op, in, out, bad)) {
    return bug("{0}: not known", name);
  }
  if (bad)
    return bug("{0}: an operand for which the result is undefined", name);
  return out;
}
