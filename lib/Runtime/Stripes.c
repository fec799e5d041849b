/*===- Stripes.c - Kernels that take turns ----------------------------------===*\
|*
|* A kernel writes an image that no second-level cache holds, and the next one reads it, in the same order: it waits for what the first one
|* had in the cache and lost. So they take turns. The first one computes as many rows as the second one needs for its next ones, which are
|* read before they are lost; and rows that were read are overwritten by those that follow, so that the image is never there as a whole.
|* Such steps are a chain. A thread has the chain for some rows of its last result, and computes by itself what these need of the others:
|* no thread waits for another one, and the few rows that two of them need are computed twice, equally.
|*
\*===----------------------------------------------------------------------===*/
#include "Stripes.h"
#include "Libc.h"

/* Stripes take this share of a second-level cache at most, beside what else the kernels read and write. Of the rows one in so many may be
 * computed twice. */
enum { CachePerStripes = 2, RowsPerExtra = 16 };

/* What a thread has of a stage's result: the rows from `base` to `end`, and which group comes next (negative: there is none yet). */
typedef struct {
  int64_t next, base, end;
} Stripe;

typedef struct {
  const LatheChain *chain;
  char *scratch; /* the thread's; NULL where rows are counted and nothing is computed */
  int64_t computed[LATHE_CHAIN_STAGES], most[LATHE_CHAIN_STAGES]; /* then: rows, and how many of them are held at once */
  Stripe stripes[LATHE_CHAIN_STAGES];
} Walk;

/*===-- Rows and groups -----------------------------------------------------===*/

static int64_t rowOfGroup(const LatheStage *s, int64_t group) {
  int64_t low = s->rows / s->groups, high = s->rows % s->groups;
  return group * low + (group < high ? group : high);
}

static int64_t groupOfRow(const LatheStage *s, int64_t row) {
  int64_t low = s->rows / s->groups, high = s->rows % s->groups;
  return row < high * (low + 1) ? row / (low + 1) : high + (row - high * (low + 1)) / low;
}

/* Rows [*first, *last) of a stage become those that they need of the stage before, which has `rows`. */
static void findNeeded(const LatheStage *s, int64_t rows, int64_t *first, int64_t *last) {
  int64_t top = *first / s->rowsOfLine, bottom = (*last - 1) / s->rowsOfLine;
  int64_t from = s->lineStep * (top % s->lines) + s->low, to = s->lineStep * (bottom % s->lines) + s->high;
  from = top / s->lines * s->imageRows + (from > 0 ? from : 0);
  to = bottom / s->lines * s->imageRows + (to < s->imageRows ? to : s->imageRows);
  *first = from < rows ? from : rows - 1;
  to = to < rows ? to : rows;
  *last = to > *first ? to : *first + 1;
}

/*===-- A walk along the last stage's groups --------------------------------===*/

static char *stripeAt(const Walk *w, uint32_t k) {
  const LatheStage *s = &w->chain->stages[k];
  return w->scratch + s->offset - w->stripes[k].base * s->rowBytes;
}

static void runGroups(const Walk *w, uint32_t k, int64_t from, int64_t to) {
  const LatheStage *s = &w->chain->stages[k];
  const LathePlannedStep *step = s->planned;
  void *buffers[LATHE_CHAIN_BUFFERS];
  memcpy(buffers, step->buffers, sizeof(void *) * step->step->buffers.count);
  if (k > 0)
    buffers[s->operand] = stripeAt(w, k - 1);
  if (k + 1 < w->chain->count)
    buffers[s->result] = stripeAt(w, k);
  step->fn(buffers, step->sizes, from * s->unit, to * s->unit, w->scratch);
}

/* Room for rows up to `end`; those before `keep` are not needed any more. */
static void makeRoom(Walk *w, uint32_t k, int64_t keep, int64_t end) {
  const LatheStage *s = &w->chain->stages[k];
  Stripe *t = &w->stripes[k];
  if (!w->scratch) {
    w->most[k] = end - keep > w->most[k] ? end - keep : w->most[k];
  } else if (end - t->base > s->capacity) {
    char *to = w->scratch + s->offset;
    memmove(to, to + (keep - t->base) * s->rowBytes, (size_t)((t->end - keep) * s->rowBytes));
    t->base = keep;
  }
  t->end = end;
}

/* Sees to it that rows [first, last) of a stage are there. Neither end lies before that of the last call. */
static void produce(Walk *w, uint32_t k, int64_t first, int64_t last) {
  const LatheStage *s = &w->chain->stages[k];
  Stripe *t = &w->stripes[k];
  if (t->next < 0) {
    t->next = groupOfRow(s, first);
    t->base = t->end = rowOfGroup(s, t->next);
  }
  int64_t to = groupOfRow(s, last - 1) + 1;
  if (to <= t->next)
    return;
  int64_t begin = rowOfGroup(s, t->next), end = rowOfGroup(s, to);
  if (k > 0) {
    int64_t needed = begin, neededEnd = end;
    findNeeded(s, w->chain->stages[k - 1].rows, &needed, &neededEnd);
    produce(w, k - 1, needed, neededEnd);
  }
  if (k + 1 < w->chain->count)
    makeRoom(w, k, first < begin ? first : begin, end);
  if (w->scratch)
    runGroups(w, k, t->next, to);
  w->computed[k] += end - begin;
  t->next = to;
}

/* A part of the chain: some of the last stage's groups. */
static void walkPart(Walk *w, uint32_t part) {
  const LatheChain *c = w->chain;
  const LatheStage *last = &c->stages[c->count - 1];
  int64_t from = last->groups * part / c->parts, to = last->groups * (part + 1) / c->parts;
  for (uint32_t k = 0; k < c->count; ++k)
    w->stripes[k] = (Stripe){-1, 0, 0};
  for (int64_t group = from; group < to; group += c->slice)
    produce(w, c->count - 1, rowOfGroup(last, group), rowOfGroup(last, group + c->slice < to ? group + c->slice : to));
}

typedef struct {
  const LatheChain *chain;
  char *scratch;
  uint64_t scratchBytes;
} ChainRun;

static void runPart(void *argument, uint32_t part, uint32_t thread) {
  const ChainRun *run = argument;
  Walk w = {.chain = run->chain, .scratch = run->scratch + run->scratchBytes * thread};
  walkPart(&w, part);
}

void latheRunChain(LathePool *pool, const LatheChain *chain, char *scratch, uint64_t scratchBytes) {
  ChainRun run = {chain, scratch, scratchBytes};
  if (chain->parts == 1)
    runPart(&run, 0, 0);
  else
    lathePoolRun(pool, chain->parts, 1, runPart, &run);
}

/*===-- How many rows in a turn ---------------------------------------------===*/

/* The bytes of a thread's stripes; negative where too many rows would be computed twice. */
static int64_t countBytes(LatheChain *c) {
  Walk w = {.chain = c};
  for (uint32_t part = 0; part < c->parts; ++part)
    walkPart(&w, part);
  int64_t bytes = 0;
  for (uint32_t k = 0; k + 1 < c->count; ++k) {
    if (w.computed[k] - c->stages[k].rows > c->stages[k].rows / RowsPerExtra)
      return -1;
    c->stages[k].capacity = w.most[k];
    bytes += w.most[k] * c->stages[k].rowBytes;
  }
  return bytes;
}

/* As many rows in a turn as leave room in the stripes for those of the next one. */
static bool chooseSlice(LatheChain *c, int64_t cacheBytes) {
  int64_t groups = c->stages[c->count - 1].groups / c->parts, most = cacheBytes / CachePerStripes, best = 0;
  for (c->slice = 1; c->slice <= groups; c->slice *= 2) {
    int64_t bytes = countBytes(c);
    if (bytes < 0 || bytes > (c->slice == 1 ? most : most / 2))
      break;
    best = c->slice;
  }
  c->slice = best;
  return best && countBytes(c) >= 0;
}

/* The stripes lie behind the kernels' own scratch. With room for twice the rows that are held at once they are moved once in a while. */
uint64_t latheFitChain(LatheChain *c, int64_t cacheBytes) {
  if (!chooseSlice(c, cacheBytes))
    return 0;
  uint64_t bytes = 0;
  for (uint32_t k = 0; k < c->count; ++k)
    bytes = c->stages[k].scratchBytes > bytes ? c->stages[k].scratchBytes : bytes;
  for (uint32_t k = 0; k + 1 < c->count; ++k) {
    LatheStage *s = &c->stages[k];
    s->capacity *= 2;
    s->offset = bytes;
    bytes += ((uint64_t)(s->capacity * s->rowBytes) + 63) & ~(uint64_t)63;
  }
  return bytes;
}
