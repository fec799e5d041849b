//===- MatchReshapeTest.cpp - Groups of dimensions of a reshape ------------===//

#include "ShapeTestUtils.h"

using namespace lathe::shape;

static std::vector<Expr> shapeOf(llvm::ArrayRef<const char *> dims) {
  std::vector<Expr> out;
  for (const char *d : dims)
    out.push_back(E(d));
  return out;
}

/// "0|0,1 1|2,3" for the groups, "none" for no grouping.
static std::string match(llvm::ArrayRef<const char *> left, llvm::ArrayRef<const char *> right, const Facts &facts = Facts()) {
  auto groups = matchReshape(shapeOf(left), shapeOf(right), facts);
  if (!groups)
    return "none";
  std::string out;
  auto list = [](const std::vector<unsigned> &dims) {
    std::string s;
    for (unsigned d : dims)
      s += (s.empty() ? "" : ",") + std::to_string(d);
    return s;
  };
  for (const DimGroup &g : *groups)
    out += (out.empty() ? "" : " ") + list(g.left) + "|" + list(g.right);
  return out;
}

TEST(MatchReshape, SmallestRuns) {
  EXPECT_EQ(match({"B*S", "768"}, {"B", "S", "12", "64"}), "0|0,1 1|2,3");
  EXPECT_EQ(match({"B", "S", "768"}, {"B", "S", "768"}), "0|0 1|1 2|2");
  EXPECT_EQ(match({"B", "12", "S", "64"}, {"B*12", "S", "64"}), "0,1|0 2|1 3|2");
  EXPECT_EQ(match({"6", "4"}, {"8", "3"}), "0,1|0,1");
  EXPECT_EQ(match({"B", "S"}, {"S", "B"}), "0,1|0,1");
  EXPECT_EQ(match({"B", "S"}, {"B", "T"}), "none");
}

TEST(MatchReshape, SizeOne) {
  EXPECT_EQ(match({"1", "4"}, {"4"}), "0,1|0");
  EXPECT_EQ(match({"4", "1"}, {"4"}), "0,1|0");
  EXPECT_EQ(match({"4", "1", "5"}, {"4", "5"}), "0|0 1,2|1");
  EXPECT_EQ(match({"1", "768"}, {"1", "12", "64"}), "0|0 1|1,2");
  EXPECT_EQ(match({}, {"1", "1"}), "|0,1");
  EXPECT_EQ(match({}, {}), "");
  EXPECT_EQ(match({"n"}, {"n", "m"}), "none");
}

TEST(MatchReshape, UsesFacts) {
  Facts f;
  EXPECT_EQ(match({"N", "768"}, {"B", "T", "768"}, f), "none");
  f.addEquality(E("N"), E("B*T"));
  EXPECT_EQ(match({"N", "768"}, {"B", "T", "768"}, f), "0|0,1 1|2");
  f.addDivides(E("Hkv"), E("H"));
  EXPECT_EQ(match({"B", "H", "D"}, {"B", "Hkv", "floordiv(H, Hkv)", "D"}, f), "0|0 1|1,2 2|3");
}

TEST(MatchReshape, ZeroSizes) {
  EXPECT_EQ(match({"0", "3"}, {"0", "5"}), "0,1|0,1");
  EXPECT_EQ(match({"0", "3"}, {"3", "0"}), "0,1|0,1");
}
