//===- SortTest.cpp - The order of words against that of the standard library ===//
//
// Rows that stay in a cache and that do not, of keys of every kind of spread: the words are those of std::sort, and of a part of them the first.
//
//===----------------------------------------------------------------------===//
#include "gtest/gtest.h"
#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

// As lib/Runtime/Runtime.h has them, which is no C++.
extern "C" {
struct LatheWideWord {
  uint64_t key, index;
};
const uint64_t *lathe_sort_words(uint64_t *words, uint64_t *room, int64_t n, int64_t count);
const LatheWideWord *lathe_sort_wide_words(LatheWideWord *words, LatheWideWord *room, int64_t n, int64_t count);
const uint32_t *lathe_sort_keys(uint32_t *keys, uint32_t *room, int64_t n);
const uint64_t *lathe_sort_wide_keys(uint64_t *keys, uint64_t *room, int64_t n);
int64_t lathe_find_key(const uint32_t *keys, int64_t n, uint64_t key);
int64_t lathe_find_wide_key(const uint64_t *keys, int64_t n, uint64_t key);
}

namespace {
using Keys = std::function<uint64_t(std::mt19937_64 &, int64_t i, int64_t n)>;

struct Spread {
  const char *name;
  Keys key; ///< 64 bits; narrow words take the first 32
};
} // namespace

static const uint64_t top = uint64_t(1) << 63;

static const Spread spreads[] = {
    {"even", [](auto &r, int64_t, int64_t) { return r(); }},
    {"one", [](auto &, int64_t, int64_t) { return top; }},
    {"two", [](auto &r, int64_t, int64_t) { return r() % 2 ? ~uint64_t(0) : 0; }},
    {"few", [](auto &r, int64_t, int64_t) { return r() % 7 * 0x0100000101000003u; }},
    {"rising", [](auto &, int64_t i, int64_t) { return uint64_t(i) << 36; }},
    {"falling", [](auto &, int64_t i, int64_t n) { return uint64_t(n - i) << 36; }},
    {"around the middle", [](auto &r, int64_t, int64_t) { return top + (r() % 2000 << 32) - (uint64_t(1000) << 32); }},
    {"numbers of things", [](auto &r, int64_t, int64_t n) { return top - 500 + r() % uint64_t(n); }},
    {"as far apart as 32 bits", [](auto &r, int64_t i, int64_t) { return 77 + (i % 1000 ? r() >> 32 : i % 2000 ? 0 : UINT32_MAX); }},
    {"farther than 32 bits", [](auto &r, int64_t i, int64_t) { return 77 + (i % 1000 ? r() >> 32 : i % 2000 ? 0 : uint64_t(1) << 32); }},
    {"magnitudes", [](auto &r, int64_t, int64_t) { return r() >> r() % 64; }},
    {"most of them close together", [](auto &r, int64_t, int64_t) { return r() % 16 ? top + (r() >> 18) : r(); }},
    {"closer and closer", [](auto &r, int64_t, int64_t) { return top + (r() >> 15 * (r() % 4)); }},
    {"most are one", [](auto &r, int64_t, int64_t) { return r() % 5 ? top : r(); }},
};

static bool operator<(const LatheWideWord &a, const LatheWideWord &b) {
  return a.key != b.key ? a.key < b.key : a.index < b.index;
}
static bool operator==(const LatheWideWord &a, const LatheWideWord &b) { return a.key == b.key && a.index == b.index; }

static uint64_t word(uint64_t key, int64_t i, uint64_t) { return (key >> 32 << 32) | uint64_t(i); }
static LatheWideWord word(uint64_t key, int64_t i, LatheWideWord) { return {key, uint64_t(i)}; }
static const uint64_t *sorted(uint64_t *words, uint64_t *room, int64_t n, int64_t count) {
  return lathe_sort_words(words, room, n, count);
}
static const LatheWideWord *sorted(LatheWideWord *words, LatheWideWord *room, int64_t n, int64_t count) {
  return lathe_sort_wide_words(words, room, n, count);
}

/// As much room as is promised, as near to the words as it may lie.
template <typename Word> static void check(const Spread &spread, int64_t n, int64_t count) {
  std::mt19937_64 random(static_cast<uint64_t>(n * 31 + count));
  int64_t some = std::min(n, count + count / 64 + 64), begins = std::max(some, n - some);
  const Word guard = word(0x0123456789abcdef, 77, Word());
  std::vector<Word> words(size_t(begins + some + 1), guard), want;
  for (int64_t i = 0; i < n; ++i)
    want.push_back(words[size_t(i)] = word(spread.key(random, i, n), i, Word()));
  std::sort(want.begin(), want.end());
  const Word *got = sorted(words.data(), words.data() + begins, n, count);
  EXPECT_TRUE(std::equal(want.begin(), want.begin() + count, got)) << spread.name << ", " << count << " of " << n << " words of " << sizeof(Word);
  if (begins + some >= n) {
    EXPECT_TRUE(words.back() == guard) << spread.name << ": " << n << " words need more room";
  }
}

static void checkCounts(int64_t n, std::initializer_list<int64_t> counts) {
  for (const Spread &spread : spreads)
    for (int64_t count : counts) {
      check<uint64_t>(spread, n, count);
      check<LatheWideWord>(spread, n, count);
    }
}

TEST(Sort, RowsThatStayInACache) {
  for (int64_t n : {1, 2, 39, 40, 41, 42, 64, 100, 129, 1000, 4097, 20011})
    checkCounts(n, {n, (n + 1) / 2, (n + 9) / 10});
}

TEST(Sort, RowsThatAreSpread) {
  checkCounts((2 << 20) / 16 + 1, {(2 << 20) / 16 + 1}); // the first that do, of either word
  checkCounts((2 << 20) / 8 + 1, {(2 << 20) / 8 + 1, 200000, 1000});
}

TEST(Sort, PartsThatAreSpreadAgain) { checkCounts(1200007, {1200007}); }

static const uint32_t *sortedKeys(uint32_t *keys, uint32_t *room, int64_t n) { return lathe_sort_keys(keys, room, n); }
static const uint64_t *sortedKeys(uint64_t *keys, uint64_t *room, int64_t n) { return lathe_sort_wide_keys(keys, room, n); }
static int64_t find(const uint32_t *keys, int64_t n, uint64_t key) { return lathe_find_key(keys, n, key); }
static int64_t find(const uint64_t *keys, int64_t n, uint64_t key) { return lathe_find_wide_key(keys, n, key); }

/// Keys alone, of which many are equal.
template <typename Key> static void checkKeys(int64_t n) {
  for (const Spread &spread : spreads) {
    std::mt19937_64 random(static_cast<uint64_t>(n));
    std::vector<Key> keys, room(size_t(n) + 1, Key(77)), want;
    for (int64_t i = 0; i < n; ++i)
      keys.push_back(Key(spread.key(random, i, n) >> (64 - 8 * sizeof(Key))));
    keys.push_back(Key(78));
    want.assign(keys.begin(), keys.end() - 1);
    std::sort(want.begin(), want.end());
    const Key *got = sortedKeys(keys.data(), room.data(), n);
    EXPECT_TRUE(std::equal(want.begin(), want.end(), got)) << spread.name << ", " << n << " keys of " << sizeof(Key);
    EXPECT_TRUE(keys.back() == 78 && room.back() == 77) << spread.name << ": " << n << " keys need more room";
    for (int64_t at : {int64_t(0), n / 3, n - 1}) {
      uint64_t key = n ? want[size_t(std::max<int64_t>(0, at))] : 5;
      EXPECT_EQ(find(want.data(), n, key), std::lower_bound(want.begin(), want.end(), key) - want.begin());
      EXPECT_EQ(find(want.data(), n, key + 1), key == ~uint64_t(0) ? 0 : std::lower_bound(want.begin(), want.end(), key + 1) - want.begin());
    }
  }
}

TEST(Sort, KeysAlone) {
  for (int64_t n : {0, 1, 2, 40, 41, 1000, 20011, (2 << 20) / 8 + 1, (2 << 20) / 4 + 1, 1200007}) {
    checkKeys<uint32_t>(n);
    checkKeys<uint64_t>(n);
  }
}
