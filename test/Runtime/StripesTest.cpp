//===- StripesTest.cpp - Kernels that take turns ---------------------------===//
//
// Stages of random geometry, whose rows are sums of the rows that they need: a chain has the results that its steps have one after the other.
//
//===----------------------------------------------------------------------===//
extern "C" {
#include "../../lib/Runtime/Stripes.h"
}
#include "gtest/gtest.h"
#include <array>
#include <random>
#include <vector>

namespace {
enum Size { rowsSize, groupsSize, unitSize, ofLine, lines, imageRows, step, low, high, operandRows, numSizes };

struct Geometry {
  std::vector<int64_t> sizes = std::vector<int64_t>(numSizes);
  int64_t &operator[](Size s) { return sizes[s]; }
  int64_t operator[](Size s) const { return sizes[s]; }
};
} // namespace

static int64_t rowOf(const int64_t *s, int64_t group) {
  return group * (s[rowsSize] / s[groupsSize]) + std::min(group, s[rowsSize] % s[groupsSize]);
}

/// buffers: an operand and a result. An item adds its number to the rows of its group, so that one that is left out or done in half shows.
static void kernel(void *const *buffers, const int64_t *s, int64_t begin, int64_t end, void *) {
  const int64_t *operand = static_cast<const int64_t *>(buffers[0]);
  int64_t *result = static_cast<int64_t *>(buffers[1]);
  for (int64_t item = begin; item < end; ++item)
    for (int64_t group = item / s[unitSize], row = rowOf(s, group); row < rowOf(s, group + 1); ++row) {
      int64_t line = row / s[ofLine], image = line / s[lines], y = line % s[lines];
      if (item % s[unitSize] == 0)
        result[row] = row;
      result[row] += item;
      int64_t from = std::max<int64_t>(0, s[step] * y + s[low]), to = std::min(s[imageRows], s[step] * y + s[high]);
      for (int64_t at = from; at < to; ++at)
        result[row] += (at + 1) * operand[image * s[imageRows] + at];
    }
}

static Geometry pointwise(int64_t rows, std::mt19937 &random) {
  Geometry g;
  g[rowsSize] = rows;
  g[groupsSize] = 1 + random() % rows;
  g[unitSize] = 1 + random() % 3;
  g[ofLine] = g[lines] = g[imageRows] = g[high] = 1;
  g[operandRows] = rows;
  return g;
}

/// Behind rows that are lines of `width` of so many images.
static Geometry window(int64_t images, int64_t height, int64_t width, std::mt19937 &random) {
  Geometry g;
  int64_t taps = 1 + random() % 5, pad = random() % taps, stride = 1 + random() % 3, outWidth = (width + stride - 1) / stride;
  int64_t outHeight = std::max<int64_t>(1, (height + 2 * pad - taps) / stride + 1);
  g[ofLine] = outWidth;
  g[lines] = outHeight;
  g[rowsSize] = images * outHeight * outWidth;
  g[groupsSize] = images * outHeight;
  g[unitSize] = 1 + random() % 3;
  g[imageRows] = height * width;
  g[step] = stride * width;
  g[low] = -pad * width - pad;
  g[high] = (taps - 1 - pad) * width + width + taps;
  g[operandRows] = images * height * width;
  return g;
}

static void check(const std::vector<Geometry> &stages, LathePool *pool, uint32_t parts, int64_t cache) {
  uint32_t count = uint32_t(stages.size());
  std::vector<std::vector<int64_t>> want(count + 1), got(1);
  want[0].resize(stages[0][operandRows]);
  for (size_t i = 0; i < want[0].size(); ++i)
    want[0][i] = int64_t(i * i % 17) - 8;
  LatheStep source = {};
  source.buffers.count = 2;
  std::vector<LathePlannedStep> planned(count);
  std::vector<LatheStage> all(count);
  std::vector<std::array<void *, 2>> buffers(count);
  std::vector<int64_t> result(stages.back()[rowsSize], -1);
  for (uint32_t k = 0; k < count; ++k) {
    const Geometry &g = stages[k];
    ASSERT_EQ(g[operandRows], int64_t(want[k].size()));
    want[k + 1].resize(g[rowsSize]);
    void *whole[] = {want[k].data(), want[k + 1].data()};
    kernel(whole, g.sizes.data(), 0, g[groupsSize] * g[unitSize], nullptr);
    buffers[k] = {k ? nullptr : want[0].data(), k + 1 < count ? nullptr : result.data()}; // what is between them is nowhere
    planned[k].fn = kernel;
    planned[k].buffers = buffers[k].data();
    planned[k].sizes = const_cast<int64_t *>(g.sizes.data());
    planned[k].step = &source;
    all[k] = LatheStage{&planned[k], g[unitSize], g[groupsSize], g[rowsSize], 8, 8, g[ofLine], g[lines], g[imageRows], g[step], g[low], g[high], 1, 0, 100, 0, 0};
  }
  LatheChain chain = {all.data(), count, parts, 0};
  uint64_t bytes = latheFitChain(&chain, cache);
  if (!bytes)
    return;
  for (uint32_t k = 0; k + 1 < count; ++k)
    EXPECT_LE(all[k].capacity * 8, 2 * cache);
  std::vector<char> scratch(bytes * parts);
  latheRunChain(pool, &chain, scratch.data(), bytes);
  EXPECT_EQ(result, want.back());
}

TEST(Stripes, chainsHaveTheResultsOfTheirSteps) {
  std::mt19937 random(5);
  LathePool *pool = lathePoolCreate(2, 2);
  for (int round = 0; round < 2000; ++round) {
    int64_t images = 1 + random() % 3, height = 1 + random() % 40, width = 1 + random() % 9;
    std::vector<Geometry> stages = {pointwise(images * height * width, random)};
    if (random() % 2)
      stages.push_back(pointwise(images * height * width, random));
    stages.push_back(window(images, height, width, random));
    if (random() % 2)
      stages.push_back(pointwise(stages.back()[rowsSize], random));
    for (uint32_t parts : {1u, 2u})
      check(stages, pool, parts, 1 << (6 + random() % 9));
  }
  lathePoolDestroy(pool);
}

TEST(Stripes, manyRowsThatThreadsShareAreNoChain) {
  LathePlannedStep step = {};
  LatheStage stages[2] = {};
  stages[0] = LatheStage{&step, 1, 8, 32, 8, 8, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0};
  stages[1] = LatheStage{&step, 1, 8, 32, 8, 8, 4, 8, 32, 4, -8, 12, 1, 0, 0, 0, 0};
  LatheChain alone = {stages, 2, 1, 0}, shared = {stages, 2, 8, 0};
  EXPECT_GT(latheFitChain(&alone, 1 << 20), 0u);
  EXPECT_EQ(latheFitChain(&shared, 1 << 20), 0u);
}
