//===- EvaluateElementwise.cpp - Elementwise ops on constants --------------===//
//
// Tables from op name to a function on numbers. Floats are computed in double and rounded once to the element type.
//
//===----------------------------------------------------------------------===//

#include "lathe/Dialect/Lathe/Evaluate.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;

namespace {
using FloatUnary = double (*)(double);
using FloatBinary = double (*)(double, double);
using IntUnary = int64_t (*)(int64_t);
/// Operands, whether they are unsigned, and their width in bits.
using IntBinary = int64_t (*)(int64_t, int64_t, bool, unsigned);
} // namespace

static double nanOr(double x, double y, double other) { return std::isnan(x) ? x : std::isnan(y) ? y : other; }

static const llvm::StringMap<FloatUnary> &floatUnaries() {
  static const llvm::StringMap<FloatUnary> table = {
      {"neg", [](double x) { return -x; }},
      {"abs", [](double x) { return std::fabs(x); }},
      {"sign", [](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; }},
      {"exp", [](double x) { return std::exp(x); }},
      {"exp2", [](double x) { return std::exp2(x); }},
      {"expm1", [](double x) { return std::expm1(x); }},
      {"log", [](double x) { return std::log(x); }},
      {"log1p", [](double x) { return std::log1p(x); }},
      {"log2", [](double x) { return std::log2(x); }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
      {"rsqrt", [](double x) { return 1.0 / std::sqrt(x); }},
      {"sin", [](double x) { return std::sin(x); }},
      {"cos", [](double x) { return std::cos(x); }},
      {"tan", [](double x) { return std::tan(x); }},
      {"asin", [](double x) { return std::asin(x); }},
      {"acos", [](double x) { return std::acos(x); }},
      {"atan", [](double x) { return std::atan(x); }},
      {"sinh", [](double x) { return std::sinh(x); }},
      {"cosh", [](double x) { return std::cosh(x); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"asinh", [](double x) { return std::asinh(x); }},
      {"acosh", [](double x) { return std::acosh(x); }},
      {"atanh", [](double x) { return std::atanh(x); }},
      {"erf", [](double x) { return std::erf(x); }},
      {"floor", [](double x) { return std::floor(x); }},
      {"ceil", [](double x) { return std::ceil(x); }},
      {"round", [](double x) { return std::nearbyint(x); }},
      {"trunc", [](double x) { return std::trunc(x); }}};
  return table;
}

static double pythonMod(double x, double y) {
  double r = std::fmod(x, y);
  if (r == 0)
    return std::copysign(0.0, y);
  return (r < 0) != (y < 0) ? r + y : r;
}

static double pythonQuotient(double x, double y) {
  if (y == 0)
    return x / y;
  double r = std::fmod(x, y), q = (x - r) / y;
  if (std::isfinite(q))
    q = std::nearbyint(q);
  if (r != 0 && (r < 0) != (y < 0))
    q -= 1;
  return q == 0 ? std::copysign(0.0, x / y) : q;
}

static const llvm::StringMap<FloatBinary> &floatBinaries() {
  static const llvm::StringMap<FloatBinary> table = {
      {"add", [](double x, double y) { return x + y; }},
      {"sub", [](double x, double y) { return x - y; }},
      {"mul", [](double x, double y) { return x * y; }},
      {"div", [](double x, double y) { return x / y; }},
      {"floor_div", pythonQuotient},
      {"rem", [](double x, double y) { return std::fmod(x, y); }},
      {"mod", pythonMod},
      {"pow", [](double x, double y) { return std::pow(x, y); }},
      {"max", [](double x, double y) { return nanOr(x, y, x == y ? (std::signbit(x) ? y : x) : std::fmax(x, y)); }},
      {"min", [](double x, double y) { return nanOr(x, y, x == y ? (std::signbit(x) ? x : y) : std::fmin(x, y)); }},
      {"atan2", [](double x, double y) { return std::atan2(x, y); }}};
  return table;
}

//===----------------------------------------------------------------------===//
// Integers: the arithmetic is on uint64_t, so that it wraps; results are wrapped to the width by the caller.
//===----------------------------------------------------------------------===//

static int64_t divide(int64_t x, int64_t y, bool isUnsigned) {
  if (y == 0)
    return 0;
  if (isUnsigned)
    return static_cast<int64_t>(static_cast<uint64_t>(x) / static_cast<uint64_t>(y));
  return y == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(x)) : x / y;
}

static int64_t remainderOf(int64_t x, int64_t y, bool isUnsigned) {
  if (y == 0 || (!isUnsigned && y == -1))
    return 0;
  return isUnsigned ? static_cast<int64_t>(static_cast<uint64_t>(x) % static_cast<uint64_t>(y)) : x % y;
}

static bool signsDiffer(int64_t r, int64_t y) { return r != 0 && (r < 0) != (y < 0); }

static int64_t power(int64_t x, int64_t y, bool isUnsigned, unsigned) {
  if (y < 0 && !isUnsigned) // 1 / x^|y| towards zero
    return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
  uint64_t result = 1, base = static_cast<uint64_t>(x), n = static_cast<uint64_t>(y);
  for (; n; n >>= 1, base *= base)
    if (n & 1)
      result *= base;
  return static_cast<int64_t>(result);
}

static bool integerLess(int64_t x, int64_t y, bool isUnsigned) {
  return isUnsigned ? static_cast<uint64_t>(x) < static_cast<uint64_t>(y) : x < y;
}

static int64_t shiftRight(int64_t x, int64_t y, bool isUnsigned, unsigned width) {
  bool outside = static_cast<uint64_t>(y) >= width;
  if (isUnsigned)
    return outside ? 0 : static_cast<int64_t>(static_cast<uint64_t>(x) >> y);
  return x >> (outside ? width - 1 : static_cast<unsigned>(y));
}

template <typename F> static int64_t wrapping(int64_t x, int64_t y, F f) {
  return static_cast<int64_t>(f(static_cast<uint64_t>(x), static_cast<uint64_t>(y)));
}

static const llvm::StringMap<IntBinary> &intBinaries() {
  using I = int64_t;
  static const llvm::StringMap<IntBinary> table = {
      {"add", [](I x, I y, bool, unsigned) { return wrapping(x, y, std::plus<uint64_t>()); }},
      {"sub", [](I x, I y, bool, unsigned) { return wrapping(x, y, std::minus<uint64_t>()); }},
      {"mul", [](I x, I y, bool, unsigned) { return wrapping(x, y, std::multiplies<uint64_t>()); }},
      {"div", [](I x, I y, bool u, unsigned) { return divide(x, y, u); }},
      {"rem", [](I x, I y, bool u, unsigned) { return remainderOf(x, y, u); }},
      {"floor_div",
       [](I x, I y, bool u, unsigned) {
         I q = divide(x, y, u);
         return !u && y != 0 && signsDiffer(remainderOf(x, y, u), y) ? q - 1 : q;
       }},
      {"mod",
       [](I x, I y, bool u, unsigned) {
         I r = remainderOf(x, y, u);
         return !u && signsDiffer(r, y) ? r + y : r;
       }},
      {"pow", power},
      {"max", [](I x, I y, bool u, unsigned) { return integerLess(x, y, u) ? y : x; }},
      {"min", [](I x, I y, bool u, unsigned) { return integerLess(x, y, u) ? x : y; }},
      {"and", [](I x, I y, bool, unsigned) { return x & y; }},
      {"or", [](I x, I y, bool, unsigned) { return x | y; }},
      {"xor", [](I x, I y, bool, unsigned) { return x ^ y; }},
      {"shl",
       [](I x, I y, bool, unsigned width) {
         return static_cast<uint64_t>(y) >= width ? I(0) : static_cast<I>(static_cast<uint64_t>(x) << y);
       }},
      {"shr", shiftRight}};
  return table;
}

static const llvm::StringMap<IntUnary> &intUnaries() {
  static const llvm::StringMap<IntUnary> table = {
      {"neg", [](int64_t x) { return static_cast<int64_t>(0 - static_cast<uint64_t>(x)); }},
      {"abs", [](int64_t x) { return x < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(x)) : x; }},
      {"sign", [](int64_t x) { return int64_t(x > 0) - int64_t(x < 0); }},
      {"not", [](int64_t x) { return ~x; }}};
  return table;
}

//===----------------------------------------------------------------------===//
// Comparison and conversion
//===----------------------------------------------------------------------===//

static bool decide(CompareKind kind, bool less, bool equal, bool unordered) {
  switch (kind) {
  case CompareKind::EQ:
    return equal;
  case CompareKind::NE:
    return !equal;
  case CompareKind::LT:
    return less;
  case CompareKind::LE:
    return less || equal;
  case CompareKind::GT:
    return !unordered && !less && !equal;
  case CompareKind::GE:
    return !unordered && !less;
  }
  return false;
}

static ConstantTensor compareTensors(CompareOp op, const ConstantTensor &x, const ConstantTensor &y) {
  ConstantTensor out(typeOf(op.getResult()));
  bool isUnsigned = isUnsignedElement(x.type.getElementType());
  for (int64_t i = 0, n = out.size(); i < n; ++i) {
    if (x.isFloat()) {
      double a = x.floats[i], b = y.floats[i];
      out.ints[i] = decide(op.getKind(), a < b, a == b, std::isnan(a) || std::isnan(b));
    } else {
      int64_t a = x.ints[i], b = y.ints[i];
      out.ints[i] = decide(op.getKind(), integerLess(a, b, isUnsigned), a == b, false);
    }
  }
  return out;
}

static int64_t floatToInt(double x, Type to) {
  if (std::isnan(x))
    return 0;
  bool isUnsigned = isUnsignedElement(to);
  unsigned width = to.getIntOrFloatBitWidth();
  double limit = std::ldexp(1.0, isUnsigned ? width : width - 1), low = isUnsigned ? 0.0 : -limit;
  if (x >= limit)
    return isUnsigned ? wrapTo(-1, to) : static_cast<int64_t>((uint64_t(1) << (width - 1)) - 1);
  if (x < low)
    return isUnsigned ? 0 : wrapTo(static_cast<int64_t>(uint64_t(1) << (width - 1)), to);
  return isUnsigned ? static_cast<int64_t>(static_cast<uint64_t>(x)) : static_cast<int64_t>(x);
}

static double intToFloat(int64_t x, bool isUnsigned, Type to) {
  if (to.isF32()) // rounded once
    return isUnsigned ? static_cast<float>(static_cast<uint64_t>(x)) : static_cast<float>(x);
  return roundTo(isUnsigned ? static_cast<double>(static_cast<uint64_t>(x)) : static_cast<double>(x), to);
}

static ConstantTensor castTensor(CastOp op, const ConstantTensor &x) {
  ConstantTensor out(typeOf(op.getResult()));
  Type from = x.type.getElementType(), to = out.type.getElementType();
  bool isUnsigned = isUnsignedElement(from);
  if (from.isUnsignedInteger(8) && to.isF32()) { // codes of weights, of which there are many
    std::copy(x.ints.begin(), x.ints.end(), out.floats.begin());
    return out;
  }
  for (int64_t i = 0, n = out.size(); i < n; ++i) {
    if (x.isFloat() && out.isFloat())
      out.floats[i] = roundTo(x.floats[i], to);
    else if (x.isFloat())
      out.ints[i] = to.isInteger(1) ? x.floats[i] != 0 : floatToInt(x.floats[i], to);
    else if (out.isFloat())
      out.floats[i] = intToFloat(x.ints[i], isUnsigned, to);
    else
      out.ints[i] = to.isInteger(1) ? x.ints[i] != 0 : wrapTo(x.ints[i], to);
  }
  return out;
}

static const llvm::fltSemantics &semanticsOf(Type e) { return cast<FloatType>(e).getFloatSemantics(); }

static ConstantTensor bitcastTensor(BitcastOp op, const ConstantTensor &x) {
  ConstantTensor out(typeOf(op.getResult()));
  Type from = x.type.getElementType(), to = out.type.getElementType();
  for (int64_t i = 0, n = out.size(); i < n; ++i) {
    uint64_t bits = x.isFloat() ? 0 : static_cast<uint64_t>(x.ints[i]);
    bool lossy;
    if (x.isFloat()) {
      APFloat v(x.floats[i]);
      v.convert(semanticsOf(from), APFloat::rmNearestTiesToEven, &lossy);
      bits = v.bitcastToAPInt().getZExtValue();
    }
    if (!out.isFloat()) {
      out.ints[i] = wrapTo(static_cast<int64_t>(bits), to);
      continue;
    }
    unsigned width = to.getIntOrFloatBitWidth();
    APFloat v(semanticsOf(to), APInt(width, width < 64 ? bits & ((uint64_t(1) << width) - 1) : bits));
    v.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
    out.floats[i] = v.convertToDouble();
  }
  return out;
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

static std::optional<ConstantTensor> evaluateFloat(Operation *op, ArrayRef<const ConstantTensor *> in) {
  StringRef name = op->getName().stripDialect();
  ConstantTensor out(typeOf(op->getResult(0)));
  Type e = out.type.getElementType();
  FloatUnary unary = in.size() == 1 ? floatUnaries().lookup(name) : nullptr;
  FloatBinary binary = in.size() == 2 ? floatBinaries().lookup(name) : nullptr;
  if (!unary && !binary)
    return std::nullopt;
  for (int64_t i = 0, n = out.size(); i < n; ++i) {
    double v = unary ? unary(in[0]->floats[i]) : binary(in[0]->floats[i], in[1]->floats[i]);
    out.floats[i] = roundTo(v, e);
  }
  return out;
}

static std::optional<ConstantTensor> evaluateInt(Operation *op, ArrayRef<const ConstantTensor *> in) {
  StringRef name = op->getName().stripDialect();
  ConstantTensor out(typeOf(op->getResult(0)));
  Type e = out.type.getElementType();
  bool isUnsigned = isUnsignedElement(e);
  unsigned width = e.getIntOrFloatBitWidth();
  IntUnary unary = in.size() == 1 ? intUnaries().lookup(name) : nullptr;
  IntBinary binary = in.size() == 2 ? intBinaries().lookup(name) : nullptr;
  if (!unary && !binary)
    return std::nullopt;
  Wrap wrap(e);
  for (int64_t i = 0, n = out.size(); i < n; ++i) {
    int64_t x = in[0]->ints[i];
    // The sign of an unsigned number is not its top bit.
    if (unary)
      out.ints[i] = isUnsigned && name == "abs" ? x : isUnsigned && name == "sign" ? x != 0 : wrap(unary(x));
    else
      out.ints[i] = wrap(binary(x, in[1]->ints[i], isUnsigned, width));
  }
  return out;
}

bool ir::canEvaluateElementwise(Operation *op) {
  if (isa<CompareOp, SelectOp, CastOp, BitcastOp>(op))
    return true;
  StringRef name = op->getName().stripDialect();
  if (!isa<ElementwiseInterface>(op))
    return false;
  bool isFloat = isa<FloatType>(elementOf(op->getResult(0)));
  if (op->getNumOperands() == 1)
    return isFloat ? floatUnaries().count(name) : intUnaries().count(name);
  return isFloat ? floatBinaries().count(name) : intBinaries().count(name);
}

std::optional<ConstantTensor> ir::evaluateElementwise(Operation *op, ArrayRef<const ConstantTensor *> in) {
  if (auto compare = dyn_cast<CompareOp>(op))
    return compareTensors(compare, *in[0], *in[1]);
  if (auto cast = dyn_cast<CastOp>(op))
    return castTensor(cast, *in[0]);
  if (auto bitcast = dyn_cast<BitcastOp>(op))
    return bitcastTensor(bitcast, *in[0]);
  if (isa<SelectOp>(op)) {
    ConstantTensor out(typeOf(op->getResult(0)));
    for (int64_t i = 0, n = out.size(); i < n; ++i)
      out.copyFrom(in[0]->ints[i] ? *in[1] : *in[2], i, i);
    return out;
  }
  return isa<FloatType>(elementOf(op->getResult(0))) ? evaluateFloat(op, in) : evaluateInt(op, in);
}

bool ir::isCostly(Operation *op) {
  static const llvm::StringSet<> cheap = {"neg", "abs",  "sign", "floor", "ceil", "round",  "trunc", "not", "add",
                                          "sub", "mul",  "max",  "min",   "and",  "or",     "xor",   "shl", "shr",
                                          "cast", "bitcast", "compare", "select"};
  if (isa<ElementwiseInterface>(op))
    return !cheap.contains(op->getName().stripDialect());
  return isa<ReduceOp, ScanOp, CompactOp, SortOp, ContractOp, GatherOp, GatherNdOp, ScatterOp>(op);
}
