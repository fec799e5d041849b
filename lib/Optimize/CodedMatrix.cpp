//===- CodedMatrix.cpp - A matrix of few bits in words -----------------------===//

#include "CodedMatrix.h"
#include <algorithm>
#include <cmath>

using namespace lathe;
using namespace lathe::opt;

constexpr int64_t wordBits = 32;
/// Of a run of rows with one scale and zero point.
constexpr int64_t shortestBlock = 16, longestBlock = 256;
/// Words of a column that are there together: on a GPU the four threads that share a column in a product of matrices have one each.
constexpr int64_t wordsTogether = 4;

/// Does each run of `block` rows have one scale and one zero point in every column?
static bool isInBlocks(const CodedMatrix &m, int64_t block) {
  for (int64_t k = 0; k < m.depth; ++k)
    for (int64_t n = 0, first = k / block * block; n < m.columns; ++n)
      if (m.scale[k * m.columns + n] != m.scale[first * m.columns + n] || m.zero[k * m.columns + n] != m.zero[first * m.columns + n])
        return false;
  return true;
}

static int64_t filledUp(int64_t n, int64_t of) { return (n + of - 1) / of * of; }

/// Rows of blocks that hold the matrix's.
static int64_t depthIn(const CodedMatrix &m, int64_t block, int64_t perWord) { return filledUp(m.depth, std::max(block, wordsTogether * perWord)); }

/// The blocks with which a column takes the fewest bytes; nothing where no block will do.
static std::optional<int64_t> blockOf(const CodedMatrix &m, int64_t bits) {
  std::optional<int64_t> best;
  int64_t least = 0;
  for (int64_t block = longestBlock; block >= shortestBlock; block /= 2) {
    int64_t depth = depthIn(m, block, wordBits / bits), bytes = depth * bits / 8 + depth / block * int64_t(sizeof(float));
    if ((best && bytes >= least) || !isInBlocks(m, block))
      continue;
    best = block;
    least = bytes;
  }
  return best;
}

/// What is taken off all codes. One zero point for all becomes the middle of the range where they fit around it: a GPU makes codes numbers
/// that are less than nothing by half of the range.
static float firstCode(const CodedMatrix &m, float low, float high, int64_t bits) {
  float centered = m.zero.front() - float(int64_t(1) << (bits - 1));
  bool same = std::all_of(m.zero.begin(), m.zero.end(), [&](float z) { return z == m.zero.front(); });
  bool fits = same && centered == std::floor(centered) && low >= centered && high < centered + float(int64_t(1) << bits);
  return fits ? centered : low;
}

std::optional<PackedMatrix> opt::packed(const CodedMatrix &m) {
  auto [low, high] = std::minmax_element(m.codes.begin(), m.codes.end());
  float range = *high - *low;
  PackedMatrix p;
  p.bits = range < 16 ? 4 : 8;
  p.perWord = wordBits / p.bits;
  std::optional<int64_t> block = range > 255 ? std::nullopt : blockOf(m, p.bits);
  if (!block)
    return std::nullopt;
  float least = firstCode(m, *low, *high, p.bits);
  p.depth = depthIn(m, *block, p.perWord);
  constexpr int64_t panel = PackedMatrix::panel;
  p.panels = filledUp(m.columns, panel) / panel;
  p.blocks = p.depth / *block;
  p.words = *block / p.perWord;
  p.codes.assign(p.depth / p.perWord * p.panels * panel, 0);
  for (int64_t k = 0; k < m.depth; ++k)
    for (int64_t n = 0; n < m.columns; ++n) {
      int64_t word = (n / panel * (p.depth / p.perWord) + k / p.perWord) * panel + n % panel;
      p.codes[word] = int32_t(uint32_t(p.codes[word]) | uint32_t(m.codes[k * m.columns + n] - least) << (k % p.perWord * p.bits));
    }
  // What fills up panels and blocks is no other number than what is there, so that all may still be the same.
  for (int64_t first = 0; first < p.panels * panel; first += panel)
    for (int64_t k = 0; k < p.depth; k += *block)
      for (int64_t n = first; n < first + panel; ++n) {
        int64_t at = std::min(k, (m.depth - 1) / *block * *block) * m.columns + std::min(n, m.columns - 1);
        p.zero.push_back(m.zero[at] - least);
        p.scale.push_back(m.scale[at]);
      }
  return p;
}
