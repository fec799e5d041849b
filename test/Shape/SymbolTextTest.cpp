//===- SymbolTextTest.cpp - Symbols of all kinds under all names -----------===//

#include "ShapeTestUtils.h"
#include "gtest/gtest.h"

using namespace lathe::shape;

static const std::string names[] = {
    "batch", "i0",   "i1",  "i",         "i0x",   "$0",   "$7",       "$batch",  "$",   "%x",       "%",
    "]",     "x[0]", "k[]", "d0",        "a b",   "a*b",  "a+1",      "a//b",    "(a)", "'",        "''",
    "'a'",   "it's", "\"",  "\\",        "",      " ",    "7",        "-1",      "min", "floordiv", "mod(a, b)",
    "a,b",   "\n",   "\t",  "<unknown>", "größe", "尺寸", "\xff\xfe", "n.div.4", "@q",  "#1",       "."};

/// Every symbol that there is with these names.
static std::vector<std::pair<SymbolKind, Expr>> allSymbols() {
  std::vector<std::pair<SymbolKind, Expr>> all;
  for (unsigned i : {0u, 1u, 7u, 10u})
    all.insert(all.end(), {{SymbolKind::Axis, Expr::axis(i)}, {SymbolKind::Indirect, Expr::indirect(i)}});
  for (const std::string &name : names)
    all.insert(all.end(), {{SymbolKind::Size, Expr::size(name)},
                           {SymbolKind::Host, Expr::host(name)},
                           {SymbolKind::Element, Expr::element(name, std::nullopt)},
                           {SymbolKind::Element, Expr::element(name, 3)}});
  return all;
}

TEST(SymbolText, names) {
  for (const std::string &name : names) {
    EXPECT_EQ(nameOf(Expr::size(name).str()), name);
    EXPECT_EQ(nameOf(Expr::host(name).str()), "%" + name);
    EXPECT_EQ(nameOf(Expr::element(name, std::nullopt).str()), name + "[]");
    EXPECT_EQ(nameOf(Expr::element(name, 3).str()), name + "[3]");
  }
}

TEST(SymbolText, ordinaryNamesStandAsTheyAre) {
  EXPECT_EQ(Expr::size("batch").str(), "batch");
  EXPECT_EQ(Expr::size("m.last").str(), "m.last");
  EXPECT_EQ(Expr::element("shape", 1).str(), "shape[1]");
  EXPECT_EQ(Expr::size("i0").str(), "'i0'");
  EXPECT_EQ(Expr::element("i0", 1).str(), "'i0'[1]");
}

TEST(SymbolText, textIsAKey) {
  std::set<std::string> texts;
  for (const auto &[kind, e] : allSymbols()) {
    EXPECT_TRUE(texts.insert(e.str()).second) << e.str();
    EXPECT_EQ(kindOf(e.str()), kind) << e.str();
    EXPECT_EQ(e.terms()[0].atoms[0].symbol, kind) << e.str();
    EXPECT_TRUE(isSymbolText(e.str())) << e.str();
  }
}

TEST(SymbolText, isReadBack) {
  std::vector<std::pair<SymbolKind, Expr>> all = allSymbols();
  for (const auto &[kind, e] : all) {
    EXPECT_EQ(E(e.str()), e) << e.str();
    EXPECT_EQ(Expr::symbol(e.str()), e) << e.str();
    for (const auto &[otherKind, other] : all) {
      Expr sum = Expr(2) * e * other + Expr::floordiv(e, Expr(4)) - Expr::mod(other, Expr(3)) + Expr::min(e, other);
      EXPECT_EQ(E(sum.str()), sum) << sum.str();
    }
  }
}

TEST(SymbolText, whatIsNoSymbol) {
  for (const char *text : {"", "a b", "'a'", "2*a", "a + 1", "k[", "k[x]", "'a", "%", "3", "a[0]b", "i0[1]"})
    EXPECT_FALSE(isSymbolText(text)) << text;
}

TEST(SymbolText, everyNameIsASizeToAUser) {
  for (const char *name : {"i0", "$7", "$batch", "batch"}) {
    llvm::Expected<Expr> e = Expr::parseSizes(std::string("2*") + name + " + 1");
    ASSERT_TRUE(bool(e)) << name;
    EXPECT_EQ(*e, Expr(2) * Expr::size(name) + Expr(1));
  }
  for (const char *text : {"%x", "x[0]"}) {
    llvm::Expected<Expr> e = Expr::parseSizes(text);
    EXPECT_FALSE(bool(e)) << text;
    llvm::consumeError(e.takeError());
  }
}

TEST(SymbolText, elementsMayBeNegative) {
  Facts facts;
  EXPECT_TRUE(facts.provablyLessEqual(Expr(0), Expr::size("k[0]")));
  EXPECT_FALSE(facts.provablyLessEqual(Expr(0), Expr::element("k", 0)));
  EXPECT_TRUE(facts.provablyLessEqual(Expr(0), Expr::size("$7")));
  EXPECT_FALSE(facts.provablyLessEqual(Expr(0), Expr::indirect(7)));
}

/// What could not be read is no size of 0.
TEST(SymbolText, errorsAreUnknown) {
  for (const char *text : {"", "a +", "<unknown>", "9999999999999999999", "f(a, b)"}) {
    EXPECT_TRUE(Expr::parsed(text).isUnknown()) << text;
    EXPECT_FALSE(Expr::parsed(text).isZero()) << text;
  }
}
