//===- SymPyFunctions.cpp - The functions that sizes are made with ---------===//
//
// torch computes some sizes in double precision: x / 3, 0.5 * x. They are kept as quotients of integers, as long as rounding
// cannot tell the two apart: fractions of powers of two are exact, and for sizes below 2^32 the floor of a rounded quotient,
// or its comparison with such a fraction, is that of the quotient itself. Nothing else is computed with a rounded quotient.
//
//===----------------------------------------------------------------------===//

#include "SymPyParser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace lathe;
using namespace lathe::fx;
using shape::Expr;

namespace {

constexpr size_t maxTerms = 256;
constexpr int maxFractionBits = 20;

using Quotients = std::vector<Quotient>;
using Result = std::optional<Quotient>;

bool small(const Expr &e) { return e.terms().size() <= maxTerms; }
Result integer(const Expr &e) { return small(e) ? Result(Quotient{e}) : std::nullopt; }

/// The value is exact in double precision.
bool isExact(const Quotient &n) {
  std::optional<int64_t> bottom = n.bottom.constant();
  return bottom && *bottom > 0 && llvm::isPowerOf2_64(uint64_t(*bottom)) && *bottom <= int64_t(1) << maxFractionBits;
}

std::optional<Expr> product(const Expr &a, const Expr &b) {
  if (a.terms().size() * b.terms().size() > maxTerms)
    return std::nullopt;
  return a * b;
}

Result add(const Quotient &a, const Quotient &b) {
  if (!isExact(a) || !isExact(b))
    return std::nullopt;
  Expr bottom = *a.bottom.constant() > *b.bottom.constant() ? a.bottom : b.bottom;
  Expr top = a.top * Expr(*bottom.constant() / *a.bottom.constant()) + b.top * Expr(*bottom.constant() / *b.bottom.constant());
  return small(top) ? Result(Quotient{top, bottom}) : std::nullopt;
}

Result multiply(const Quotient &a, const Quotient &b) {
  auto top = product(a.top, b.top);
  if (!top || !isExact(a) || !isExact(b))
    return std::nullopt;
  Quotient result{*top, a.bottom * b.bottom};
  return isExact(result) ? Result(result) : std::nullopt;
}

Result extremum(const Quotient &a, const Quotient &b, Expr (*choose)(const Expr &, const Expr &)) {
  return a.isInteger() && b.isInteger() ? integer(choose(a.top, b.top)) : std::nullopt;
}
Result maximum(const Quotient &a, const Quotient &b) { return extremum(a, b, Expr::max); }
Result minimum(const Quotient &a, const Quotient &b) { return extremum(a, b, Expr::min); }

/// Folds two or more arguments from the left; one stands for itself.
template <Result (*combine)(const Quotient &, const Quotient &)> Result fold(const Quotients &args) {
  Result result = args[0];
  for (size_t i = 1; i < args.size() && result; ++i)
    result = combine(*result, args[i]);
  return result;
}

/// A function of two integers, of which the second is a divisor.
template <Expr (*function)(const Expr &, const Expr &)> Result divide(const Quotients &args) {
  if (!args[0].isInteger() || !args[1].isInteger() || args[1].top.isZero())
    return std::nullopt;
  return integer(function(args[0].top, args[1].top));
}

Result trueDivide(const Quotients &args) {
  const Quotient &a = args[0], &b = args[1];
  if (!isExact(a) || !isExact(b) || b.top.isZero())
    return std::nullopt;
  auto top = product(a.top, b.bottom), bottom = product(b.top, a.bottom);
  if (!top || !bottom)
    return std::nullopt;
  std::optional<int64_t> divisor = bottom->constant();
  return divisor && *divisor < 0 ? Quotient{-*top, -*bottom} : Quotient{*top, *bottom};
}

Result negate(const Quotients &args) { return Quotient{-args[0].top, args[0].bottom}; }
Result same(const Quotients &args) { return args[0]; }
Result floorOf(const Quotients &args) { return integer(Expr::floordiv(args[0].top, args[0].bottom)); }
Result ceilOf(const Quotients &args) { return integer(Expr::ceildiv(args[0].top, args[0].bottom)); }
Result truncate(const Quotients &args) {
  // Of what is made of sizes without subtraction, it is the floor.
  auto isPositive = [](const Expr &e) {
    return !e.hasOpaque() && llvm::all_of(e.terms(), [](const Expr::Term &t) { return t.coefficient > 0; });
  };
  if (isPositive(args[0].top) && isPositive(args[0].bottom))
    return floorOf(args);
  return integer(Expr::max(floorOf(args)->top, Expr(0)) + Expr::min(ceilOf(args)->top, Expr(0)));
}
Result absolute(const Quotients &args) {
  return args[0].isInteger() ? integer(Expr::max(args[0].top, -args[0].top)) : std::nullopt;
}

Result indexModulo(const Quotients &args) {
  auto quotient = divide<Expr::floordiv>(args);
  return quotient ? divide<Expr::mod>({*quotient, args[2]}) : std::nullopt;
}

Result power(const Quotients &args) {
  auto exponent = args[1].top.constant();
  if (!exponent || !args[1].isInteger() || *exponent < 0 || *exponent > 8)
    return std::nullopt;
  Result result = Quotient{Expr(1)};
  for (int64_t i = 0; i < *exponent && result; ++i)
    result = multiply(*result, args[0]);
  return result;
}

struct Function {
  const char *name;
  size_t fewest, most;
  Result (*apply)(const Quotients &);
};
constexpr size_t any = maxTerms;

const Function functions[] = {
    {"Abs", 1, 1, absolute},
    {"Add", 1, any, fold<add>},
    {"CeilDiv", 2, 2, divide<Expr::ceildiv>},
    {"CeilToInt", 1, 1, ceilOf},
    {"CleanDiv", 2, 2, divide<Expr::floordiv>},
    {"FloatTrueDiv", 2, 2, trueDivide},
    {"FloorDiv", 2, 2, divide<Expr::floordiv>},
    {"FloorToInt", 1, 1, floorOf},
    {"Identity", 1, 1, same},
    {"IntTrueDiv", 2, 2, trueDivide},
    {"Integer", 1, 1, same},
    {"Max", 1, any, fold<maximum>},
    {"Min", 1, any, fold<minimum>},
    {"Mod", 2, 2, divide<Expr::mod>},
    {"ModularIndexing", 3, 3, indexModulo},
    {"Mul", 1, any, fold<multiply>},
    {"Neg", 1, 1, negate},
    {"Pow", 2, 2, power},
    {"PowByNatural", 2, 2, power},
    {"PythonMod", 2, 2, divide<Expr::mod>},
    {"ToFloat", 1, 1, same},
    {"TruncToInt", 1, 1, truncate},
    {"abs", 1, 1, absolute},
    {"ceiling", 1, 1, ceilOf},
    {"floor", 1, 1, floorOf},
    {"int", 1, 1, truncate},
    {"math.ceil", 1, 1, ceilOf},
    {"math.floor", 1, 1, floorOf},
    {"math.trunc", 1, 1, truncate},
    {"max", 1, any, fold<maximum>},
    {"min", 1, any, fold<minimum>},
    {"torch.sym_float", 1, 1, same},
    {"torch.sym_int", 1, 1, truncate},
    {"torch.sym_max", 1, any, fold<maximum>},
    {"torch.sym_min", 1, any, fold<minimum>},
};

} // namespace

Result fx::applyFunction(llvm::StringRef name, const Quotients &args) {
  for (const Function &f : functions)
    if (name == f.name)
      return args.size() >= f.fewest && args.size() <= f.most ? f.apply(args) : std::nullopt;
  return std::nullopt;
}

Result fx::parseReal(llvm::StringRef text) {
  double value;
  if (text.getAsDouble(value) || !(std::fabs(value) <= double(int64_t(1) << 32)))
    return std::nullopt;
  double scaled = value * double(int64_t(1) << maxFractionBits);
  if (scaled != std::floor(scaled))
    return std::nullopt;
  Quotient result{Expr(int64_t(scaled)), Expr(int64_t(1) << maxFractionBits)};
  while (!result.bottom.isOne() && *result.top.constant() % 2 == 0)
    result = {Expr(*result.top.constant() / 2), Expr(*result.bottom.constant() / 2)};
  return result;
}

std::optional<Condition> fx::compareQuotients(Condition::Kind kind, const Quotient &left, const Quotient &right) {
  bool isFraction = isExact(left) && isExact(right);
  bool isRounded = (isExact(left) && left.top.constant()) || (isExact(right) && right.top.constant());
  auto a = product(left.top, right.bottom), b = product(right.top, left.bottom);
  if (!(isFraction || isRounded) || !a || !b || a->isUnknown() || b->isUnknown())
    return std::nullopt;
  Condition result = Condition::compare(kind, *a, *b);
  std::vector<Condition> all;
  for (const Quotient *n : {&left, &right})
    if (!n->bottom.constant()) // of a negative one, the order would turn round
      all.push_back(Condition::compare(Condition::Kind::Less, Expr(0), n->bottom));
  if (all.empty())
    return result;
  all.push_back(result);
  return Condition::all(std::move(all));
}
