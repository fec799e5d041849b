/*===- Sort.c - The order of keys, for kernels that sort ---------------------===*/
#include "Runtime.h"

/* No two words are equal, so any way of sorting gives the one order. Short rows are sorted by insertion; of long ones
 * what is wanted is kept while the row passes by, where it is little, or what is not wanted is dropped; the rest goes through a radix sort of the key's bytes, which leaves equal keys as they came: by index. What does
 * not stay in a cache is spread by its leading digits first. */
enum { LATHE_SORT_SHORT = 40, LATHE_SORT_DIGITS = 256, LATHE_SORT_HEAP = 64, LATHE_SORT_COLLECTED = 4, LATHE_SORT_NEAR = 256 << 10 };
/* Fewer words than that are not spread, whatever cache they need: parts of fewer words than there are digits take longer to count than to move. */
enum { LATHE_SORT_PART = 512, LATHE_SORT_SPREAD = LATHE_SORT_PART * LATHE_SORT_DIGITS };

static inline bool isFew(int64_t n, int64_t count) { return count <= LATHE_SORT_HEAP && count <= n / 8; }
/* Words that are sorted without being wanted; lib/Target/Cpu/Order/Sort.cpp makes room for them. */
static inline int64_t spare(int64_t count) { return (count / 64 < 4096 ? count / 64 : 4096) + 128; }
static inline bool isNear(int64_t n, size_t wordBytes) { return n < LATHE_SORT_SPREAD || n * (int64_t)wordBytes <= LATHE_SORT_NEAR; }
static inline bool isCollected(int64_t n, int64_t count) { return count <= n / 16; }

typedef uint64_t Narrow; /* key << 32 | index */
static inline bool narrowLess(const Narrow *a, const Narrow *b) { return *a < *b; }
static inline unsigned narrowDigit(const Narrow *w, int byte) { return (unsigned)(*w >> (32 + 8 * byte)) & 255; }

static inline uint64_t narrowKey(const Narrow *w) { return *w >> 32; }

typedef LatheWideWord Wide;
static inline bool wideLess(const Wide *a, const Wide *b) {
  return a->key < b->key || (a->key == b->key && a->index < b->index);
}
static inline uint64_t wideKey(const Wide *w) { return w->key; }
static inline unsigned wideDigit(const Wide *w, int byte) { return (unsigned)(w->key >> 8 * byte) & 255; }

#define WORD Narrow
#define NAME(x) narrow##x
#include "SortWords.h"
#undef WORD
#undef NAME
#define WORD Wide
#define NAME(x) wide##x
#include "SortWords.h"

const uint64_t *lathe_sort_words(uint64_t *words, uint64_t *room, int64_t n, int64_t count, int64_t keyBytes) {
  return narrowSort(words, room, n, count, (int)keyBytes);
}

const LatheWideWord *lathe_sort_wide_words(LatheWideWord *words, LatheWideWord *room, int64_t n, int64_t count, int64_t keyBytes) {
  return wideSort(words, room, n, count, (int)keyBytes);
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

const uint64_t *lathe_select_end(uint64_t *words, uint64_t *room, int64_t size, int64_t count, int64_t keyBytes) {
  return narrowEnd(words, room, size, count, (int)keyBytes);
}

const LatheWideWord *lathe_select_wide_end(LatheWideWord *words, LatheWideWord *room, int64_t size, int64_t count, int64_t keyBytes) {
  return wideEnd(words, room, size, count, (int)keyBytes);
}
