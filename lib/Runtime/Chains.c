/*===- Chains.c - Which steps of a plan take turns --------------------------===*/
#include "Runtime.h"

/* An image that takes less of a second-level cache stays in it. */
enum { CachePerImage = 2 };

void latheReadStage(LatheStage *s, const LathePlannedStep *step, const int64_t *words, uint64_t scratchBytes) {
  int64_t unit = words[LATHE_PLAN_UNIT], operand = words[LATHE_PLAN_OPERAND];
  *s = (LatheStage){.planned = step, .unit = unit, .rows = words[LATHE_PLAN_ROWS], .rowBytes = words[LATHE_PLAN_ROW_BYTES],
                    .result = (uint32_t)words[LATHE_PLAN_RESULT], .operand = operand ? (uint32_t)operand - 1 : LATHE_NONE,
                    .operandRowBytes = words[LATHE_PLAN_OPERAND_ROW_BYTES], .rowsOfLine = words[LATHE_PLAN_ROWS_OF_LINE],
                    .lines = words[LATHE_PLAN_LINES], .imageRows = words[LATHE_PLAN_IMAGE_ROWS], .lineStep = words[LATHE_PLAN_STEP],
                    .low = words[LATHE_PLAN_LOW], .high = words[LATHE_PLAN_HIGH], .scratchBytes = scratchBytes};
  s->groups = unit > 0 && step->items % unit == 0 ? step->items / unit : 0;
  if (s->groups < 1 || s->rows < s->groups || s->rowsOfLine < 1 || s->lines < 1)
    s->groups = 0;
}

/* How often the step has the buffer. */
static uint32_t countUses(const LatheContext *context, const LathePlannedStep *step, uint32_t id) {
  const LatheBuffer *buffers = LATHE_ARRAY(context, LatheBuffer, context->program->buffers);
  const uint32_t *ids = LATHE_ARRAY(context, uint32_t, step->step->buffers);
  uint32_t uses = 0;
  uint64_t offset;
  for (uint32_t b = 0; b < step->step->buffers.count; ++b)
    uses += latheRootOf(buffers, ids[b], &offset) == id;
  return uses;
}

static uint32_t resultOf(const LatheContext *context, const LatheStage *s) {
  return LATHE_ARRAY(context, uint32_t, s->planned->step->buffers)[s->result];
}

/* Is the stage's result an image that the next step alone reads, too large for a cache, as it is written? */
static bool isLink(const LatheContext *context, const LathePlan *plan, uint32_t i) {
  const LatheStage *s = &plan->stages[i], *next = s + 1;
  if (i + 1 >= plan->numSteps || !s->groups || !next->groups || next->operand == LATHE_NONE || s->rowBytes != next->operandRowBytes ||
      s->planned->step->buffers.count > LATHE_CHAIN_BUFFERS || next->planned->step->buffers.count > LATHE_CHAIN_BUFFERS)
    return false;
  uint32_t id = resultOf(context, s);
  const LatheBuffer *buffer = &LATHE_ARRAY(context, LatheBuffer, context->program->buffers)[id];
  if (buffer->kind != LATHE_BUFFER_TEMP || buffer->firstStep != i || buffer->lastStep != i + 1 ||
      LATHE_ARRAY(context, uint32_t, next->planned->step->buffers)[next->operand] != id || countUses(context, s->planned, id) != 1 ||
      countUses(context, next->planned, id) != 1)
    return false;
  int64_t parts = s->planned->parts > next->planned->parts ? s->planned->parts : next->planned->parts;
  return s->rows * s->rowBytes / parts > (int64_t)context->cacheBytes / CachePerImage;
}

/* Steps from `first` on: what a step writes while others still read may be nothing that these read, under any name. */
static bool areApart(const LatheContext *context, const LathePlan *plan, uint32_t first, uint32_t last) {
  const LatheBuffer *buffers = LATHE_ARRAY(context, LatheBuffer, context->program->buffers);
  uint64_t offset;
  uint32_t written = latheRootOf(buffers, resultOf(context, &plan->stages[last]), &offset);
  if (buffers[written].kind != LATHE_BUFFER_TEMP && buffers[written].kind != LATHE_BUFFER_OUTPUT)
    return false;
  for (uint32_t i = first; i < last; ++i) {
    const LatheStep *step = plan->steps[i].step;
    const uint32_t *ids = LATHE_ARRAY(context, uint32_t, step->buffers);
    if (countUses(context, &plan->steps[i], written))
      return false;
    for (uint32_t b = 0; b < step->buffers.count; ++b) {
      uint32_t kind = buffers[latheRootOf(buffers, ids[b], &offset)].kind;
      if (kind != LATHE_BUFFER_TEMP && kind != LATHE_BUFFER_CONST &&
          (kind != LATHE_BUFFER_INPUT || buffers[written].kind == LATHE_BUFFER_OUTPUT)) /* the caller's memory, perhaps the same */
        return false;
    }
  }
  return true;
}

static bool makeChain(LatheContext *context, LathePlan *plan, uint32_t first, uint32_t count) {
  LathePlannedStep *steps = plan->steps + first;
  LatheChain *c = &plan->chains[first + count - 1];
  *c = (LatheChain){.stages = plan->stages + first, .count = count, .parts = 1};
  for (uint32_t k = 0; k < count; ++k)
    c->parts = steps[k].parts > c->parts ? steps[k].parts : c->parts;
  uint64_t scratch = latheFitChain(c, (int64_t)context->cacheBytes);
  if (!scratch)
    return false;
  plan->scratchBytes = scratch > plan->scratchBytes ? scratch : plan->scratchBytes;
  for (uint32_t k = 0; k < count; ++k) {
    steps[k].turns = 1;
    steps[k].waits = k + 1 < count;
  }
  steps[count - 1].chain = c;
  return true;
}

bool lathePlanChains(LatheContext *context, LathePlan *plan) {
  bool any = false;
  /* Under a profile each step has its own time, though it is longer so. */
  if (plan->dynamic || context->backend || !context->cacheBytes || context->profile)
    return false;
  for (uint32_t i = 0, count; i < plan->numSteps; i += count) {
    for (count = 1; count < LATHE_CHAIN_STAGES && isLink(context, plan, i + count - 1) && areApart(context, plan, i, i + count);)
      ++count;
    while (count > 1 && !makeChain(context, plan, i, count))
      --count;
    any |= count > 1;
  }
  return any;
}

void latheSpanChain(const LathePlan *plan, uint32_t *first, uint32_t *last) {
  while (*first > 0 && *first <= plan->numSteps && plan->steps[*first - 1].waits)
    --*first;
  while (*last < plan->numSteps && plan->steps[*last].waits)
    ++*last;
}

bool latheIsStriped(const LatheContext *context, const LathePlan *plan, uint32_t id) {
  uint32_t step = LATHE_ARRAY(context, LatheBuffer, context->program->buffers)[id].firstStep;
  return step < plan->numSteps && plan->steps[step].waits && resultOf(context, &plan->stages[step]) == id;
}
