/*===- Arena.c - Where temporaries lie --------------------------------------===*\
|*
|* Largest first; each goes into the smallest gap between the items already placed whose lifetimes meet its own, or behind
|* them all. Ties go to the earlier item, so the layout depends on the sizes alone.
|*
\*===----------------------------------------------------------------------===*/
#include "Arena.h"
#include <stdbool.h>

static bool before(const LatheArenaItem *items, uint32_t a, uint32_t b) {
  return items[a].bytes != items[b].bytes ? items[a].bytes > items[b].bytes : a < b;
}

static void siftDown(const LatheArenaItem *items, uint32_t *order, uint32_t root, uint32_t count) {
  for (uint32_t child; (child = 2 * root + 1) < count; root = child) {
    if (child + 1 < count && before(items, order[child], order[child + 1]))
      ++child;
    if (!before(items, order[root], order[child]))
      return;
    uint32_t t = order[root];
    order[root] = order[child];
    order[child] = t;
  }
}

/* Heap sort: no recursion and no extra memory. */
static void sortBySize(const LatheArenaItem *items, uint32_t *order, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    order[i] = i;
  for (uint32_t i = count / 2; i-- > 0;)
    siftDown(items, order, i, count);
  for (uint32_t end = count; end-- > 1;) {
    uint32_t t = order[0];
    order[0] = order[end];
    order[end] = t;
    siftDown(items, order, 0, end);
  }
}

/* Keeps `placed` (indices of items that have an offset) sorted by offset. */
static void insertPlaced(const LatheArenaItem *items, uint32_t *placed, uint32_t count, uint32_t item) {
  uint32_t at = count;
  for (; at > 0 && items[placed[at - 1]].offset > items[item].offset; --at)
    placed[at] = placed[at - 1];
  placed[at] = item;
}

static uint64_t bestOffset(const LatheArenaItem *items, const uint32_t *placed, uint32_t count, const LatheArenaItem *item) {
  uint64_t end = 0, best = UINT64_MAX, bestGap = UINT64_MAX;
  for (uint32_t i = 0; i < count; ++i) {
    const LatheArenaItem *other = &items[placed[i]];
    if (other->last < item->first || item->last < other->first)
      continue;
    if (other->offset > end && other->offset - end >= item->bytes && other->offset - end < bestGap) {
      bestGap = other->offset - end;
      best = end;
    }
    if (other->offset + other->bytes > end)
      end = other->offset + other->bytes;
  }
  return best != UINT64_MAX ? best : end;
}

uint64_t latheLayOut(LatheArenaItem *items, uint32_t count, uint32_t *order) {
  uint64_t total = 0, sum = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (items[i].bytes > (uint64_t)INT64_MAX - LATHE_DATA_ALIGN)
      return UINT64_MAX;
    items[i].bytes = (items[i].bytes + LATHE_DATA_ALIGN - 1) & ~(uint64_t)(LATHE_DATA_ALIGN - 1);
    if (__builtin_add_overflow(sum, items[i].bytes, &sum))
      return UINT64_MAX;
  }
  sortBySize(items, order, count);
  /* `order[0 .. i)` is turned, as the loop goes, into the placed items sorted by offset. */
  for (uint32_t i = 0; i < count; ++i) {
    LatheArenaItem *item = &items[order[i]];
    item->offset = bestOffset(items, order, i, item);
    if (item->offset + item->bytes > total)
      total = item->offset + item->bytes;
    insertPlaced(items, order, i, order[i]);
  }
  return total;
}
