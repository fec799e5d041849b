/*===- SortWords.h - The first of words of one kind ---------------------------===*\
|*
|* Included by Sort.c for each kind, behind SortRadix.h.
|*
\*===----------------------------------------------------------------------===*/

/* Puts the word at its place below `at` in a heap with the largest on top. */
static void NAME(SiftDown)(WORD *heap, int64_t at, int64_t n, WORD w) {
  for (int64_t child; (child = 2 * at + 1) < n; at = child) {
    if (child + 1 < n && NAME(Less)(&heap[child], &heap[child + 1]))
      ++child;
    if (!NAME(Less)(&w, &heap[child]))
      break;
    heap[at] = heap[child];
  }
  heap[at] = w;
}

static void NAME(MakeHeap)(WORD *heap, int64_t count) {
  for (int64_t i = count / 2; i-- > 0;)
    NAME(SiftDown)(heap, i, count, heap[i]);
}

/* The words that come before the largest in the heap take its place. */
static void NAME(Offer)(WORD *heap, int64_t count, const WORD *words, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    if (NAME(Less)(&words[i], &heap[0]))
      NAME(SiftDown)(heap, 0, count, words[i]);
}

static void NAME(SortHeap)(WORD *heap, int64_t count) {
  for (int64_t left = count; left-- > 1;) {
    WORD largest = heap[0];
    NAME(SiftDown)(heap, 0, left, heap[left]);
    heap[left] = largest;
  }
}

/* Among words whose keys are from `low` to `high`: the range of keys, a 256th of it or a single one, in which the count-th is. Returns how many
 * come before the range; *within is how many are in it. */
static int64_t NAME(Refine)(const WORD *words, int64_t n, int64_t count, uint64_t *low, uint64_t *high, int64_t *within) {
  int64_t counts[256] = {0}, below = 0;
  uint64_t first = *low, span = *high - first;
  int bits = 64 - (span ? __builtin_clzll(span) : 64), shift = bits > 8 ? bits - 8 : 0;
  for (int64_t i = 0; i < n; ++i) {
    uint64_t offset = NAME(Key)(&words[i]) - first; /* of those before it large */
    if (offset <= span)
      ++counts[offset >> shift];
  }
  unsigned last = 0;
  while (below + counts[last] < count)
    below += counts[last++];
  *low = first + ((uint64_t)last << shift);
  uint64_t end = *low + (((uint64_t)1 << shift) - 1);
  *high = end < *high ? end : *high;
  *within = counts[last];
  return below;
}

/* Keeps, in place and in order, the words whose keys are at most `high`; says how many. No branch: either is as likely. */
static int64_t NAME(KeepTo)(WORD *words, int64_t n, uint64_t high) {
  int64_t kept = 0;
  for (int64_t i = 0; i < n; ++i) {
    WORD w = words[i];
    words[kept] = w;
    kept += NAME(Key)(&w) <= high;
  }
  return kept;
}

/* The same with the first `room` alone of those whose key is `high`. */
static int64_t NAME(KeepFirst)(WORD *words, int64_t n, uint64_t high, int64_t room) {
  int64_t kept = 0;
  for (int64_t i = 0; i < n; ++i) {
    WORD w = words[i];
    uint64_t key = NAME(Key)(&w);
    bool last = key == high;
    words[kept] = w;
    kept += (key < high) | (last & (room > 0));
    room -= last;
  }
  return kept;
}

/* Of many words those up to a key that hardly fewer than `count` words have or come before, as a sample says; all of them where it is wrong. */
static LATHE_OWN_FRAME int64_t NAME(DropBySample)(WORD *words, int64_t n, int64_t count) {
  WORD sample[LATHE_SORT_SAMPLE], room[LATHE_SORT_SAMPLE];
  int64_t expected = count * LATHE_SORT_SAMPLE / n + 1, rank = expected + ((int64_t)2 << (bitsOf((uint64_t)expected) / 2)), held = 0; /* two to three deviations more */
  if (rank >= LATHE_SORT_SAMPLE)
    return n;
  for (int64_t i = 0; i < LATHE_SORT_SAMPLE; ++i)
    sample[i] = words[i * (n / LATHE_SORT_SAMPLE)];
  uint64_t most = NAME(Key)(&NAME(Near)(sample, room, LATHE_SORT_SAMPLE)[rank]);
  for (int64_t i = 0; i < n; ++i)
    held += NAME(Key)(&words[i]) <= most;
  return held < count ? n : NAME(KeepTo)(words, n, most);
}

/* Drops, in place and in order, words that are not among the first `count`, of which `spare(count)` more may be
 * left; says how many are. Words are ordered by index, so that of equal keys those that come first are kept. Later words are among the first only
 * where they come before *bound: `count` have its key or a smaller one. */
static int64_t NAME(DropLast)(WORD *words, int64_t n, int64_t count, WORD *bound) {
  if (n >= LATHE_SORT_MANY && count <= n / 4) /* of half of them it would leave most */
    n = NAME(DropBySample)(words, n, count);
  KeyRange range = NAME(Range)(words, n);
  uint64_t low = range.low, high = range.high;
  int64_t below = 0, within = n;
  while (below + within > count + spare(count) && low < high)
    below += NAME(Refine)(words, n, count - below, &low, &high, &within);
  *bound = NAME(Ahead)(high);
  return low < high ? NAME(KeepTo)(words, n, high) : NAME(KeepFirst)(words, n, high, count - below);
}

/* The first `count` of the `n` words in order: at the start of `words` or of `room`. */
static const WORD *NAME(Sort)(WORD *words, WORD *room, int64_t n, int64_t count) {
  if (count <= 0)
    return words;
  if (isFew(n, count)) {
    NAME(MakeHeap)(words, count);
    NAME(Offer)(words, count, words + count, n - count);
    NAME(SortHeap)(words, count);
    return words;
  }
  WORD bound;
  if (count + spare(count) < n)
    n = NAME(DropLast)(words, n, count, &bound);
  return NAME(All)(words, room, n);
}

/*===-- Words that pass by --------------------------------------------------===*\
|*
|* Few are kept in a heap. More are collected: words[0] is a bound which those that are wanted come before, words[1] the number of words from
|* words[2] on. When they are several times as many as wanted, those that are not wanted are dropped, and the bound sinks. Each is
|* written once and read a few times, whatever the order in which they come.
|*
\*===----------------------------------------------------------------------===*/

static inline int64_t NAME(Collected)(const WORD *words) { return *(const int64_t *)&words[1]; }

static void NAME(SetCollected)(WORD *words, int64_t n) { *(int64_t *)&words[1] = n; }

/* The last of the collected words, of which there are enough: as later ones have larger indices, one with its key comes too late. */
static void NAME(Bound)(WORD *words, int64_t n) {
  words[0] = words[2];
  for (int64_t i = 1; i < n; ++i)
    if (NAME(Less)(&words[0], &words[2 + i]))
      words[0] = words[2 + i];
}

static void NAME(Collect)(WORD *words, int64_t count, const WORD *more, int64_t n) {
  WORD bound = words[0], *to = words + 2 + NAME(Collected)(words);
  for (int64_t i = 0; i < n; ++i) {
    WORD w = more[i];
    *to = w;
    to += NAME(Less)(&w, &bound);
  }
  int64_t held = to - (words + 2);
  if (held > LATHE_SORT_COLLECTED * count)
    held = NAME(DropLast)(words + 2, held, count, &words[0]);
  NAME(SetCollected)(words, held);
}

/* Of the first `n` words of a row of `size`: 0 where all of its words should be written down instead. */
static int64_t NAME(Begin)(WORD *words, int64_t n, int64_t size, int64_t count) {
  if (count <= 0 || count > n)
    return 0;
  if (isFew(size, count)) {
    NAME(MakeHeap)(words, count);
    NAME(Offer)(words, count, words + count, n - count);
    return 1;
  }
  if (!isCollected(size, count))
    return 0;
  memmove(words + 2, words, (size_t)n * sizeof(WORD));
  NAME(Bound)(words, n);
  NAME(SetCollected)(words, n);
  return 1;
}

static void NAME(Take)(WORD *words, int64_t size, int64_t count, const WORD *more, int64_t n) {
  if (isFew(size, count))
    NAME(Offer)(words, count, more, n);
  else
    NAME(Collect)(words, count, more, n);
}

static const WORD *NAME(End)(WORD *words, WORD *room, int64_t size, int64_t count) {
  if (!isFew(size, count)) {
    int64_t held = NAME(DropLast)(words + 2, NAME(Collected)(words), count, &words[0]);
    return NAME(All)(words + 2, room, held);
  }
  NAME(SortHeap)(words, count);
  return words;
}
