/*===- Execute.c - Walking a plan's steps -----------------------------------===*/
#include "Runtime.h"

/*===-- One kernel, on one thread or several --------------------------------===*/
typedef struct {
  const LathePlannedStep *step;
  char *scratch;
  uint64_t scratchBytes;
} Job;

/* Where piece `piece` of `pieces` begins: an equal share, in whole grains. */
static int64_t pieceBegin(const LathePlannedStep *step, int64_t piece, int64_t pieces) {
  int64_t units = (step->items - 1) / step->grain + 1, share = units / pieces, rest = units % pieces;
  int64_t begin = (share * piece + (piece < rest ? piece : rest)) * step->grain;
  return begin < step->items ? begin : step->items;
}

static void runPiece(void *argument, uint32_t piece, uint32_t thread) {
  const Job *job = argument;
  const LathePlannedStep *step = job->step;
  int64_t pieces = (int64_t)step->parts * step->piecesPerPart;
  int64_t begin = pieceBegin(step, piece, pieces), end = pieceBegin(step, piece + 1, pieces);
  if (begin < end)
    step->fn(step->buffers, step->sizes, begin, end, job->scratch + job->scratchBytes * thread);
}

static inline void runKernel(LatheContext *context, const LathePlannedStep *step, char *scratch, uint64_t scratchBytes) {
  if (step->waits)
    return;
  if (step->chain) {
    latheRunChain(context->pool, step->chain, scratch, scratchBytes);
    return;
  }
  if (step->parts == 1) {
    if (step->items)
      step->fn(step->buffers, step->sizes, 0, step->items, scratch);
    return;
  }
  Job job = {step, scratch, scratchBytes};
  lathePoolRun(context->pool, step->parts, step->piecesPerPart, runPiece, &job);
}

/* What a kernel of a loop reads anew each time, as a recurrence its weights, is in the cache but for what does not fit, and that is what it
 * read first. Every other time the pieces go from the last one to the first, which begins with what was read last. */
static void runRepeated(LatheContext *context, LathePlannedStep *step, char *scratch, uint64_t scratchBytes) {
  if (!step->again || step->turns == 1)
    runKernel(context, step, scratch, scratchBytes);
  else
    for (int64_t piece = step->turns; piece-- > 0;)
      step->fn(step->buffers, step->sizes, pieceBegin(step, piece, step->turns), pieceBegin(step, piece + 1, step->turns), scratch);
  step->again = !step->again;
}

/*===-- Steps that are known only when they are reached ---------------------===*/

/* Memory that ALLOC and GROW steps handed out. It stays with its buffer, so that later runs of a size that was there before
 * allocate nothing. */
typedef struct {
  _Alignas(LATHE_DATA_ALIGN) uint64_t capacity;
  _Alignas(LATHE_DATA_ALIGN) char data[];
} Allocation;

static Allocation *allocationOf(void *data) { return data ? (Allocation *)((char *)data - offsetof(Allocation, data)) : NULL; }

void latheFreeDynamic(LatheContext *context) {
  for (uint32_t i = 0; context->dynamicBuffers && i < context->program->buffers.count; ++i)
    free(allocationOf(context->dynamicBuffers[i]));
  free(context->dynamicScratch);
}

typedef struct {
  LatheContext *context;
  LathePlan *plan;
  char *scratch;
  uint64_t scratchBytes; /* per thread */
} DynamicRun;

static char *addressOf(DynamicRun *run, uint32_t id) {
  LatheContext *context = run->context;
  const LatheBuffer *buffers = LATHE_ARRAY(context, LatheBuffer, context->program->buffers);
  uint64_t offset;
  uint32_t root = latheRootOf(buffers, id, &offset);
  char *base = NULL;
  switch (buffers[root].kind) {
  case LATHE_BUFFER_INPUT:
    base = context->bindings[buffers[root].index].data;
    break;
  case LATHE_BUFFER_OUTPUT:
    base = context->bindings[context->numInputs + buffers[root].index].data;
    break;
  case LATHE_BUFFER_TEMP:
    base = context->workspace->memory + run->plan->arenaOffsets[root];
    break;
  case LATHE_BUFFER_CONST:
    base = (char *)context->data + buffers[root].offset;
    break;
  case LATHE_BUFFER_STATE:
    base = context->states->memory[buffers[root].index].data;
    break;
  default:
    base = context->dynamicBuffers[root];
  }
  return base ? base + offset : NULL;
}

static void resolve(DynamicRun *run, LathePlannedStep *step) {
  const uint32_t *ids = LATHE_ARRAY(run->context, uint32_t, step->step->buffers);
  const uint32_t *slots = LATHE_ARRAY(run->context, uint32_t, step->step->slots);
  for (uint32_t b = 0; b < step->step->buffers.count; ++b)
    step->buffers[b] = addressOf(run, ids[b]);
  for (uint32_t s = 0; s < step->step->slots.count; ++s)
    step->sizes[s] = run->plan->sizes[slots[s]];
}

static LatheStatus growScratch(DynamicRun *run, uint64_t bytes) {
  LatheContext *context = run->context;
  if (bytes > context->dynamicScratchBytes) {
    free(context->dynamicScratch);
    context->dynamicScratchBytes = 0;
    uint64_t total = bytes > INT64_MAX / context->threads ? 0 : bytes * context->threads;
    context->dynamicScratch = total ? aligned_alloc(LATHE_DATA_ALIGN, total) : NULL;
    if (!context->dynamicScratch)
      return latheOutOfMemory(context, bytes, "the scratch memory of a thread");
    context->dynamicScratchBytes = bytes;
  }
  run->scratch = context->dynamicScratch;
  run->scratchBytes = context->dynamicScratchBytes;
  return LATHE_OK;
}

static LatheStatus kernelStep(DynamicRun *run, LathePlannedStep *step) {
  LatheContext *context = run->context;
  if (step->step->flags & LATHE_STEP_DYNAMIC) {
    uint64_t scratch = run->scratchBytes;
    lathePlanKernel(context, step, (LathePlanFn)context->functions[context->variants[step->step->target].plan], &scratch, NULL);
    LatheStatus status = scratch > run->scratchBytes ? growScratch(run, scratch) : LATHE_OK;
    if (status)
      return status;
  }
  runRepeated(context, step, run->scratch, run->scratchBytes);
  return LATHE_OK;
}

/* ALLOC and GROW. */
static LatheStatus allocateStep(DynamicRun *run, const LathePlannedStep *step) {
  LatheContext *context = run->context;
  uint32_t id = LATHE_ARRAY(context, uint32_t, step->step->buffers)[0];
  const LatheBuffer *buffer = &LATHE_ARRAY(context, LatheBuffer, context->program->buffers)[id];
  int64_t bytes = step->sizes[0];
  char what[LATHE_MAX_NAME];
  if (bytes < 0) {
    latheDescribeBuffer(context, id, (uint32_t)(step - run->plan->steps), what);
    return latheFail(context, LATHE_INVALID, "%s has a negative size: %lld bytes", what, (long long)bytes);
  }
  if (buffer->kind == LATHE_BUFFER_OUTPUT)
    return latheProvide(context, context->numInputs + buffer->index, (uint64_t)bytes);
  /* A buffer that is allocated again (in a loop, or in the next run) keeps memory that is large enough. */
  Allocation *old = allocationOf(context->dynamicBuffers[id]);
  if (old && old->capacity >= (uint64_t)bytes)
    return LATHE_OK;
  uint64_t want = (uint64_t)bytes + (old && step->kind == LATHE_STEP_GROW ? old->capacity : 0);
  uint64_t total = (want + sizeof(Allocation) + LATHE_DATA_ALIGN - 1) / LATHE_DATA_ALIGN * LATHE_DATA_ALIGN;
  Allocation *made = bytes > INT64_MAX / 4 ? NULL : aligned_alloc(LATHE_DATA_ALIGN, total);
  if (!made) {
    latheDescribeBuffer(context, id, (uint32_t)(step - run->plan->steps), what);
    return latheOutOfMemory(context, (uint64_t)bytes, what);
  }
  if (old && step->kind == LATHE_STEP_GROW)
    memcpy(made->data, old->data, old->capacity);
  free(old);
  made->capacity = want;
  context->dynamicBuffers[id] = made->data;
  return LATHE_OK;
}

static void swapStep(DynamicRun *run, const LathePlannedStep *step) {
  const uint32_t *ids = LATHE_ARRAY(run->context, uint32_t, step->step->buffers);
  void **buffers = run->context->dynamicBuffers, *first = buffers[ids[0]];
  buffers[ids[0]] = buffers[ids[1]];
  buffers[ids[1]] = first;
}

static void readStep(DynamicRun *run, const LathePlannedStep *step) {
  LatheContext *context = run->context;
  uint32_t id = LATHE_ARRAY(context, uint32_t, step->step->buffers)[0];
  uint32_t slot = LATHE_ARRAY(context, uint32_t, step->step->slots)[0];
  const LatheDType type = LATHE_ARRAY(context, LatheBuffer, context->program->buffers)[id].dtype;
  size_t bytes = type.bits / 8;
  const char *from = (const char *)step->buffers[0] + step->sizes[1] * (int64_t)bytes;
  int64_t value = 0;
  memcpy(&value, from, bytes <= 8 ? bytes : 8);
  if (type.code == kDLInt && bytes < 8)
    value = (int64_t)((uint64_t)value << (64 - 8 * bytes)) >> (64 - 8 * bytes);
  run->plan->sizes[slot] = value;
}

LatheStatus latheCallHost(LatheContext *context, uint32_t function, void *const *buffers, const int64_t *sizes) {
  const char *why = ((LatheHostFn)context->functions[function])(buffers, sizes);
  return why ? latheFail(context, (LatheStatus)why[0], "%s", why + 1) : LATHE_OK;
}

/* Executes the step at *at and moves *at to the next one. */
static LatheStatus dynamicStep(DynamicRun *run, uint32_t *at) {
  LatheContext *context = run->context;
  LathePlannedStep *step = &run->plan->steps[(*at)++];
  const LatheStep *source = step->step;
  if (source->flags & LATHE_STEP_DYNAMIC)
    resolve(run, step);
  switch (step->kind) {
  case LATHE_STEP_KERNEL:
    return kernelStep(run, step);
  case LATHE_STEP_COPY:
    if (step->sizes[0] > 0)
      memmove((char *)step->buffers[1] + (source->slots.count > 1 ? step->sizes[1] : 0), step->buffers[0], (size_t)step->sizes[0]);
    return LATHE_OK;
  case LATHE_STEP_EVAL:
    return latheEvaluate(context, source->target, source->count, run->plan->sizes);
  case LATHE_STEP_READ:
    readStep(run, step);
    return LATHE_OK;
  case LATHE_STEP_JUMP:
    *at = source->target;
    return LATHE_OK;
  case LATHE_STEP_BRANCH:
    if (run->plan->sizes[LATHE_ARRAY(context, uint32_t, source->slots)[0]] == 0)
      *at = source->target;
    return LATHE_OK;
  case LATHE_STEP_CHECK:
    return latheCheckRelation(context, source->target, run->plan->sizes);
  case LATHE_STEP_CALL:
    return latheCallHost(context, source->target, step->buffers, step->sizes);
  case LATHE_STEP_ALLOC:
  case LATHE_STEP_GROW:
    return allocateStep(run, step);
  case LATHE_STEP_SWAP:
    swapStep(run, step);
    return LATHE_OK;
  }
  return latheFail(context, LATHE_FAILED, "the artifact has a step of unknown kind %u", step->kind);
}

static const char *stepName(const LatheContext *context, const LathePlannedStep *step) {
  static const char *const names[] = {"", "copy", "evaluate sizes", "read size", "jump", "branch", "check", "call", "allocate", "swap", "grow"};
  if (step->kind == LATHE_STEP_KERNEL)
    return latheName(context, context->kernels[step->step->target].name);
  return step->kind < sizeof names / sizeof *names ? names[step->kind] : "step";
}

/* The general walk: control flow, sizes that appear on the way, profiles. */
static LatheStatus executeGeneral(LatheContext *context, LathePlan *plan) {
  DynamicRun run = {context, plan, context->workspace->memory + plan->arenaBytes, plan->scratchBytes};
  LatheStatus status = LATHE_OK;
  for (uint32_t at = 0; !status && at < plan->numSteps;) {
    uint32_t index = at;
    int64_t start = context->profile ? latheNow() : 0;
    status = dynamicStep(&run, &at);
    if (context->profile)
      context->profile(context->profileUser, index, stepName(context, &plan->steps[index]), start, latheNow());
  }
  return status;
}

LatheStatus latheExecute(LatheContext *context, LathePlan *plan) {
  if (plan->dynamic || context->profile)
    return executeGeneral(context, plan);
  char *scratch = context->workspace->memory + plan->arenaBytes;
  for (uint32_t i = 0; i < plan->numSteps; ++i) {
    const LathePlannedStep *step = &plan->steps[i];
    if (step->kind == LATHE_STEP_KERNEL)
      runKernel(context, step, scratch, plan->scratchBytes);
    else if (step->kind == LATHE_STEP_COPY)
      memmove(step->buffers[1], step->buffers[0], (size_t)step->sizes[0]);
    else if (step->kind == LATHE_STEP_CALL) {
      LatheStatus status = latheCallHost(context, step->step->target, step->buffers, step->sizes);
      if (status)
        return status;
    } else
      return latheFail(context, LATHE_FAILED, "the artifact has a step of kind %u outside a dynamic program", step->kind);
  }
  return LATHE_OK;
}
