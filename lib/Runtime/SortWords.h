/*===- SortWords.h - Sorting words of one kind --------------------------------===*\
|*
|* Included by Sort.c for each kind: WORD, and NAME(x), which puts the kind's name in front. NAME(Less) and NAME(Digit) exist.
|*
\*===----------------------------------------------------------------------===*/

static void NAME(Insertion)(WORD *words, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    WORD w = words[i];
    int64_t j = i;
    for (; j > 0 && NAME(Less)(&w, &words[j - 1]); --j)
      words[j] = words[j - 1];
    words[j] = w;
  }
}

/* By the digits from the last to the first; those that are the same everywhere are passed over. */
static const WORD *NAME(Radix)(WORD *words, WORD *room, int64_t n, int keyBytes) {
  int64_t counts[8][LATHE_SORT_DIGITS];
  memset(counts, 0, (size_t)keyBytes * sizeof counts[0]);
  for (int64_t i = 0; i < n; ++i)
    for (int b = 0; b < keyBytes; ++b)
      ++counts[b][NAME(Digit)(&words[i], b)];
  for (int b = 0; b < keyBytes; ++b) {
    int64_t *starts = counts[b], next = 0;
    if (starts[NAME(Digit)(&words[0], b)] == n)
      continue;
    for (int d = 0; d < LATHE_SORT_DIGITS; ++d) {
      int64_t c = starts[d];
      starts[d] = next;
      next += c;
    }
    for (int64_t i = 0; i < n; ++i)
      room[starts[NAME(Digit)(&words[i], b)]++] = words[i];
    WORD *other = words;
    words = room;
    room = other;
  }
  return words;
}

/* What stays in a core's cache: by insertion, or by all digits. */
static const WORD *NAME(Near)(WORD *words, WORD *room, int64_t n, int keyBytes) {
  if (n > LATHE_SORT_SHORT)
    return NAME(Radix)(words, room, n, keyBytes);
  NAME(Insertion)(words, n);
  return words;
}

/* From `from` to `to`, which is it or the room beside it: words are spread by the digit `byte` until what has the same digits so far
 * stays in a cache. */
static void NAME(Spread)(WORD *from, WORD *room, WORD *to, int64_t n, int byte) {
  if (byte < 0 || n * (int64_t)sizeof(WORD) <= LATHE_SORT_NEAR) {
    const WORD *sorted = byte < 0 ? from : NAME(Near)(from, room, n, byte + 1);
    if (sorted != to)
      memcpy(to, sorted, (size_t)n * sizeof(WORD));
    return;
  }
  int64_t ends[LATHE_SORT_DIGITS] = {0}, next = 0;
  for (int64_t i = 0; i < n; ++i)
    ++ends[NAME(Digit)(&from[i], byte)];
  if (ends[NAME(Digit)(&from[0], byte)] == n) {
    NAME(Spread)(from, room, to, n, byte - 1);
    return;
  }
  for (int d = 0; d < LATHE_SORT_DIGITS; ++d) {
    int64_t c = ends[d];
    ends[d] = next;
    next += c;
  }
  for (int64_t i = 0; i < n; ++i)
    room[ends[NAME(Digit)(&from[i], byte)]++] = from[i];
  for (int64_t d = 0, start = 0; d < LATHE_SORT_DIGITS; start = ends[d++])
    if (ends[d] > start)
      NAME(Spread)(room + start, from + start, to + start, ends[d] - start, byte - 1);
}

static const WORD *NAME(All)(WORD *words, WORD *room, int64_t n, int keyBytes) {
  if (n * (int64_t)sizeof(WORD) <= LATHE_SORT_NEAR)
    return NAME(Near)(words, room, n, keyBytes);
  NAME(Spread)(words, room, words, n, keyBytes - 1);
  return words;
}

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

/* Drops, in place and in order, what the leading digits show not to be among the first `count`; says how many are left. */
static int64_t NAME(DropLast)(WORD *words, int64_t n, int64_t count, int keyBytes) {
  for (int b = keyBytes; b-- > 0;) {
    int64_t counts[LATHE_SORT_DIGITS] = {0}, below = 0, kept = 0;
    for (int64_t i = 0; i < n; ++i)
      ++counts[NAME(Digit)(&words[i], b)];
    unsigned last = 0;
    while (below + counts[last] < count)
      below += counts[last++];
    if (counts[last] == n) /* no difference here */
      continue;
    for (int64_t i = 0; i < n; ++i)
      if (NAME(Digit)(&words[i], b) <= last)
        words[kept++] = words[i];
    return kept;
  }
  return n;
}

/* The first `count` of the `n` words in order: at the start of `words` or of `room`. */
static const WORD *NAME(Sort)(WORD *words, WORD *room, int64_t n, int64_t count, int keyBytes) {
  if (count <= 0)
    return words;
  if (isFew(n, count)) {
    NAME(MakeHeap)(words, count);
    NAME(Offer)(words, count, words + count, n - count);
    NAME(SortHeap)(words, count);
    return words;
  }
  if (count <= n / 2 && n > LATHE_SORT_SHORT)
    n = NAME(DropLast)(words, n, count, keyBytes);
  return NAME(All)(words, room, n, keyBytes);
}

static int64_t NAME(Begin)(WORD *words, int64_t n, int64_t size, int64_t count) {
  if (count <= 0 || count > n || !isFew(size, count))
    return 0;
  NAME(MakeHeap)(words, count);
  NAME(Offer)(words, count, words + count, n - count);
  return 1;
}
