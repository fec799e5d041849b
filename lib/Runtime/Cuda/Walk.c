/*===- Walk.c - Programs whose sizes and ways are known only while they run --===*\
|*
|* The host walks the steps and sends kernels as it reaches them: a loop is as many launches as it has iterations, and none of
|* them waits for the host. Only a size that a kernel computes (READ) and work of the host (CALL) do. A walk without these is the
|* same in every run of a plan, and is captured like a plain list of kernels.
|*
\*===----------------------------------------------------------------------===*/
#include "Cuda.h"

/* More than that are not worth the memory that a graph of them takes. */
enum { LATHE_CUDA_MOST_CAPTURED = 16384 };

/*===-- Memory --------------------------------------------------------------===*/

bool latheCudaIsDynamicOutput(const LatheContext *context, uint32_t output) {
  return LATHE_ARRAY(context, LatheTensor, context->meta->outputs)[output].flags & LATHE_TENSOR_DYNAMIC;
}

static LatheStatus noMemory(LatheContext *context, const LathePlan *plan, const LathePlannedStep *step) {
  char what[LATHE_MAX_NAME];
  latheDescribeBuffer(context, LATHE_ARRAY(context, uint32_t, step->step->buffers)[0], (uint32_t)(step - plan->steps), what);
  return step->sizes[0] < 0
             ? latheFail(context, LATHE_INVALID, "%s has a negative size: %lld bytes", what, (long long)step->sizes[0])
             : latheOutOfMemory(context, (uint64_t)step->sizes[0], what);
}

/* Room for what the step asks for; GROW keeps what was there. A walk begins with each buffer at its own memory and asks for the
 * same in every run of a plan, so that the second one allocates nothing. */
static LatheStatus reserve(LatheContext *context, const LathePlan *plan, const LathePlannedStep *step, LatheCudaStaging *room) {
  LatheCuda *cuda = latheCuda(context);
  uint64_t bytes = (uint64_t)step->sizes[0];
  bool keep = step->kind == LATHE_STEP_GROW;
  room->used = bytes;
  if (room->memory && room->bytes >= bytes)
    return LATHE_OK;
  uint64_t want = bytes + (keep ? room->bytes : 0);
  CUdeviceptr made = 0;
  if (bytes > INT64_MAX / 4 || cuda->driver.allocate(&made, want ? want : 1))
    return noMemory(context, plan, step);
  ++cuda->memoryVersion;
  CUresult result = keep && room->bytes ? cuda->driver.copy(made, room->memory, room->bytes, cuda->stream) : 0;
  if (room->memory) {
    cuda->driver.synchronize(cuda->stream);
    cuda->driver.release(room->memory);
  }
  *room = (LatheCudaStaging){made, want, bytes};
  return latheCudaCheck(context, &cuda->driver, result, "copying what a loop has collected");
}

static LatheStatus allocateStep(LatheContext *context, LathePlan *plan, const LathePlannedStep *step) {
  LatheCuda *cuda = latheCuda(context);
  uint32_t id = LATHE_ARRAY(context, uint32_t, step->step->buffers)[0];
  const LatheBuffer *buffer = &LATHE_ARRAY(context, LatheBuffer, context->program->buffers)[id];
  bool isOutput = buffer->kind == LATHE_BUFFER_OUTPUT;
  LatheCudaStaging *room = isOutput ? &cuda->staging[context->numInputs + buffer->index] : &cuda->dynamics[cuda->owners[id]];
  LatheStatus status = reserve(context, plan, step, room);
  if (isOutput)
    ((LatheCudaPlan *)plan->device)->addresses[context->numInputs + buffer->index] = room->memory;
  return status;
}

static void swapStep(LatheContext *context, const LathePlannedStep *step) {
  const uint32_t *ids = LATHE_ARRAY(context, uint32_t, step->step->buffers);
  uint32_t *owners = latheCuda(context)->owners, first = owners[ids[0]];
  owners[ids[0]] = owners[ids[1]];
  owners[ids[1]] = first;
}

static char *addressOf(LatheContext *context, const LathePlan *plan, uint32_t id) {
  LatheCuda *cuda = latheCuda(context);
  const LatheBuffer *buffers = LATHE_ARRAY(context, LatheBuffer, context->program->buffers);
  const CUdeviceptr *addresses = ((LatheCudaPlan *)plan->device)->addresses;
  uint64_t offset;
  uint32_t root = latheRootOf(buffers, id, &offset), index = buffers[root].index;
  uint32_t kind = buffers[root].kind;
  char *base = kind == LATHE_BUFFER_INPUT    ? (char *)(uintptr_t)addresses[index]
               : kind == LATHE_BUFFER_OUTPUT ? (char *)(uintptr_t)addresses[context->numInputs + index]
               : kind == LATHE_BUFFER_TEMP   ? context->workspace->memory + plan->arenaOffsets[root]
               : kind == LATHE_BUFFER_CONST  ? (char *)context->data + buffers[root].offset
               : kind == LATHE_BUFFER_STATE  ? context->states->memory[index].data
                                             : (char *)(uintptr_t)cuda->dynamics[cuda->owners[root]].memory;
  return base ? base + offset : NULL;
}

/*===-- Steps ---------------------------------------------------------------===*/

/* The step's buffers and sizes as they are now; whether a size is another one than before. */
static bool resolve(LatheContext *context, const LathePlan *plan, LathePlannedStep *step) {
  const uint32_t *ids = LATHE_ARRAY(context, uint32_t, step->step->buffers);
  const uint32_t *slots = LATHE_ARRAY(context, uint32_t, step->step->slots);
  bool changed = false;
  for (uint32_t b = 0; b < step->step->buffers.count; ++b)
    step->buffers[b] = addressOf(context, plan, ids[b]);
  for (uint32_t s = 0; s < step->step->slots.count; ++s) {
    changed |= step->sizes[s] != plan->sizes[slots[s]];
    step->sizes[s] = plan->sizes[slots[s]];
  }
  return changed;
}

static LatheStatus readStep(LatheContext *context, LathePlan *plan, const LathePlannedStep *step) {
  LatheCuda *cuda = latheCuda(context);
  uint32_t id = LATHE_ARRAY(context, uint32_t, step->step->buffers)[0];
  const LatheDType type = LATHE_ARRAY(context, LatheBuffer, context->program->buffers)[id].dtype;
  uint64_t bytes = type.bits / 8;
  CUdeviceptr from = (CUdeviceptr)(uintptr_t)step->buffers[0] + (uint64_t)step->sizes[1] * bytes;
  int64_t value = 0;
  LATHE_CUDA_TRY(context, cuda->driver.download(&value, from, bytes <= 8 ? bytes : 8, cuda->stream), "reading a size");
  LATHE_CUDA_TRY(context, cuda->driver.synchronize(cuda->stream), "a kernel before a size is read");
  if (type.code == kDLInt && bytes < 8)
    value = (int64_t)((uint64_t)value << (64 - 8 * bytes)) >> (64 - 8 * bytes);
  plan->sizes[LATHE_ARRAY(context, uint32_t, step->step->slots)[0]] = value;
  return LATHE_OK;
}

static LatheStatus kernelStep(LatheContext *context, LathePlan *plan, uint32_t index, bool changed) {
  LatheCudaLaunchStep *launch = &((LatheCudaPlan *)plan->device)->steps[index];
  LatheStatus status = LATHE_OK;
  if (changed || !launch->arguments[0])
    status = latheCudaPlanLaunch(context, &plan->steps[index], launch);
  return status ? status : latheCudaRunStep(context, plan, index);
}

/* Executes the step at *at and moves *at to the next one. */
static LatheStatus walkStep(LatheContext *context, LathePlan *plan, uint32_t *at) {
  uint32_t index = (*at)++;
  LathePlannedStep *step = &plan->steps[index];
  const LatheStep *source = step->step;
  bool changed = source->flags & LATHE_STEP_DYNAMIC && resolve(context, plan, step);
  switch (step->kind) {
  case LATHE_STEP_KERNEL:
    ++((LatheCudaPlan *)plan->device)->launched;
    return kernelStep(context, plan, index, changed);
  case LATHE_STEP_COPY:
    ++((LatheCudaPlan *)plan->device)->launched;
    return latheCudaRunStep(context, plan, index);
  case LATHE_STEP_CALL:
    return latheCudaRunStep(context, plan, index);
  case LATHE_STEP_EVAL:
    return latheEvaluate(context, source->target, source->count, plan->sizes);
  case LATHE_STEP_READ:
    return readStep(context, plan, step);
  case LATHE_STEP_JUMP:
    *at = source->target;
    return LATHE_OK;
  case LATHE_STEP_BRANCH:
    if (plan->sizes[LATHE_ARRAY(context, uint32_t, source->slots)[0]] == 0)
      *at = source->target;
    return LATHE_OK;
  case LATHE_STEP_CHECK:
    return latheCheckRelation(context, source->target, plan->sizes);
  case LATHE_STEP_ALLOC:
  case LATHE_STEP_GROW:
    return allocateStep(context, plan, step);
  case LATHE_STEP_SWAP:
    swapStep(context, step);
    return LATHE_OK;
  }
  return latheFail(context, LATHE_FAILED, "the artifact has a step of unknown kind %u", step->kind);
}

/* A walk is told by the host's clock, which waits for each step: how many there are, nobody knows before. */
static LatheStatus tellStep(LatheContext *context, const LathePlan *plan, uint32_t index, int64_t start) {
  LatheCuda *cuda = latheCuda(context);
  const LatheStep *step = plan->steps[index].step;
  if (step->kind != LATHE_STEP_KERNEL && step->kind != LATHE_STEP_COPY && step->kind != LATHE_STEP_CALL)
    return LATHE_OK;
  if (step->kind == LATHE_STEP_KERNEL && ((LatheCudaPlan *)plan->device)->steps[index].empty)
    return LATHE_OK;
  LATHE_CUDA_TRY(context, cuda->driver.synchronize(cuda->stream), "a kernel");
  const char *name = step->kind == LATHE_STEP_KERNEL ? latheName(context, context->kernels[step->target].name)
                     : step->kind == LATHE_STEP_COPY ? "copy"
                                                     : "call";
  context->profile(context->profileUser, index, name, start, latheNow());
  return LATHE_OK;
}

LatheStatus latheCudaWalk(LatheContext *context, LathePlan *plan) {
  LatheCuda *cuda = latheCuda(context);
  LatheCudaPlan *device = plan->device;
  for (uint32_t i = 0; i < context->program->buffers.count; ++i)
    cuda->owners[i] = i;
  device->launched = 0;
  LatheStatus status = LATHE_OK;
  for (uint32_t at = 0; !status && at < plan->numSteps;) {
    uint32_t index = at;
    int64_t start = context->profile ? latheNow() : 0;
    status = walkStep(context, plan, &at);
    if (!status && context->profile)
      status = tellStep(context, plan, index, start);
  }
  if (device->launched > LATHE_CUDA_MOST_CAPTURED)
    device->capturable = false;
  return status;
}

/* Whether every run of the plan is the same list of launches. */
bool latheCudaWalksAlike(const LatheContext *context, const LathePlan *plan) {
  for (uint32_t i = 0; i < plan->numSteps; ++i)
    if (plan->steps[i].kind == LATHE_STEP_READ || plan->steps[i].kind == LATHE_STEP_CALL)
      return false;
  for (uint32_t i = 0; i < context->numOutputs; ++i)
    if (latheCudaIsDynamicOutput(context, i))
      return false;
  return true;
}
