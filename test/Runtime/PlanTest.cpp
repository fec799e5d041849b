//===- PlanTest.cpp - How a kernel's items are handed out ------------------===//
extern "C" {
#include "../../lib/Runtime/Stripes.h"
}
#include "gtest/gtest.h"

static LathePlannedStep shareOut(int64_t flags, uint32_t threads) {
  int64_t plan[LATHE_PLAN_WORDS] = {};
  plan[LATHE_PLAN_ITEMS] = 46;
  plan[LATHE_PLAN_COST] = 700000;
  plan[LATHE_PLAN_FLAGS] = flags;
  LathePlannedStep step{};
  latheShareOut(&step, plan, threads);
  return step;
}

TEST(PlanTest, RepeatedRunsGoThroughPiecesFromTheLastOne) {
  LathePlannedStep alone = shareOut(0, 1);
  EXPECT_EQ(alone.parts, 1u);
  EXPECT_GT(alone.turns, 1u);
  LathePlannedStep shared = shareOut(0, 2);
  EXPECT_EQ(shared.parts, 2u);
  EXPECT_GT(shared.piecesPerPart, 1u);
  EXPECT_EQ(shared.turns, 1u);
}

/// Each piece of a scatter by ranges of places reads all indices: as many pieces as threads, whichever the run.
TEST(PlanTest, WholeKernelsHaveOnePieceOfAThread) {
  LathePlannedStep alone = shareOut(LATHE_PLAN_WHOLE, 1);
  EXPECT_EQ(alone.parts * alone.piecesPerPart, 1u);
  EXPECT_EQ(alone.turns, 1u);
  LathePlannedStep shared = shareOut(LATHE_PLAN_WHOLE, 2);
  EXPECT_EQ(shared.parts * shared.piecesPerPart, 2u);
  EXPECT_EQ(shared.turns, 1u);
}
