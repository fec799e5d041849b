/*===- SortRadix.h - Words of one kind, in the order of their keys' digits ----===*\
|*
|* Included by Sort.c for each kind: WORD, and NAME(x), which puts the kind's name in front. NAME(Less) and NAME(Key) exist. Words come in the order
|* of their indices, and every step leaves equal keys as they came.
|*
\*===----------------------------------------------------------------------===*/

static void NAME(Insert)(WORD *words, int64_t at) {
  WORD w = words[at];
  for (; at > 0 && NAME(Less)(&w, &words[at - 1]); --at)
    words[at] = words[at - 1];
  words[at] = w;
}

static void NAME(Copy)(const WORD *from, WORD *to, int64_t n) {
  if (from != to)
    memcpy(to, from, (size_t)n * sizeof(WORD));
}

static KeyRange NAME(Range)(const WORD *words, int64_t n) {
  uint64_t low = NAME(Key)(&words[0]), high = low;
  for (int64_t i = 1; i < n; ++i) {
    uint64_t key = NAME(Key)(&words[i]);
    low = key < low ? key : low;
    high = key > high ? key : high;
  }
  return (KeyRange){low, high};
}

static void NAME(Count)(const WORD *words, int64_t n, Digit digit, uint32_t *counts) {
  memset(counts, 0, sizeof *counts << digit.bits);
  for (int64_t i = 0; i < n; ++i)
    ++counts[digitOf(NAME(Key)(&words[i]), digit)];
}

/*===-- In a cache ----------------------------------------------------------===*/

static void NAME(Move)(const WORD *from, WORD *to, int64_t n, Digit digit, uint32_t *counts) {
  toStarts(counts, digit);
  for (int64_t i = 0; i < n; ++i)
    to[counts[digitOf(NAME(Key)(&from[i]), digit)]++] = from[i];
}

/* By so many leading bits of the keys that few words have them all in common, from the last digit of these to the first. The words are in the
 * array that is returned; *rest says how many bits are left. */
static LATHE_OWN_FRAME WORD *NAME(LeadingBits)(WORD *words, WORD *room, int64_t n, KeyRange range, int *rest) {
  uint32_t leading[1 << LATHE_SORT_LEADING], counts[1 << LATHE_SORT_DIGIT];
  Digit first = leadingDigit(range, digitsInCache(n));
  NAME(Count)(words, n, first, leading);
  int most = mostOfDigit(n), below = bitsToTellApart(leading, first, n), passes = (below + most - 1) / most;
  if (passes * most >= first.shift)
    below = first.shift;
  *rest = first.shift - below;
  for (int shift = *rest; passes > 0; --passes) {
    Digit digit = {range.low, shift, (first.shift - shift + passes - 1) / passes};
    shift += digit.bits;
    NAME(Count)(words, n, digit, counts);
    if (counts[digitOf(NAME(Key)(&words[0]), digit)] == n)
      continue;
    NAME(Move)(words, room, n, digit, counts);
    WORD *other = words;
    words = room;
    room = other;
  }
  NAME(Move)(words, room, n, first, leading);
  return room;
}

static WORD *NAME(Near)(WORD *words, WORD *room, int64_t n);

/* Words that are in order but for the last `rest` bits of their keys: most are where they belong, and the others are not far from there. Where many have the
 * bits before those in common, they are sorted by themselves. */
static void NAME(Mend)(WORD *words, WORD *room, int64_t n, uint64_t low, int rest) {
  for (int64_t i = 1; i < n; ++i) {
    if (!NAME(Less)(&words[i], &words[i - 1]))
      continue;
    if (i < LATHE_SORT_SHORT || !NAME(Less)(&words[i], &words[i - LATHE_SORT_SHORT])) {
      NAME(Insert)(words, i);
      continue;
    }
    uint64_t common = (NAME(Key)(&words[i]) - low) >> rest;
    int64_t first = i;
    while (first > 0 && (NAME(Key)(&words[first - 1]) - low) >> rest == common)
      --first;
    while (i + 1 < n && (NAME(Key)(&words[i + 1]) - low) >> rest == common)
      ++i;
    NAME(Copy)(NAME(Near)(words + first, room + first, i + 1 - first), words + first, i + 1 - first);
  }
}

/* What stays in a core's cache: sorted in the array that is returned. */
static WORD *NAME(Near)(WORD *words, WORD *room, int64_t n) {
  if (n <= LATHE_SORT_SHORT) {
    for (int64_t i = 1; i < n; ++i)
      NAME(Insert)(words, i);
    return words;
  }
  KeyRange range = NAME(Range)(words, n);
  if (range.low == range.high)
    return words;
  int rest;
  WORD *sorted = NAME(LeadingBits)(words, room, n, range, &rest);
  if (rest)
    NAME(Mend)(sorted, sorted == words ? room : words, n, range.low, rest);
  return sorted;
}

/*===-- Beyond a cache ------------------------------------------------------===*/

/* Where the parts end, by how often each digit occurs. */
static LATHE_OWN_FRAME int NAME(Cut)(const WORD *words, int64_t n, Digit digit, uint16_t *partOf, int64_t *ends) {
  uint32_t counts[1 << LATHE_SORT_FINE];
  NAME(Count)(words, n, digit, counts);
  return cutIntoParts(counts, digit, n, partOf, ends);
}

/* Each word to the end of its part; ends[p] is where the part p ends. The line behind a part's end is asked for long before it is written. */
static LATHE_OWN_FRAME int NAME(Distribute)(const WORD *from, WORD *to, int64_t n, KeyRange range, int64_t *ends) {
  uint16_t partOf[1 << LATHE_SORT_FINE];
  Digit digit = leadingDigit(range, LATHE_SORT_FINE);
  int parts = NAME(Cut)(from, n, digit, partOf, ends);
  for (int p = parts; p-- > 0;)
    ends[p] = p ? ends[p - 1] : 0;
  for (int64_t i = 0; i < n; ++i) {
    WORD *at = &to[ends[partOf[digitOf(NAME(Key)(&from[i]), digit)]]++];
    *at = from[i];
    __builtin_prefetch((char *)at + LATHE_SORT_LINE, 1);
  }
  return parts;
}

/* From `from` to `to`, which is it or the room: in parts that stay in a cache. While the words are in the room, a part of them uses the same words of
 * `from` as any other as its own room, which so stay in the cache, too, unless sorted ones lie there. */
static void NAME(Spread)(WORD *from, WORD *room, WORD *to, int64_t n) {
  KeyRange range = NAME(Range)(from, n);
  if (range.low == range.high) {
    NAME(Copy)(from, to, n);
    return;
  }
  int64_t ends[LATHE_SORT_PARTS], start = 0;
  int parts = NAME(Distribute)(from, room, n, range, ends);
  for (int p = 0; p < parts; start = ends[p++]) {
    WORD *part = room + start, *free = from == to ? from + start : from;
    int64_t size = ends[p] - start;
    if (isNear(size, sizeof(WORD)))
      NAME(Copy)(NAME(Near)(part, free, size), to + start, size);
    else
      NAME(Spread)(part, free, to + start, size);
  }
}

static const WORD *NAME(All)(WORD *words, WORD *room, int64_t n) {
  if (isNear(n, sizeof(WORD)))
    return NAME(Near)(words, room, n);
  NAME(Spread)(words, room, room, n);
  return room;
}

/* The first of words in order whose key is not smaller. */
static inline int64_t NAME(Find)(const WORD *words, int64_t n, uint64_t key) {
  int64_t from = 0;
  for (int64_t end = n; from < end;) {
    int64_t middle = from + (end - from) / 2;
    if (NAME(Key)(&words[middle]) < key)
      from = middle + 1;
    else
      end = middle;
  }
  return from;
}
