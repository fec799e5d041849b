/*===- Plan.c - Everything that depends on the inputs' shapes alone ---------===*/
#include "Runtime.h"

/*===-- Memory: one block per plan ------------------------------------------===*/
typedef struct {
  char *memory; /* NULL while only counting */
  uint64_t used;
} Block;

static void *take(Block *block, uint64_t count, uint64_t size) {
  void *at = block->memory ? block->memory + block->used : NULL;
  block->used += (count * size + 15) & ~(uint64_t)15;
  return at;
}

static uint32_t countPointers(const LatheContext *context, uint32_t *parameters) {
  const LatheStep *steps = LATHE_ARRAY(context, LatheStep, context->program->steps);
  uint32_t pointers = 0;
  *parameters = 0;
  for (uint32_t i = 0; i < context->program->steps.count; ++i) {
    pointers += steps[i].buffers.count;
    *parameters += steps[i].slots.count + LATHE_FACT_WORDS;
  }
  return pointers;
}

static void carve(const LatheContext *context, LathePlan *plan, Block *block) {
  uint32_t parameters, pointers = countPointers(context, &parameters);
  plan->rawDims = take(block, context->numRawDims, sizeof(int64_t));
  plan->sizes = take(block, context->meta->numSlots, sizeof(int64_t));
  plan->steps = take(block, context->program->steps.count, sizeof(LathePlannedStep));
  plan->stages = take(block, context->program->steps.count, sizeof(LatheStage));
  plan->chains = take(block, context->program->steps.count, sizeof(LatheChain));
  plan->pointers = take(block, pointers, sizeof(void *));
  plan->parameters = take(block, parameters, sizeof(int64_t));
  plan->patches = take(block, pointers, sizeof(LathePatch));
  plan->arenaOffsets = take(block, context->program->buffers.count, sizeof(uint64_t));
}

static LathePlan *allocatePlan(LatheContext *context) {
  LathePlan counting;
  Block block = {NULL, (sizeof(LathePlan) + 15) & ~(uint64_t)15};
  carve(context, &counting, &block);
  LathePlan *plan = calloc(1, block.used);
  if (!plan) {
    latheOutOfMemory(context, block.used, "a plan");
    return NULL;
  }
  block = (Block){(char *)plan, (sizeof(LathePlan) + 15) & ~(uint64_t)15};
  carve(context, plan, &block);
  return plan;
}

/*===-- Arena ---------------------------------------------------------------===*/

/* The largest of the temporaries, to name it where there is no room for them. */
static uint32_t largestOf(const LatheContext *context, const LathePlan *plan) {
  const LatheBuffer *buffers = LATHE_ARRAY(context, LatheBuffer, context->program->buffers);
  uint32_t largest = LATHE_NONE;
  for (uint32_t i = 0; i < context->program->buffers.count; ++i)
    if (buffers[i].kind == LATHE_BUFFER_TEMP &&
        (largest == LATHE_NONE || plan->sizes[buffers[i].bytesSlot] > plan->sizes[buffers[largest].bytesSlot]))
      largest = i;
  return largest;
}

static LatheStatus layOut(LatheContext *context, LathePlan *plan) {
  const LatheBuffer *buffers = LATHE_ARRAY(context, LatheBuffer, context->program->buffers);
  uint32_t numBuffers = context->program->buffers.count, count = 0;
  if (!numBuffers)
    return LATHE_OK;
  LatheArenaItem *items = malloc((sizeof(LatheArenaItem) + 2 * sizeof(uint32_t)) * numBuffers);
  if (!items)
    return latheOutOfMemory(context, sizeof(LatheArenaItem) * numBuffers, "the arena's layout");
  uint32_t *order = (uint32_t *)(items + numBuffers), *ids = order + numBuffers;
  LatheStatus status = LATHE_OK;
  for (uint32_t i = 0; i < numBuffers; ++i) {
    if (buffers[i].kind != LATHE_BUFFER_TEMP)
      continue;
    int64_t bytes = plan->sizes[buffers[i].bytesSlot];
    if (bytes < 0 && !status) {
      char what[LATHE_MAX_NAME];
      latheDescribeBuffer(context, i, buffers[i].firstStep, what);
      status = latheFail(context, LATHE_INVALID, "the inputs' dimensions give %s a negative size: %lld bytes", what,
                         (long long)bytes);
    }
    uint32_t first = buffers[i].firstStep, last = buffers[i].lastStep;
    latheSpanChain(plan, &first, &last);
    ids[count] = i;
    items[count++] = (LatheArenaItem){latheIsStriped(context, plan, i) ? 0 : (uint64_t)bytes, first, last, 0};
  }
  plan->arenaBytes = status ? 0 : latheLayOut(items, count, order);
  if (plan->arenaBytes == UINT64_MAX) {
    char what[LATHE_MAX_NAME];
    uint32_t id = largestOf(context, plan);
    latheDescribeBuffer(context, id, buffers[id].firstStep, what);
    status = latheFail(context, LATHE_INVALID,
                       "the inputs' dimensions give intermediate tensors that no memory can hold; the largest, %s, has %lld bytes", what,
                       (long long)plan->sizes[buffers[id].bytesSlot]);
  }
  for (uint32_t i = 0; i < count; ++i)
    plan->arenaOffsets[ids[i]] = items[i].offset;
  free(items);
  return status;
}

/*===-- Steps ---------------------------------------------------------------===*/

void lathePlanKernel(const LatheContext *context, LathePlannedStep *step, LathePlanFn planFn, uint64_t *scratchBytes, LatheStage *stage) {
  int64_t out[LATHE_PLAN_WORDS] = {0};
  planFn(step->sizes, out);
  latheShareOut(step, out, context->threads);
  uint64_t scratch = out[LATHE_PLAN_SCRATCH] > 0 ? ((uint64_t)out[LATHE_PLAN_SCRATCH] + 63) & ~(uint64_t)63 : 0;
  if (scratch > *scratchBytes)
    *scratchBytes = scratch;
  if (stage)
    latheReadStage(stage, step, out, scratch);
}

static void recordPatches(const LatheContext *context, LathePlan *plan, const LatheStep *step, uint32_t firstPointer) {
  const LatheBuffer *buffers = LATHE_ARRAY(context, LatheBuffer, context->program->buffers);
  const uint32_t *ids = LATHE_ARRAY(context, uint32_t, step->buffers);
  for (uint32_t b = 0; b < step->buffers.count; ++b) {
    uint64_t offset;
    const LatheBuffer *root = &buffers[latheRootOf(buffers, ids[b], &offset)];
    if (root->kind == LATHE_BUFFER_INPUT || root->kind == LATHE_BUFFER_OUTPUT) {
      uint32_t tensor = root->index + (root->kind == LATHE_BUFFER_OUTPUT ? context->numInputs : 0);
      plan->patches[plan->numPatches++] = (LathePatch){firstPointer + b, tensor, offset};
    }
  }
}

static void planSteps(LatheContext *context, LathePlan *plan) {
  const LatheStep *steps = LATHE_ARRAY(context, LatheStep, context->program->steps);
  uint32_t pointer = 0, parameter = 0;
  plan->numSteps = context->program->steps.count;
  for (uint32_t i = 0; i < plan->numSteps; ++i) {
    const LatheStep *step = &steps[i];
    const uint32_t *slots = LATHE_ARRAY(context, uint32_t, step->slots);
    LathePlannedStep *out = &plan->steps[i];
    *out = (LathePlannedStep){.buffers = plan->pointers + pointer, .sizes = plan->parameters + parameter, .parts = 1,
                              .kind = step->kind, .step = step};
    for (uint32_t s = 0; s < step->slots.count; ++s)
      out->sizes[s] = plan->sizes[slots[s]];
    out->sizes[step->slots.count + LATHE_FACT_THREADS] = context->threads;
    out->sizes[step->slots.count + LATHE_FACT_CACHE] = (int64_t)context->cacheBytes;
    out->sizes[step->slots.count + LATHE_FACT_SHARED] = (int64_t)(context->sharedCacheBytes / context->threads);
    recordPatches(context, plan, step, pointer);
    pointer += step->buffers.count;
    parameter += step->slots.count + LATHE_FACT_WORDS;
    bool dynamic = step->flags & LATHE_STEP_DYNAMIC;
    plan->dynamic |= dynamic;
    if (step->kind != LATHE_STEP_KERNEL || context->backend)
      continue;
    const LatheVariant *variant = &context->variants[step->target];
    out->fn = (LatheKernelFn)context->functions[variant->fn];
    if (!dynamic)
      lathePlanKernel(context, out, (LathePlanFn)context->functions[variant->plan], &plan->scratchBytes, &plan->stages[i]);
  }
}

static LatheStatus fillPlan(LatheContext *context, LathePlan *plan) {
  memcpy(plan->rawDims, context->rawDims, sizeof(int64_t) * context->numRawDims);
  LatheStatus status = latheBindSizes(context, plan->sizes);
  if (!status)
    status = layOut(context, plan);
  if (status)
    return status;
  planSteps(context, plan);
  status = lathePlanChains(context, plan) ? layOut(context, plan) : LATHE_OK; /* what they have in stripes needs no place */
  if (status)
    return status;
  uint64_t scratch;
  if (__builtin_mul_overflow(plan->scratchBytes, context->threads, &scratch) || scratch > (uint64_t)INT64_MAX - plan->arenaBytes)
    return latheFail(context, LATHE_INVALID, "the inputs' dimensions need more scratch memory than there can be");
  return context->backend ? context->backend->plan(context, plan) : LATHE_OK;
}

/*===-- The cache -----------------------------------------------------------===*/

static void freePlan(LatheContext *context, LathePlan *plan) {
  if (context->backend && plan->device)
    context->backend->forget(context, plan);
  free(plan);
}

void latheFreePlans(LatheContext *context) {
  for (LathePlan *plan = context->plans, *next; plan; plan = next) {
    next = plan->next;
    freePlan(context, plan);
  }
  context->plans = NULL;
}

/* Finds the plan and moves it to the front. */
static LathePlan *recall(LatheContext *context) {
  size_t bytes = sizeof(int64_t) * context->numRawDims;
  for (LathePlan **link = &context->plans; *link; link = &(*link)->next) {
    LathePlan *plan = *link;
    if (bytes && memcmp(plan->rawDims, context->rawDims, bytes))
      continue;
    *link = plan->next;
    plan->next = context->plans;
    return context->plans = plan;
  }
  return NULL;
}

static void dropOldest(LatheContext *context) {
  LathePlan **link = &context->plans;
  if (!*link)
    return;
  while ((*link)->next)
    link = &(*link)->next;
  freePlan(context, *link);
  *link = NULL;
  --context->numPlans;
}

LatheStatus lathePlanFor(LatheContext *context, LathePlan **result) {
  if ((*result = recall(context)))
    return LATHE_OK;
  LathePlan *plan = allocatePlan(context);
  if (!plan)
    return LATHE_NO_MEMORY;
  LatheStatus status = fillPlan(context, plan);
  if (status) {
    freePlan(context, plan);
    return status;
  }
  if (context->numPlans >= context->maxPlans)
    dropOldest(context);
  plan->next = context->plans;
  context->plans = plan;
  ++context->numPlans;
  *result = plan;
  return LATHE_OK;
}

enum { HugePage = 2 << 20 };

/*===-- Pointers ------------------------------------------------------------===*/

uint64_t lathePlanWorkspace(const LatheContext *context, const LathePlan *plan) {
  return plan->arenaBytes + plan->scratchBytes * context->threads;
}

static void *allocateWorkspace(LatheContext *context, uint64_t bytes) {
  if (context->backend)
    return context->backend->allocate(context, bytes);
  uint64_t align = bytes < HugePage ? LATHE_DATA_ALIGN : HugePage;
  bytes = (bytes + align - 1) / align * align;
  void *memory = aligned_alloc(align, bytes);
  if (memory && align == HugePage)
    madvise(memory, bytes, LATHE_MADV_HUGEPAGE);
  return memory;
}

static LatheStatus failWorkspace(LatheContext *context, const LathePlan *plan, uint64_t bytes) {
  const LatheBuffer *buffers = LATHE_ARRAY(context, LatheBuffer, context->program->buffers);
  uint32_t id = largestOf(context, plan);
  if (id == LATHE_NONE)
    return latheOutOfMemory(context, bytes, "the workspace");
  char what[LATHE_MAX_NAME], all[LATHE_MAX_NAME + 64];
  latheDescribeBuffer(context, id, buffers[id].firstStep, what);
  snprintf(all, sizeof all, "the workspace, %lld of them for %s", (long long)plan->sizes[buffers[id].bytesSlot], what);
  return latheOutOfMemory(context, bytes, all);
}

static LatheStatus growWorkspace(LatheContext *context, const LathePlan *plan, uint64_t bytes) {
  LatheWorkspace *workspace = context->workspace;
  if (workspace->isCallers)
    return latheFail(context, LATHE_INVALID, "the workspace has %llu bytes, a run with these inputs needs %llu",
                     (unsigned long long)workspace->bytes, (unsigned long long)bytes);
  if (workspace->own && context->backend)
    context->backend->release(context, workspace->own);
  else
    free(workspace->own);
  *workspace = (LatheWorkspace){0};
  workspace->own = allocateWorkspace(context, bytes);
  if (!workspace->own)
    return failWorkspace(context, plan, bytes);
  workspace->memory = workspace->own;
  workspace->bytes = bytes;
  return LATHE_OK;
}

static void pointInto(LatheContext *context, LathePlan *plan) {
  const LatheBuffer *buffers = LATHE_ARRAY(context, LatheBuffer, context->program->buffers);
  for (uint32_t i = 0; i < plan->numSteps; ++i) {
    const LathePlannedStep *step = &plan->steps[i];
    const uint32_t *ids = LATHE_ARRAY(context, uint32_t, step->step->buffers);
    for (uint32_t b = 0; b < step->step->buffers.count; ++b) {
      uint64_t offset;
      uint32_t root = latheRootOf(buffers, ids[b], &offset);
      if (buffers[root].kind == LATHE_BUFFER_TEMP)
        step->buffers[b] = context->workspace->memory + plan->arenaOffsets[root] + offset;
      else if (buffers[root].kind == LATHE_BUFFER_CONST)
        step->buffers[b] = (char *)context->data + buffers[root].offset + offset;
      else if (buffers[root].kind == LATHE_BUFFER_STATE)
        step->buffers[b] = context->states->memory[buffers[root].index].data + offset;
    }
  }
}

LatheStatus latheBindWorkspace(LatheContext *context, LathePlan *plan) {
  uint64_t bytes = lathePlanWorkspace(context, plan);
  if (bytes > context->workspace->bytes) {
    LatheStatus status = growWorkspace(context, plan, bytes);
    if (status)
      return status;
  }
  if (!plan->bound || plan->boundTo != context->workspace->memory || plan->boundStates != context->states->version) {
    pointInto(context, plan);
    plan->bound = true;
    plan->boundTo = context->workspace->memory;
    plan->boundStates = context->states->version;
  }
  return LATHE_OK;
}

void lathePatchPointers(LatheContext *context, LathePlan *plan) {
  for (uint32_t i = 0; i < plan->numPatches; ++i) {
    const LathePatch *patch = &plan->patches[i];
    char *data = context->bindings[patch->tensor].data;
    plan->pointers[patch->pointer] = data ? data + patch->offset : NULL;
  }
}
