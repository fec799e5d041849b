/*===- Sort.c - The order of keys, for kernels that sort ---------------------===*/
#include "Runtime.h"

/* No two words are equal but those that are keys alone, so any way of sorting gives the one order. What is wanted of long rows is kept while the row passes by, where it is little, or
 * what is not wanted is dropped; the rest is sorted by digits of the keys. As no more of them are looked at than tell most words apart, long keys
 * take little longer than short ones. Short rows are sorted by insertion; what does not stay in a cache is spread into parts that do first. */
enum { LATHE_SORT_SHORT = 40, LATHE_SORT_HEAP = 64, LATHE_SORT_COLLECTED = 4, LATHE_SORT_NEAR = 2 << 20, LATHE_SORT_SAMPLE = 512, LATHE_SORT_MANY = 8192 };
/* Bits of a digit: the most, of the first one, and of that by which parts are cut. A part is one digit or has few words. */
enum { LATHE_SORT_DIGIT = 12, LATHE_SORT_LEADING = 11, LATHE_SORT_FINE = 13, LATHE_SORT_PARTS = 512, LATHE_SORT_PART = 4096, LATHE_SORT_LINE = 64 };
/* Tables of digits are not kept while parts are sorted: threads may have little stack. */
#define LATHE_OWN_FRAME __attribute__((noinline))

static inline bool isFew(int64_t n, int64_t count) { return count <= LATHE_SORT_HEAP && count <= n / 8; }
/* Words that are sorted without being wanted; lib/Target/Cpu/Order/Sort.cpp makes room for them, which takes the words that are offered together, too. */
static inline int64_t spare(int64_t count) { return (count / 64 < 4096 ? count / 64 : 4096) + 64; }
static inline bool isNear(int64_t n, size_t wordBytes) { return n * (int64_t)wordBytes <= LATHE_SORT_NEAR; }
static inline bool isCollected(int64_t n, int64_t count) { return count <= n / 16; }

typedef struct {
  uint64_t low, high;
} KeyRange;
/* Of a key's distance from the lowest one. */
typedef struct {
  uint64_t low;
  int shift, bits;
} Digit;

static inline unsigned digitOf(uint64_t key, Digit digit) {
  return (unsigned)((key - digit.low) >> digit.shift) & ((1u << digit.bits) - 1);
}
static inline int bitsOf(uint64_t x) { return x ? 64 - __builtin_clzll(x) : 0; }

/* The first bits of the range, at most `most`: its ends differ in them. */
static Digit leadingDigit(KeyRange range, int most) {
  int significant = bitsOf(range.high - range.low), bits = most < significant ? most : significant;
  return (Digit){range.low, significant - bits, bits};
}

/* Bits of the first digit of n words: half of those that tell them apart, if their keys are evenly spread, or more, as many as take little time beside the words. */
static int digitsInCache(int64_t n) {
  int half = (bitsOf((uint64_t)n) + 4) / 2, cheap = bitsOf((uint64_t)n) - 4, bits = half > cheap ? half : cheap;
  return bits < LATHE_SORT_LEADING ? bits : LATHE_SORT_LEADING;
}

/* Bits of each further digit: a table of more entries than two for each word takes longer than the words. */
static int mostOfDigit(int64_t n) {
  int bits = bitsOf((uint64_t)n) + 1;
  return bits < LATHE_SORT_DIGIT ? bits : LATHE_SORT_DIGIT;
}

/* How many bits below the digit tell words with the same digit apart, as far as their number says. */
static int bitsToTellApart(const uint32_t *counts, Digit digit, int64_t n) {
  uint64_t squares = 0;
  for (unsigned d = 0; d < 1u << digit.bits; ++d)
    squares += (uint64_t)counts[d] * counts[d];
  int bits = bitsOf(squares / (uint64_t)n - 1) + 3; /* a word is with so many others on average */
  return bits < digit.shift ? bits : digit.shift;
}

static void toStarts(uint32_t *counts, Digit digit) {
  uint32_t next = 0;
  for (unsigned d = 0; d < 1u << digit.bits; ++d) {
    uint32_t count = counts[d];
    counts[d] = next;
    next += count;
  }
}

/* Neighbouring digits together, so that there are at most LATHE_SORT_PARTS: two parts side by side have more than `most` words. */
static int cutIntoParts(const uint32_t *counts, Digit digit, int64_t n, uint16_t *partOf, int64_t *ends) {
  int64_t least = n / (LATHE_SORT_PARTS / 2 - 1), most = least > LATHE_SORT_PART ? least : LATHE_SORT_PART, start = 0, end = 0;
  int part = 0;
  for (unsigned d = 0; d < 1u << digit.bits; ++d) {
    if (end > start && end - start + counts[d] > most) {
      ends[part++] = end;
      start = end;
    }
    end += counts[d];
    partOf[d] = (uint16_t)part;
  }
  ends[part] = end;
  return part + 1;
}

typedef uint64_t Narrow; /* key << 32 | index */
static inline bool narrowLess(const Narrow *a, const Narrow *b) { return *a < *b; }

static inline uint64_t narrowKey(const Narrow *w) { return *w >> 32; }
/* Of all words with this key the first that there may be. */
static inline Narrow narrowAhead(uint64_t key) { return key << 32; }

typedef LatheWideWord Wide;
static inline bool wideLess(const Wide *a, const Wide *b) {
  return a->key < b->key || (a->key == b->key && a->index < b->index);
}
static inline uint64_t wideKey(const Wide *w) { return w->key; }
static inline Wide wideAhead(uint64_t key) { return (Wide){key, 0}; }

#define WORD Narrow
#define NAME(x) narrow##x
#include "SortRadix.h"
#include "SortWords.h"
#undef WORD
#undef NAME
#define WORD Wide
#define NAME(x) wide##x
#include "SortRadix.h"
#include "SortWords.h"

#undef WORD
#undef NAME

/* Keys alone. */
typedef uint32_t Key;
static inline bool keyLess(const Key *a, const Key *b) { return *a < *b; }
static inline uint64_t keyKey(const Key *w) { return *w; }
#define WORD Key
#define NAME(x) key##x
#include "SortRadix.h"
#undef WORD
#undef NAME
typedef uint64_t WideKey;
static inline bool wideKeyLess(const WideKey *a, const WideKey *b) { return *a < *b; }
static inline uint64_t wideKeyKey(const WideKey *w) { return *w; }
#define WORD WideKey
#define NAME(x) wideKey##x
#include "SortRadix.h"

const uint32_t *lathe_sort_keys(uint32_t *keys, uint32_t *room, int64_t n) { return n > 0 ? keyAll(keys, room, n) : keys; }
const uint64_t *lathe_sort_wide_keys(uint64_t *keys, uint64_t *room, int64_t n) { return n > 0 ? wideKeyAll(keys, room, n) : keys; }

int64_t lathe_find_key(const uint32_t *keys, int64_t n, uint64_t key) { return keyFind(keys, n, key); }
int64_t lathe_find_wide_key(const uint64_t *keys, int64_t n, uint64_t key) { return wideKeyFind(keys, n, key); }

const uint64_t *lathe_sort_words(uint64_t *words, uint64_t *room, int64_t n, int64_t count) {
  return narrowSort(words, room, n, count);
}

const LatheWideWord *lathe_sort_wide_words(LatheWideWord *words, LatheWideWord *room, int64_t n, int64_t count) {
  return wideSort(words, room, n, count);
}

int64_t lathe_select_begin(uint64_t *words, int64_t n, int64_t size, int64_t count) { return narrowBegin(words, n, size, count); }
int64_t lathe_select_wide_begin(LatheWideWord *words, int64_t n, int64_t size, int64_t count) {
  return wideBegin(words, n, size, count);
}

void lathe_select_offer(uint64_t *words, int64_t size, int64_t count, const uint64_t *more, int64_t n) {
  narrowTake(words, size, count, more, n);
}
void lathe_select_wide_offer(LatheWideWord *words, int64_t size, int64_t count, const LatheWideWord *more, int64_t n) {
  wideTake(words, size, count, more, n);
}

const uint64_t *lathe_select_end(uint64_t *words, uint64_t *room, int64_t size, int64_t count) {
  return narrowEnd(words, room, size, count);
}

const LatheWideWord *lathe_select_wide_end(LatheWideWord *words, LatheWideWord *room, int64_t size, int64_t count) {
  return wideEnd(words, room, size, count);
}
