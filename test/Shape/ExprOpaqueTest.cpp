//===- ExprOpaqueTest.cpp - Division, modulus, minimum, maximum ------------===//

#include "ShapeTestUtils.h"

using namespace lathe::shape;

TEST(ExprOpaque, FloorDivSplitsWhatDivides) {
  EXPECT_EQ(E("floordiv(4*a + b, 4)"), E("a + floordiv(b, 4)"));
  EXPECT_EQ(E("floordiv(b*t*d, d)"), E("b*t"));
  EXPECT_EQ(E("floordiv(h*d + e, d)"), E("h + floordiv(e, d)"));
  EXPECT_EQ(E("floordiv(8*a + 5, 4)"), E("2*a + 1"));
  EXPECT_EQ(E("floordiv(2*a + 3, 4)"), E("floordiv(a + 1, 2)"));
  EXPECT_EQ(E("floordiv(d*a, 4*d)"), E("floordiv(a, 4)"));
  EXPECT_EQ(E("floordiv(floordiv(n, 4) + m, 3)"), E("floordiv(n + 4*m, 12)"));
  EXPECT_EQ(E("floordiv(a*a + 2*a*b + b*b, a + b)"), E("a + b"));
  EXPECT_NE(E("floordiv(t, 2)*2"), E("t"));
  // A divisor that is a difference is as it was written: code divides by what is positive.
  EXPECT_EQ(E("floordiv(i, n - min(n, 2))").terms()[0].atoms[0].operands[1], E("n - min(n, 2)"));
  EXPECT_EQ(E("floordiv(-i, -n - m)"), E("floordiv(i, n + m)"));
  EXPECT_EQ(E("floordiv(-7, 2)"), Expr(-4));
}

TEST(ExprOpaque, PaddingToAMultiple) {
  EXPECT_EQ(E("mod(n + mod(4 - mod(n, 4), 4), 4)"), Expr(0));
  EXPECT_EQ(E("floordiv(n + mod(-n, 4), 4)"), E("ceildiv(n, 4)"));
  EXPECT_EQ(E("floordiv(4*b + n + mod(4 - mod(n, 4), 4), 4)"), E("b + ceildiv(n, 4)"));
  EXPECT_EQ(E("floordiv(n - mod(n, 8) + 5, 4)"), E("2*floordiv(n, 8) + 1"));
}

TEST(ExprOpaque, CeilDivHasOneForm) {
  EXPECT_EQ(E("ceildiv(n, 4)"), E("floordiv(n + 3, 4)"));
  EXPECT_EQ(E("ceildiv(n, 4)").str(), "floordiv(n + 3, 4)");
  EXPECT_EQ(E("ceildiv(4*n + 1, 4)"), E("n + 1"));
}

TEST(ExprOpaque, Mod) {
  EXPECT_EQ(E("mod(4*a + b, 4)"), E("mod(b, 4)"));
  EXPECT_EQ(E("mod(b*t*d, d)"), Expr(0));
  EXPECT_EQ(E("mod(2*a + 3, 4)"), E("2*mod(a + 1, 2) + 1"));
  EXPECT_EQ(E("mod(mod(n, 12), 4)"), E("mod(n, 4)"));
  EXPECT_EQ(E("mod(d*a, d*b)"), E("d*mod(a, b)"));
  EXPECT_EQ(E("mod(-7, 4)"), Expr(1));
}

TEST(ExprOpaque, MinMax) {
  EXPECT_EQ(E("min(a + 1, a)"), E("a"));
  EXPECT_EQ(E("max(a + 1, a)"), E("a + 1"));
  EXPECT_EQ(E("min(min(c, a), min(b, a))"), E("min(a, min(b, c))"));
  EXPECT_EQ(E("max(a, a)"), E("a"));
  EXPECT_EQ(E("min(3, 4)"), Expr(3));
}

namespace {
/// An expression built twice: normalised, and as a plain number for given values.
struct Pair {
  Expr expr;
  std::optional<int64_t> value;
};
} // namespace

static int64_t floorDivide(int64_t a, int64_t b) {
  int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

/// A random tree over a, b, c; values are undefined where a divisor is 0.
static Pair randomTree(Random &random, const std::map<std::string, int64_t> &values, unsigned depth) {
  if (depth == 0 || random.in(0, 4) == 0) {
    if (random.in(0, 2) == 0) {
      int64_t c = random.in(-9, 9);
      return {Expr(c), c};
    }
    std::string name(1, static_cast<char>('a' + random.in(0, 2)));
    return {Expr::symbol(name), values.at(name)};
  }
  Pair x = randomTree(random, values, depth - 1), y = randomTree(random, values, depth - 1);
  int64_t op = random.in(0, 6);
  // The divisors of size expressions: a positive constant, a size, or a product of both.
  if (op == 3 || op == 4) {
    int64_t c = random.in(1, 6);
    y = random.in(0, 1) ? Pair{Expr(c), c} : Pair{Expr(c) * Expr::symbol("c"), c * values.at("c")};
  }
  bool defined = x.value && y.value;
  auto value = [&](auto f) { return defined ? std::optional<int64_t>(f(*x.value, *y.value)) : std::nullopt; };
  switch (op) {
  case 0:
    return {x.expr + y.expr, value([](int64_t p, int64_t q) { return p + q; })};
  case 1:
    return {x.expr - y.expr, value([](int64_t p, int64_t q) { return p - q; })};
  case 2:
    return {x.expr * y.expr, value([](int64_t p, int64_t q) { return p * q; })};
  case 3:
    return {Expr::floordiv(x.expr, y.expr), value(floorDivide)};
  case 4:
    return {Expr::mod(x.expr, y.expr), value([](int64_t p, int64_t q) { return p - q * floorDivide(p, q); })};
  case 5:
    return {Expr::min(x.expr, y.expr), value([](int64_t p, int64_t q) { return std::min(p, q); })};
  default:
    return {Expr::max(x.expr, y.expr), value([](int64_t p, int64_t q) { return std::max(p, q); })};
  }
}

TEST(ExprOpaque, NormalisingKeepsTheValue) {
  unsigned compared = 0;
  for (uint64_t seed = 1; seed <= 20000; ++seed) {
    Random random(seed);
    std::map<std::string, int64_t> values{{"a", random.in(-5, 20)}, {"b", random.in(0, 20)}, {"c", random.in(1, 7)}};
    Pair p = randomTree(random, values, 4);
    if (p.expr.isUnknown())
      continue;
    ++compared;
    ASSERT_EQ(p.expr.evaluate(values), p.value) << p.expr.str() << " seed " << seed;
    ASSERT_EQ(E(p.expr.str()), p.expr) << p.expr.str() << " seed " << seed;
  }
  EXPECT_GT(compared, 19000u);
}
