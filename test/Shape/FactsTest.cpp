//===- FactsTest.cpp - Simplification and proofs from facts ----------------===//

#include "ShapeTestUtils.h"

using namespace lathe::shape;

/// Axes h, d and p over symbolic extents.
static Facts axes() {
  Facts f;
  f.setAxis("h", E("H"));
  f.setAxis("d", E("D"));
  f.setAxis("p", Expr(4));
  f.setAxis("q", E("P"));
  return f;
}

TEST(Facts, AxesResolveDivision) {
  Facts f = axes();
  EXPECT_EQ(f.simplify(E("floordiv(h*D + d, D)")), E("h"));
  EXPECT_EQ(f.simplify(E("mod(h*D + d, D)")), E("d"));
  EXPECT_EQ(f.simplify(E("floordiv(D*(4*h + p) + d, 4*D)")), E("h"));
  EXPECT_EQ(f.simplify(E("mod(D*(4*h + p) + d, 4*D)")), E("D*p + d"));
  EXPECT_EQ(f.simplify(E("mod(floordiv(D*(4*h + p) + d, D), 4)")), E("p"));
  EXPECT_EQ(f.simplify(E("floordiv(D*(P*h + q) + d, D*P)")), E("h"));
  EXPECT_EQ(f.simplify(E("mod(D*(P*h + q) + d, D*P)")), E("D*q + d"));
  EXPECT_EQ(f.simplify(E("floordiv(h, H)")), Expr(0));
  EXPECT_EQ(f.simplify(E("mod(p, 8)")), E("p"));
  EXPECT_EQ(f.simplify(E("mod(p, 3)")), E("mod(p, 3)"));
  EXPECT_EQ(f.simplify(E("floordiv(D*h - 1, D)")), E("h - 1"));
}

TEST(Facts, ACommonFactorIsTakenOut) {
  Facts f;
  f.setAxis("d", Expr(64));
  f.setAxis("e", E("E"));
  EXPECT_EQ(f.simplify(E("floordiv(64*n + d, 768)")), E("floordiv(n, 12)"));
  EXPECT_EQ(f.simplify(E("mod(64*n + d, 768)")), E("64*mod(n, 12) + d"));
  EXPECT_EQ(f.simplify(E("floordiv(E*n + e, 4*E)")), E("floordiv(n, 4)"));
}

TEST(Facts, MinMaxByOrder) {
  Facts f = axes();
  EXPECT_EQ(f.simplify(E("min(d, D)")), E("d"));
  EXPECT_EQ(f.simplify(E("max(d, D - 1)")), E("D - 1"));
  EXPECT_EQ(f.simplify(E("max(p, 0)")), E("p"));
  EXPECT_EQ(f.simplify(E("min(p, d)")), E("min(d, p)"));
}

TEST(Facts, OrderOfPolynomials) {
  Facts f = axes();
  EXPECT_TRUE(f.provablyLess(E("D*q + d"), E("D*P")));
  EXPECT_FALSE(f.provablyLess(E("D*q + d + 1"), E("D*P")));
  EXPECT_TRUE(f.provablyLessEqual(E("D*q + d + 1"), E("D*P")));
  EXPECT_TRUE(f.provablyLess(E("D*(P*h + q) + d"), E("D*H*P")));
  EXPECT_TRUE(f.provablyLess(E("p"), E("4")));
  EXPECT_FALSE(f.provablyLess(E("p"), E("3")));
  EXPECT_FALSE(f.provablyPositive(E("n")));
  EXPECT_TRUE(f.provablyPositive(E("n + 1")));
  f.setRange("B", {1, std::nullopt});
  EXPECT_TRUE(f.provablyLessEqual(E("T"), E("B*T")));
  EXPECT_FALSE(f.provablyLessEqual(E("T"), E("C*T")));
  EXPECT_TRUE(f.provablyLess(E("mod(n, 4)"), E("4")));
  EXPECT_TRUE(f.provablyLessEqual(E("4*floordiv(n, 4)"), E("n")));
  EXPECT_TRUE(f.provablyLess(E("n"), E("4*floordiv(n, 4) + 4")));
  EXPECT_FALSE(f.provablyLess(E("n"), E("4*floordiv(n, 4) + 3")));
  EXPECT_TRUE(f.provablyLessEqual(E("min(a, b)"), E("a + b")));
}

TEST(Facts, IndirectIndicesHaveNoRange) {
  Facts f;
  EXPECT_FALSE(f.provablyLessEqual(Expr(0), E("$0")));
  f.setRange("$0", {0, 9});
  EXPECT_TRUE(f.provablyLess(E("$0"), Expr(10)));
}

TEST(Facts, RangesAndBounds) {
  Facts f;
  f.setRange("B", {1, 8});
  f.setRange("T", {16, 512});
  Range r = f.bounds(E("B*T - 1"));
  EXPECT_EQ(r.min, 15);
  EXPECT_EQ(r.max, 4095);
  r = f.bounds(E("floordiv(T, B)"));
  EXPECT_EQ(r.min, 2);
  EXPECT_EQ(r.max, 512);
  r = f.bounds(E("B*n"));
  EXPECT_EQ(r.min, 0);
  EXPECT_FALSE(r.max);
  f.setAxis("d", E("T"));
  EXPECT_EQ(f.bounds(E("d")).max, 511);
  EXPECT_EQ(f.bounds(E("T - 1 - d")).min, 0);
  f.setRange("F", {12, 12});
  EXPECT_EQ(f.simplify(E("F*n")), E("12*n"));
}

TEST(Facts, EqualitySolvesForASymbol) {
  Facts f;
  EXPECT_TRUE(f.addEquality(E("T"), E("P + S")));
  EXPECT_EQ(f.simplify(E("2*T*d")), E("2*P*d + 2*S*d"));
  EXPECT_TRUE(f.provablyEqual(E("T - P"), E("S")));
  f.setAxis("t", E("T"));
  EXPECT_EQ(f.simplify(E("floordiv(h*T + t, T)")), E("h"));
  EXPECT_EQ(f.simplify(E("mod(h*T + t, T)")), E("t"));
  EXPECT_TRUE(f.addEquality(E("T"), E("P + S")));
  EXPECT_FALSE(f.addEquality(E("T"), E("P + S + 1")));
  EXPECT_TRUE(f.provablyLessEqual(E("P"), E("T")));
}

TEST(Facts, EqualitiesChain) {
  Facts f;
  f.setRange("N", {0, 100});
  EXPECT_TRUE(f.addEquality(E("N"), E("B*T")));
  EXPECT_TRUE(f.addEquality(E("T"), E("P + S")));
  EXPECT_EQ(f.simplify(E("N")), E("B*P + B*S"));
  EXPECT_TRUE(f.provablyLessEqual(E("B*P + B*S"), Expr(100)));
  EXPECT_TRUE(f.provablyLess(E("B*P + B*S - 1"), Expr(100)));
  EXPECT_FALSE(f.provablyLess(E("B*P + B*S"), Expr(100)));
  EXPECT_FALSE(f.addEquality(E("P"), E("P + 1")));
  EXPECT_TRUE(f.addEquality(E("2*P"), E("2*Q")));
  EXPECT_TRUE(f.provablyEqual(E("P"), E("Q")));
  EXPECT_FALSE(f.addEquality(E("2*P"), E("2*S + 1")));
}

TEST(Facts, ProductEqualityRewrites) {
  Facts f;
  EXPECT_TRUE(f.addEquality(E("H*D"), Expr(768)));
  EXPECT_EQ(f.simplify(E("B*D*H")), E("768*B"));
  EXPECT_TRUE(f.provablyEqual(E("B*D*H"), E("768*B")));
}

TEST(Facts, Divides) {
  Facts f;
  f.setRange("C", {4, 64});
  f.addDivides(Expr(4), E("C"));
  EXPECT_TRUE(f.provablyEqual(E("floordiv(C, 4)*4"), E("C")));
  EXPECT_TRUE(f.provablyDivides(Expr(4), E("C*B")));
  EXPECT_TRUE(f.provablyDivides(Expr(2), E("C")));
  EXPECT_FALSE(f.provablyDivides(Expr(8), E("C")));
  ASSERT_EQ(f.derived().size(), 1u);
  EXPECT_EQ(f.derived()[0].first, "C.div.4");
  EXPECT_EQ(f.derived()[0].second, E("floordiv(C, 4)"));
  EXPECT_EQ(f.rangeOf("C.div.4").min, 1);
  EXPECT_EQ(f.rangeOf("C.div.4").max, 16);
}

TEST(Facts, SymbolicDivisor) {
  Facts f;
  f.addDivides(E("Hkv"), E("H"));
  ASSERT_EQ(f.derived().size(), 1u);
  Expr q = Expr::symbol(f.derived()[0].first);
  EXPECT_EQ(f.simplify(E("floordiv(H, Hkv)")), q);
  EXPECT_EQ(f.simplify(E("H")), E("Hkv") * q);
  EXPECT_TRUE(f.provablyDivides(E("Hkv"), E("H*D")));
  // Heads in groups: head g*q + r belongs to group g.
  f.setAxis("g", E("Hkv"));
  f.setAxis("r", q);
  EXPECT_EQ(f.simplify(Expr::floordiv(E("g") * q + E("r"), E("floordiv(H, Hkv)"))), E("g"));
  f.addDivides(E("Hkv"), E("H"));
  EXPECT_EQ(f.derived().size(), 1u);
}

TEST(Facts, ModAndFloorDivAgree) {
  Facts f;
  EXPECT_TRUE(f.provablyEqual(E("mod(n, k)"), E("n - k*floordiv(n, k)")));
  EXPECT_TRUE(f.provablyEqual(E("mod(n, 4) + 4*floordiv(n, 4)"), E("n")));
  EXPECT_FALSE(f.provablyEqual(E("4*floordiv(n, 4)"), E("n")));
}

TEST(Facts, NothingFollowsFromOverflow) {
  Facts f;
  Expr u = Expr::unknown();
  EXPECT_FALSE(f.provablyEqual(u, u));
  EXPECT_FALSE(f.provablyLessEqual(u, u));
  EXPECT_FALSE(f.provablyDivides(u, u));
  EXPECT_TRUE(f.addEquality(u, E("n")));
  EXPECT_FALSE(f.bounds(u).min);
  EXPECT_FALSE(f.bounds(E("9223372036854775807*n")).max);
}

TEST(Facts, LongEqualitiesWithACommonFactor) {
  Facts facts;
  Expr sum(0);
  for (int i = 0; i < 200; ++i)
    sum = sum + Expr(4) * Expr::min(Expr(300), Expr::size("n" + std::to_string(i)));
  EXPECT_TRUE(facts.addEquality(Expr(4) * Expr::size("m"), sum));
  EXPECT_TRUE(facts.provablyLessEqual(Expr(0), Expr::size("m")));
}

TEST(Facts, CloneIsIndependent) {
  Facts f;
  Facts g = f.clone();
  g.setAxis("d", Expr(4));
  EXPECT_TRUE(g.provablyLess(E("d"), Expr(4)));
  EXPECT_FALSE(f.provablyLess(E("d"), Expr(4)));
}

/// Every claim about random expressions is checked at every point of small ranges.
TEST(Facts, ClaimsHoldAtEveryPoint) {
  Facts f;
  f.setRange("D", {1, 3});
  f.setRange("P", {1, 3});
  f.setAxis("d", E("D"));
  f.setAxis("p", E("P"));
  f.setRange("n", {0, 5});
  std::vector<std::map<std::string, int64_t>> points;
  for (int64_t D = 1; D <= 3; ++D)
    for (int64_t P = 1; P <= 3; ++P)
      for (int64_t d = 0; d < D; ++d)
        for (int64_t p = 0; p < P; ++p)
          for (int64_t n = 0; n <= 5; ++n)
            points.push_back({{"D", D}, {"P", P}, {"d", d}, {"p", p}, {"n", n}});
  const char *factors[] = {"D", "P", "d", "p", "n", "D*P", "2", "3", "1"};
  Random random(7);
  auto sum = [&] {
    Expr e(random.in(-2, 2));
    for (int64_t i = random.in(1, 3); i > 0; --i)
      e = e + Expr(random.in(-2, 3)) * E(factors[random.in(0, 8)]) * E(factors[random.in(0, 8)]);
    return e;
  };
  unsigned proven = 0, changed = 0;
  for (int i = 0; i < 3000; ++i) {
    Expr a = sum(), divisor = E(factors[random.in(0, 1) ? 5 : random.in(6, 7)]);
    int64_t kind = random.in(0, 4);
    Expr e = kind == 0   ? Expr::floordiv(a, divisor)
             : kind == 1 ? Expr::mod(a, divisor)
             : kind == 2 ? Expr::min(a, sum())
             : kind == 3 ? Expr::max(a, sum())
                         : a;
    Expr s = f.simplify(e);
    Range r = f.bounds(e);
    bool positive = f.provablyPositive(e);
    proven += positive;
    changed += s != e;
    for (const auto &at : points) {
      int64_t v = *e.evaluate(at);
      ASSERT_EQ(s.evaluate(at), v) << e.str() << " became " << s.str();
      ASSERT_TRUE(!r.min || *r.min <= v) << e.str();
      ASSERT_TRUE(!r.max || *r.max >= v) << e.str();
      ASSERT_TRUE(!positive || v > 0) << e.str();
    }
  }
  EXPECT_GT(proven, 200u);
  EXPECT_GT(changed, 200u);
}
TEST(Facts, AnEqualityReplacesTheSymbolThatIsKnownLast) {
  Facts facts;
  facts.setRange("b", {1, std::nullopt});
  for (const char *late : {"first", "second"}) {
    facts.setRange(late, {0, std::nullopt});
    facts.setLate(late);
  }
  Expr b = Expr::symbol("b"), first = Expr::symbol("first"), second = Expr::symbol("second");
  EXPECT_TRUE(facts.addEquality(first, second));
  EXPECT_EQ(facts.simplify(second).str(), "first");
  EXPECT_TRUE(facts.addEquality(b, first));
  EXPECT_EQ(facts.simplify(second).str(), "b");
  EXPECT_EQ(facts.simplify(b).str(), "b");
}


/// Answers are kept for all that know the same: a range, an extent, a relation or a divisor more, and it is another question.
TEST(Facts, anAnswerIsOfWhatWasKnown) {
  auto asked = [](const Facts &f) { return f.provablyLessEqual(E("i"), E("n")); };
  Facts none, range, extent, relation, chain;
  EXPECT_FALSE(asked(none));
  range.setRange("i", {0, 4});
  EXPECT_FALSE(asked(range));
  range.setRange("n", {4, std::nullopt});
  EXPECT_TRUE(asked(range));
  extent.setAxis("i", E("m"));
  EXPECT_FALSE(asked(extent));
  extent.setRange("m", {0, 4}); // what an extent speaks of
  extent.setRange("n", {3, std::nullopt});
  EXPECT_TRUE(asked(extent));
  relation.addLessEqual(E("i"), E("n"));
  EXPECT_TRUE(asked(relation));
  chain.addLessEqual(E("i + k"), E("n"));
  EXPECT_TRUE(asked(chain));
  chain = Facts();
  chain.setRange("k", {-1, 8}); // what a relation speaks of
  chain.addLessEqual(E("i + k"), E("n"));
  EXPECT_FALSE(asked(chain));
  EXPECT_FALSE(asked(none));
  EXPECT_EQ(none.simplify(E("floordiv(n - 1, n)")), Expr(0)); // under a division by n, which is not 0
  EXPECT_FALSE(none.provablyLessEqual(Expr(0), E("n - 1")));
}

TEST(Facts, EqualitiesAreRestatedWhereAnInequalityMadeThemShorter) {
  Facts facts;
  for (const char *name : {"a", "b"})
    facts.setRange(name, {1, std::nullopt});
  Expr a = Expr::symbol("a"), rows = Expr::floordiv(Expr::min(Expr(2), a) + a, Expr(3)), value = rows * Expr::symbol("b");
  facts.addDivides(Expr(4), value);
  Expr quotient = Expr::symbol(facts.derived().front().first);
  EXPECT_TRUE(facts.provablyEqual(value, quotient * Expr(4)));
  facts.addLessEqual(Expr(4), a);
  facts.restate();
  EXPECT_TRUE(facts.provablyEqual(value, quotient * Expr(4)));
  EXPECT_FALSE(facts.provablyEqual(value, quotient * Expr(4) + Expr(4)));
}

TEST(Facts, restatesTheLesserOfTwo) {
  Facts facts;
  Expr a = Expr::symbol("a"), b = Expr::symbol("b"), c = Expr::symbol("c");
  for (const char *name : {"a", "b", "c"})
    facts.setRange(name, {1, std::nullopt});
  Expr product = Expr::min(a, Expr(7)) * Expr::min(b, Expr(2)) * c;
  EXPECT_TRUE(facts.addEquality(product, Expr(112)));
  facts.addLessEqual(Expr(8), a);
  facts.addLessEqual(Expr(2), b);
  EXPECT_FALSE(facts.provablyEqual(c, Expr(8)));
  facts.restate();
  EXPECT_TRUE(facts.provablyEqual(c, Expr(8)));
}

TEST(Facts, quotientsOfLesserSizes) {
  Facts facts;
  Expr n = Expr::symbol("n"), k = Expr::symbol("k");
  facts.setRange("n", {1, std::nullopt});
  facts.setRange("k", {1, std::nullopt});
  Expr q = Expr::floordiv(Expr::min(Expr(4), n) + Expr(1), Expr(3));
  EXPECT_TRUE(facts.addEquality(q, k));
  EXPECT_TRUE(facts.provablyEqual(q, k));
  EXPECT_TRUE(facts.provablyEqual(k, Expr(1))); // n is at least 2
  EXPECT_FALSE(facts.clone().addEquality(k, Expr(2)));
}

TEST(Facts, definitionsOfTermsInOtherRules) {
  for (bool definitionFirst : {false, true}) {
    Facts facts;
    Expr n = Expr::symbol("n"), half = Expr::floordiv(n, Expr(2));
    facts.setRange("n", {1, std::nullopt});
    for (bool second : {false, true})
      EXPECT_TRUE(second == definitionFirst ? facts.addEquality(n, Expr(2) * half) : facts.addEquality(half, Expr(3)));
    EXPECT_TRUE(facts.provablyEqual(n, Expr(6)));
    EXPECT_FALSE(facts.clone().addEquality(n, Expr(7)));
  }
}

TEST(Facts, rulesForProductsWithSolvedSymbols) {
  for (bool byRange : {false, true}) {
    Facts facts;
    Expr a = Expr::symbol("a"), b = Expr::symbol("b"), c = Expr::symbol("c");
    for (const char *name : {"a", "b", "c"})
      facts.setRange(name, {1, std::nullopt});
    EXPECT_TRUE(facts.addEquality(a * b * c, Expr(192)));
    byRange ? facts.setRange("a", {4, 4}) : (void)facts.addEquality(a, Expr(4));
    EXPECT_TRUE(facts.provablyEqual(a * b * c, Expr(192)));
    EXPECT_TRUE(facts.provablyEqual(b * c, Expr(48)));
    EXPECT_TRUE(facts.addEquality(b, Expr(8)));
    EXPECT_EQ(facts.simplify(c).str(), "6");
    EXPECT_FALSE(facts.clone().addEquality(a * c, Expr(25)));
  }
}

TEST(Facts, stepsBack) {
  Facts facts;
  Expr n = Expr::symbol("n");
  facts.setRange("n", {1, std::nullopt});
  Expr q = -Expr::floordiv(Expr::min(Expr(1), n - Expr(1)) - Expr::min(Expr(3), n - Expr(1)), Expr(3));
  EXPECT_TRUE(facts.addEquality(q, Expr(1)));
  EXPECT_EQ(facts.simplify(q).str(), "1");
  EXPECT_EQ(facts.bounds(n).min.value_or(-1), 3);
}

TEST(Facts, sumsThatBothSidesHaveAsAFactor) {
  Facts facts;
  for (const char *name : {"a", "b", "c"})
    facts.setRange(name, {1, std::nullopt});
  Expr a = Expr::symbol("a"), b = Expr::symbol("b"), c = Expr::symbol("c"), n = a + Expr(2);
  EXPECT_TRUE(facts.addEquality(n * (b + Expr(1)) * c, Expr(9) * n));
  EXPECT_EQ(facts.simplify(b * c).str(), "-c + 9");
  EXPECT_TRUE(facts.addEquality(n * b, Expr(2) * n));
  EXPECT_EQ(facts.simplify(b).str(), "2");
  // A factor that may be zero says nothing of the others.
  Facts other;
  other.setRange("a", {1, std::nullopt});
  other.setRange("b", {0, std::nullopt});
  EXPECT_TRUE(other.addEquality((a - Expr(2)) * b, Expr(4) * (a - Expr(2))));
  EXPECT_FALSE(other.provablyEqual(b, Expr(4)));
}

TEST(Facts, aProductIsNotWrittenAsAQuotientOfItself) {
  Facts facts;
  for (const char *name : {"a", "b", "c", "d"})
    facts.setRange(name, {1, std::nullopt});
  Expr a = Expr::symbol("a"), b = Expr::symbol("b"), c = Expr::symbol("c"), d = Expr::symbol("d");
  Expr inner = Expr::floordiv(a * b + c, d) * Expr::floordiv(c, d);
  EXPECT_TRUE(facts.addEquality(a * b * c, inner));
  EXPECT_EQ(facts.simplify(a * b * c), a * b * c);
  EXPECT_TRUE(facts.provablyEqual(a * b * c, inner));
  // By way of another rule, too.
  Facts two;
  for (const char *name : {"a", "b", "c", "d"})
    two.setRange(name, {1, std::nullopt});
  EXPECT_TRUE(two.addEquality(a * b * b, Expr::floordiv(c * d * d + Expr(9), Expr(3))));
  EXPECT_TRUE(two.addEquality(c * d * d, Expr::floordiv(a * b * b + Expr(2), Expr(5))));
  EXPECT_LT(two.simplify(a * b * b).str().size(), 80u);
}

TEST(Facts, OneDivisorTooLittleIsNoDivision) {
  Facts f;
  f.setRange("T", {1, std::nullopt});
  f.setAxis("i", E("T"));
  f.setAxis("j", E("T"));
  EXPECT_EQ(f.simplify(E("floordiv(T*i + T + j, T + 1)")), E("i + 1 + min(0, max(-1, j - i - 1))"));
  EXPECT_FALSE(f.simplify(E("mod(T*i + T + j, T + 1)")).str().find("mod") != std::string::npos);
  for (int64_t t = 1; t < 6; ++t)
    for (int64_t i = 0; i < t; ++i)
      for (int64_t j = 0; j < t; ++j) {
        std::map<std::string, Expr> point{{"T", Expr(t)}, {"i", Expr(i)}, {"j", Expr(j)}};
        EXPECT_EQ(f.simplify(E("mod(T*i + T + j, T + 1)")).substitute(point), Expr((t * i + t + j) % (t + 1)));
      }
}

TEST(Facts, AnEqualitySettlesAMinimum) {
  Facts f;
  f.setRange("n", {1, std::nullopt});
  EXPECT_TRUE(f.addEquality(E("3*min(n, 109) - 3*min(n, 23)"), Expr(258)));
  EXPECT_EQ(f.simplify(E("min(n, 109)")), Expr(109));
  EXPECT_EQ(f.rangeOf("n").min, 109);
  Facts open; // n - min(n, 23) is 5 at n = 28 alone, n - min(n, m) at many
  open.setRange("n", {1, std::nullopt});
  open.setRange("m", {1, std::nullopt});
  EXPECT_TRUE(open.addEquality(E("n - min(n, m)"), Expr(0)));
  EXPECT_EQ(open.rangeOf("n").min, 1);
}
