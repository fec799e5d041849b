//===- ArenaTest.cpp - Where temporaries lie -------------------------------===//
extern "C" {
#include "../../lib/Runtime/Arena.h"
}
#include "gtest/gtest.h"
#include <random>
#include <vector>

static uint64_t layOut(std::vector<LatheArenaItem> &items) {
  std::vector<uint32_t> order(items.size());
  return latheLayOut(items.data(), items.size(), order.data());
}

static void expectNoOverlap(const std::vector<LatheArenaItem> &items, uint64_t total) {
  for (size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(items[i].offset % LATHE_DATA_ALIGN, 0u);
    EXPECT_LE(items[i].offset + items[i].bytes, total);
    for (size_t j = 0; j < i; ++j) {
      bool together = items[i].first <= items[j].last && items[j].first <= items[i].last;
      bool apart = items[i].offset + items[i].bytes <= items[j].offset || items[j].offset + items[j].bytes <= items[i].offset;
      EXPECT_TRUE(!together || apart) << i << " and " << j;
    }
  }
}

TEST(Arena, aChainNeedsTwoBuffers) {
  std::vector<LatheArenaItem> items;
  for (uint32_t i = 0; i < 10; ++i)
    items.push_back({1000, i, i + 1, 0});
  uint64_t total = layOut(items);
  EXPECT_EQ(total, 2048u);
  expectNoOverlap(items, total);
}

TEST(Arena, aGapIsFilledByWhatFitsBest) {
  // Two large ones leave a gap of 128 bytes below them while the small one is alive with both.
  std::vector<LatheArenaItem> items = {{1024, 0, 3, 0}, {128, 0, 1, 0}, {512, 1, 2, 0}, {128, 2, 3, 0}};
  uint64_t total = layOut(items);
  EXPECT_EQ(total, 1024u + 512u + 128u);
  expectNoOverlap(items, total);
}

TEST(Arena, randomLifetimesNeverOverlap) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<LatheArenaItem> items;
    uint64_t sum = 0;
    for (int i = 0; i < 100; ++i) {
      uint32_t first = random() % 50, last = first + random() % 10;
      items.push_back({random() % 5000, first, last, 0});
      sum += (items.back().bytes + LATHE_DATA_ALIGN - 1) / LATHE_DATA_ALIGN * LATHE_DATA_ALIGN;
    }
    uint64_t total = layOut(items);
    EXPECT_LE(total, sum);
    expectNoOverlap(items, total);
  }
}

TEST(Arena, emptyAndImpossible) {
  std::vector<LatheArenaItem> none, zero = {{0, 0, 1, 0}, {0, 0, 1, 0}};
  EXPECT_EQ(layOut(none), 0u);
  EXPECT_EQ(layOut(zero), 0u);
  std::vector<LatheArenaItem> huge = {{uint64_t(1) << 62, 0, 1, 0}, {uint64_t(1) << 62, 0, 1, 0}, {uint64_t(1) << 62, 0, 1, 0},
                                      {uint64_t(1) << 62, 0, 1, 0}};
  EXPECT_EQ(layOut(huge), UINT64_MAX);
  std::vector<LatheArenaItem> negative = {{uint64_t(-1), 0, 1, 0}};
  EXPECT_EQ(layOut(negative), UINT64_MAX);
}
