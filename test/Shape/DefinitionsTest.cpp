//===- DefinitionsTest.cpp - What a quotient, a remainder or an extreme is -===//

#include "ShapeTestUtils.h"
#include "lathe/Shape/Orders.h"

using namespace lathe::shape;

TEST(Definitions, AQuotientHasAName) {
  Facts f;
  EXPECT_TRUE(f.addEquality(E("floordiv(n, 4)"), E("m")));
  EXPECT_EQ(f.simplify(E("floordiv(n + 8, 4)*d")), E("d*m + 2*d"));
  EXPECT_TRUE(f.provablyLessEqual(E("4*m"), E("n")));
  EXPECT_TRUE(f.provablyLessEqual(E("n"), E("4*m + 3")));
  EXPECT_FALSE(f.provablyLessEqual(E("n"), E("4*m + 2")));
  EXPECT_EQ(f.simplify(E("n")), E("n"));
}

TEST(Definitions, AnEqualityWithoutAUnitCoefficientRewritesItsMultiples) {
  Facts f;
  EXPECT_TRUE(f.addEquality(E("2*m"), E("3*n")));
  EXPECT_TRUE(f.provablyEqual(E("4*k*m + 6*m*m"), E("6*k*n + 9*m*n")));
  EXPECT_TRUE(f.provablyEqual(E("floordiv(2*m, 3)"), E("n")));
  EXPECT_FALSE(f.provablyEqual(E("m"), E("n")));
}

TEST(Definitions, RulesThatShareAFactorAreCompleted) {
  Facts f;
  EXPECT_TRUE(f.addEquality(E("a*b*c"), E("4*a*d")));
  EXPECT_TRUE(f.addEquality(E("a*c"), E("2*q*q")));
  EXPECT_TRUE(f.provablyEqual(E("4*a*d"), E("2*b*q*q")));
  EXPECT_TRUE(f.provablyEqual(E("a*a*b*c"), E("2*a*b*q*q")));
  EXPECT_FALSE(f.provablyEqual(E("2*a"), E("b*q")));
}

TEST(Definitions, AFactorThatIsPositiveIsNoPartOfTheFact) {
  Facts f;
  f.setRange("a", {1, std::nullopt});
  EXPECT_TRUE(f.addEquality(E("a*b*c"), E("4*a*d")));
  EXPECT_TRUE(f.provablyEqual(E("b*c"), E("4*d")));
  EXPECT_TRUE(f.addEquality(E("z*b*b"), E("z*d*d"))); // z may be 0
  EXPECT_FALSE(f.provablyEqual(E("b*b"), E("d*d")));
}

TEST(Definitions, AQuotientThatIsKnownBoundsItsOperand) {
  Facts f;
  EXPECT_TRUE(f.addEquality(E("floordiv(n, 4)"), Expr(3)));
  EXPECT_EQ(f.bounds(E("n")).min, 12);
  EXPECT_EQ(f.bounds(E("n")).max, 15);
}

TEST(Definitions, AMaximumThatIsAnOperandIsAnOrder) {
  Facts f;
  EXPECT_TRUE(f.addEquality(E("max(a + 1, 2*b)"), E("2*b")));
  EXPECT_TRUE(f.provablyLess(E("a"), E("2*b")));
  EXPECT_FALSE(f.provablyLess(E("a + 1"), E("2*b")));
  EXPECT_EQ(f.simplify(E("max(a, 2*b)")), E("2*b"));
  EXPECT_TRUE(f.addEquality(E("max(n, 7)"), E("n")));
  EXPECT_EQ(f.bounds(E("n")).min, 7);
  EXPECT_TRUE(f.addEquality(E("min(k, 9)"), E("k")));
  EXPECT_EQ(f.bounds(E("k")).max, 9);
}

/// Whatever is claimed of random expressions is checked wherever the facts hold.
TEST(Definitions, ClaimsHoldWhereTheFactsDo) {
  const char *facts[][2] = {{"floordiv(a, 3)", "b"},     {"max(a, b)", "b"},     {"min(a, 2*b)", "a"},   {"mod(a, b)", "c"},
                            {"max(a, c) + b", "2*c"},    {"floordiv(a, b)", "2"}, {"mod(a + c, 4)", "b"}, {"max(a + 2, b*c)", "b*c"},
                            {"floordiv(a + b, 2)", "c"}, {"min(a, b) - c", "0"}};
  Random random(11);
  unsigned proven = 0, changed = 0;
  for (int round = 0; round < 200; ++round) {
    Facts f;
    for (const char *name : {"a", "b", "c"})
      f.setRange(name, {name[0] == 'b', 9});
    std::vector<std::pair<Expr, Expr>> given;
    bool possible = true;
    for (int64_t i = random.in(1, 2); i > 0; --i) {
      auto &fact = facts[random.in(0, 9)];
      given.emplace_back(E(fact[0]), E(fact[1]));
      possible &= f.addEquality(given.back().first, given.back().second);
    }
    std::vector<std::map<std::string, int64_t>> points;
    for (int64_t a = 0; a <= 9; ++a)
      for (int64_t b = 1; b <= 9; ++b)
        for (int64_t c = 0; c <= 9; ++c) {
          std::map<std::string, int64_t> at{{"a", a}, {"b", b}, {"c", c}};
          bool holds = true;
          for (auto &[left, right] : given)
            holds &= *left.evaluate(at) == *right.evaluate(at);
          if (holds)
            points.push_back(at);
        }
    ASSERT_TRUE(possible || points.empty());
    for (int i = 0; i < 40; ++i) {
      auto sum = [&] {
        Expr e(random.in(-3, 3));
        for (const char *name : {"a", "b", "c"})
          e = e + Expr(random.in(-2, 2)) * E(name);
        return e;
      };
      int64_t kind = random.in(0, 4);
      Expr a = sum(), b = random.in(0, 1) ? E("b") : Expr(random.in(2, 4));
      Expr e = kind == 0 ? Expr::floordiv(a, b) : kind == 1 ? Expr::mod(a, b) : kind == 2 ? Expr::max(a, sum()) : kind == 3 ? Expr::min(a, sum()) : a;
      Expr s = f.simplify(e);
      Range r = f.bounds(e);
      proven += r.min.has_value();
      changed += s != e;
      for (const auto &at : points) {
        int64_t v = *e.evaluate(at);
        ASSERT_EQ(s.evaluate(at), v) << given[0].first.str() << " = " << given[0].second.str() << ": " << e.str() << " became " << s.str();
        ASSERT_TRUE(!r.min || *r.min <= v) << given[0].first.str() << ": " << e.str();
        ASSERT_TRUE(!r.max || *r.max >= v) << given[0].first.str() << ": " << e.str();
      }
    }
  }
  EXPECT_GT(proven, 200u);
  EXPECT_GT(changed, 200u);
}

TEST(Orders, ABoundOfAQuotientBoundsWhatItDivides) {
  Facts f;
  EXPECT_TRUE(learnOrder(f, E("3 - (2*floordiv(n + 5, 32) - 2)")));
  EXPECT_EQ(f.bounds(E("n")).min, 91);
  EXPECT_TRUE(f.provablyLess(Expr(3), E("2*floordiv(n + 5, 32) - 2")));
  EXPECT_FALSE(f.provablyLess(Expr(4), E("2*floordiv(n + 5, 32) - 2")));
}

TEST(Orders, WhatIsNoBoundOfOneTermIsNotKept) {
  Facts f;
  EXPECT_TRUE(learnOrder(f, E("a - 2*b")));
  EXPECT_TRUE(f.provablyLessEqual(E("a"), E("2*b")));
  EXPECT_TRUE(learnOrder(f, E("min(n - m, m - n)")));
  EXPECT_TRUE(learnOrder(f, E("floordiv(n, 4) - floordiv(m, 2)")));
  EXPECT_FALSE(f.provablyLessEqual(E("floordiv(n, 4)"), E("floordiv(m, 2)")));
}

TEST(Orders, OneThatCannotBeIsAContradiction) {
  Facts f;
  f.setRange("n", {0, 8});
  EXPECT_FALSE(learnOrder(f, E("3 - floordiv(n, 4)")));
}
