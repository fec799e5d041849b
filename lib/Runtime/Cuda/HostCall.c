/*===- HostCall.c - Functions of the host between kernels -------------------===*\
|*
|* What such a function may read comes to the host, what it may write goes back. Constants are on the host anyway, and nobody
|* writes them.
|*
\*===----------------------------------------------------------------------===*/
#include "Cuda.h"

static uint64_t tensorBytes(const LatheContext *context, const LathePlan *plan, const LatheTensor *tensor) {
  const LatheDim *dims = LATHE_ARRAY(context, LatheDim, tensor->dims);
  uint64_t bytes = tensor->dtype.code == kDLBool ? 1 : ((uint64_t)tensor->dtype.bits * tensor->dtype.lanes + 7) / 8;
  for (uint32_t d = 0; d < tensor->dims.count; ++d)
    bytes *= (uint64_t)plan->sizes[dims[d].slot];
  return bytes;
}

/* How many bytes there are from the buffer's address on. */
static uint64_t bytesFrom(LatheContext *context, const LathePlan *plan, uint32_t id) {
  const LatheBuffer *buffers = LATHE_ARRAY(context, LatheBuffer, context->program->buffers);
  LatheCuda *cuda = latheCuda(context);
  uint64_t offset, bytes = 0;
  uint32_t root = latheRootOf(buffers, id, &offset), index = buffers[root].index;
  const LatheTensor *inputs = LATHE_ARRAY(context, LatheTensor, context->meta->inputs);
  const LatheTensor *outputs = LATHE_ARRAY(context, LatheTensor, context->meta->outputs);
  switch (buffers[root].kind) {
  case LATHE_BUFFER_INPUT:
    bytes = tensorBytes(context, plan, &inputs[index]);
    break;
  case LATHE_BUFFER_OUTPUT:
    bytes = latheCudaIsDynamicOutput(context, index) ? cuda->staging[context->numInputs + index].used
                                                     : tensorBytes(context, plan, &outputs[index]);
    break;
  case LATHE_BUFFER_TEMP:
    bytes = (uint64_t)plan->sizes[buffers[root].bytesSlot];
    break;
  case LATHE_BUFFER_STATE:
    bytes = context->states->memory[index].bytes;
    break;
  case LATHE_BUFFER_DYNAMIC:
    bytes = cuda->dynamics[cuda->owners[root]].used;
    break;
  }
  return bytes > offset ? bytes - offset : 0;
}

typedef struct {
  uint64_t bytes; /* 0: nothing to copy */
  void *host;
} HostBuffer;

/* Where each buffer is on the host; `memory` is for those that are copied. */
static void placeBuffers(LatheContext *context, const LathePlannedStep *step, HostBuffer *placed, char *memory) {
  const LatheBuffer *buffers = LATHE_ARRAY(context, LatheBuffer, context->program->buffers);
  const uint32_t *ids = LATHE_ARRAY(context, uint32_t, step->step->buffers);
  for (uint32_t i = 0; i < step->step->buffers.count; ++i) {
    uint64_t offset;
    const LatheBuffer *root = &buffers[latheRootOf(buffers, ids[i], &offset)];
    if (root->kind == LATHE_BUFFER_CONST) {
      placed[i] = (HostBuffer){0, (char *)latheCuda(context)->hostData + root->offset + offset};
      continue;
    }
    placed[i].host = memory;
    memory += (placed[i].bytes + 63) & ~63ull;
  }
}

static LatheStatus download(LatheContext *context, const LathePlannedStep *step, const HostBuffer *placed) {
  LatheCuda *cuda = latheCuda(context);
  for (uint32_t i = 0; i < step->step->buffers.count; ++i)
    if (placed[i].bytes)
      LATHE_CUDA_TRY(context,
                     cuda->driver.download(placed[i].host, (CUdeviceptr)(uintptr_t)step->buffers[i], placed[i].bytes, cuda->stream),
                     "copying to the host");
  LATHE_CUDA_TRY(context, cuda->driver.synchronize(cuda->stream), "a step before one on the host");
  return LATHE_OK;
}

/* Results come behind operands, and where both lie in one place they win. */
static LatheStatus upload(LatheContext *context, const LathePlannedStep *step, const HostBuffer *placed) {
  LatheCuda *cuda = latheCuda(context);
  for (uint32_t i = 0; i < step->step->buffers.count; ++i)
    if (placed[i].bytes)
      LATHE_CUDA_TRY(context,
                     cuda->driver.upload((CUdeviceptr)(uintptr_t)step->buffers[i], placed[i].host, placed[i].bytes, cuda->stream),
                     "copying from the host");
  LATHE_CUDA_TRY(context, cuda->driver.synchronize(cuda->stream), "copying from the host");
  return LATHE_OK;
}

static LatheStatus call(LatheContext *context, const LathePlannedStep *step, const HostBuffer *placed, void **pointers) {
  LatheStatus status = download(context, step, placed);
  if (status)
    return status;
  for (uint32_t i = 0; i < step->step->buffers.count; ++i)
    pointers[i] = placed[i].host;
  status = latheCallHost(context, step->step->target, pointers, step->sizes);
  return status ? status : upload(context, step, placed);
}

LatheStatus latheCudaCallOnHost(LatheContext *context, LathePlan *plan, const LathePlannedStep *step) {
  const uint32_t *ids = LATHE_ARRAY(context, uint32_t, step->step->buffers);
  uint32_t count = step->step->buffers.count;
  HostBuffer *placed = calloc(count + 1, sizeof *placed);
  void **pointers = calloc(count + 1, sizeof *pointers);
  uint64_t total = 64;
  for (uint32_t i = 0; placed && i < count; ++i) {
    placed[i].bytes = bytesFrom(context, plan, ids[i]);
    total += (placed[i].bytes + 63) & ~63ull;
  }
  char *memory = aligned_alloc(64, total);
  LatheStatus status = placed && pointers && memory ? LATHE_OK : latheOutOfMemory(context, total, "a step on the host");
  if (!status) {
    placeBuffers(context, step, placed, memory);
    status = call(context, step, placed, pointers);
  }
  free(memory);
  free(pointers);
  free(placed);
  return status;
}
