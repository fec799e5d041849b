/*===- State.c - What a context keeps from run to run -----------------------===*\
|*
|* A state lies in memory of the context, on its device, or where the caller says. Kernels write to it in place, or a
run ends by
|* copying the new value there. One whose size is open gets it from the first run, or from the tensor that it is set to,
and keeps
|* it until it is reset: the size is that of a conversation, and nobody has to know the largest one.
|*
\*===----------------------------------------------------------------------===*/
#include "Runtime.h"

/* As the first entry point sees it: the same for the contexts of all of them. */
static const LatheState *stateAt(const LatheContext *context, uint32_t i) {
  return &LATHE_ARRAY(context, LatheState, context->blob->states)[i];
}

static const char *nameOf(const LatheContext *context, uint32_t i) {
  return latheName(context, stateAt(context, i)->tensor.name);
}

static bool isHost(DLDevice device) { return device.device_type == kDLCPU || device.device_type == kDLCUDAHost; }

/*===-- Memory --------------------------------------------------------------===*/

static void releaseOwned(LatheContext *context, LatheStateMemory *state) {
  if (state->owned && context->backend)
    context->backend->release(context, state->owned);
  else
    free(state->owned);
  state->owned = state->ownedData = NULL;
  state->ownedBytes = 0;
}

/* Pages of zeros cost nothing before they are written. */
static LatheStatus provide(LatheContext *context, uint32_t i, bool *isZero) {
  LatheStateMemory *state = &context->states->memory[i];
  *isZero = false;
  if (!state->owned || state->ownedBytes < state->bytes) {
    releaseOwned(context, state);
    bool tooMany = state->bytes > INT64_MAX - 2 * LATHE_DATA_ALIGN;
    if (context->backend) {
      state->owned = state->ownedData = tooMany ? NULL : context->backend->allocate(context, state->bytes);
    } else {
      state->owned = tooMany ? NULL : calloc(1, state->bytes + LATHE_DATA_ALIGN);
      state->ownedData =
          (char *)(((uintptr_t)state->owned + LATHE_DATA_ALIGN - 1) & ~(uintptr_t)(LATHE_DATA_ALIGN - 1));
      *isZero = true;
    }
    if (!state->owned) {
      char what[LATHE_MAX_NAME];
      snprintf(what, sizeof what, "state '%s'", nameOf(context, i));
      return latheOutOfMemory(context, state->bytes, what);
    }
    state->ownedBytes = state->bytes;
  }
  if (state->data != state->ownedData)
    ++context->states->version;
  state->data = state->ownedData;
  return LATHE_OK;
}

/* To or from the state's memory. */
static LatheStatus transfer(LatheContext *context, void *to, bool toHost, const void *from, bool fromHost,
                            uint64_t bytes) {
  if (!bytes)
    return LATHE_OK;
  if (context->backend)
    return context->backend->transfer(context, to, toHost, from, fromHost, bytes);
  memmove(to, from, bytes);
  return LATHE_OK;
}

static LatheStatus clear(LatheContext *context, char *data, uint64_t bytes) {
  enum { Piece = 1 << 20 };
  if (!context->backend) {
    memset(data, 0, bytes);
    return LATHE_OK;
  }
  char *zeros = calloc(1, Piece);
  LatheStatus status = zeros ? LATHE_OK : latheOutOfMemory(context, Piece, "zeros");
  for (uint64_t at = 0; !status && at < bytes; at += Piece)
    status = transfer(context, data + at, false, zeros, true, bytes - at < Piece ? bytes - at : Piece);
  free(zeros);
  return status;
}

/* What it holds at first. */
static LatheStatus initialise(LatheContext *context, uint32_t i) {
  LatheStateMemory *state = &context->states->memory[i];
  bool isZero;
  LatheStatus status = provide(context, i, &isZero);
  uint64_t initial = stateAt(context, i)->initial;
  if (status || (isZero && initial == LATHE_STATE_ZEROS))
    return status;
  return initial == LATHE_STATE_ZEROS
             ? clear(context, state->data, state->bytes)
             : transfer(context, state->data, false, context->hostData + initial, true, state->bytes);
}

/*===-- Sizes ---------------------------------------------------------------===*/

static bool isOpen(const LatheContext *context, uint32_t i) {
  LatheArray dims = stateAt(context, i)->tensor.dims;
  for (uint32_t d = 0; d < dims.count; ++d) {
    const LatheDim *dim = &LATHE_ARRAY(context, LatheDim, dims)[d];
    if (dim->min != dim->max)
      return true;
  }
  return false;
}

static LatheStatus setShape(LatheContext *context, uint32_t i, const int64_t *shape) {
  LatheStateMemory *state = &context->states->memory[i];
  const LatheTensor *tensor = &stateAt(context, i)->tensor;
  uint64_t bytes = ((uint64_t)tensor->dtype.bits * tensor->dtype.lanes + 7) / 8;
  bool fits = true;
  for (uint32_t d = 0; d < tensor->dims.count; ++d)
    fits = !__builtin_mul_overflow(bytes, (uint64_t)shape[d], &bytes) && fits;
  if (!fits || bytes > INT64_MAX)
    return latheFail(context, LATHE_INVALID, "state '%s' would have more elements than memory can hold",
                     nameOf(context, i));
  memcpy(state->shape, shape, sizeof(int64_t) * tensor->dims.count);
  state->bytes = bytes;
  state->isSized = true;
  return LATHE_OK;
}

/* What the inputs of a run make of its dimensions, where the entry point has to do with it. */
static LatheStatus bindState(LatheContext *context, const LathePlan *plan, uint32_t i) {
  LatheStateMemory *state = &context->states->memory[i];
  LatheArray dims = LATHE_ARRAY(context, LatheState, context->meta->states)[i].tensor.dims;
  int64_t shape[LATHE_MAX_RANK];
  for (uint32_t d = 0; d < dims.count; ++d) {
    const LatheDim *dim = &LATHE_ARRAY(context, LatheDim, dims)[d];
    if (dim->slot == LATHE_NONE)
      return LATHE_OK;
    shape[d] = plan->sizes[dim->slot];
    if (shape[d] < 0)
      return latheFail(context, LATHE_INVALID, "the inputs' dimensions give state '%s' a negative size: %s = %lld",
                       nameOf(context, i), latheName(context, dim->text), (long long)shape[d]);
    if (state->isSized && shape[d] != state->shape[d])
      return latheFail(
          context, LATHE_INVALID,
          "state '%s': dimension %u is %lld, these inputs need %s = %lld: reset the state before runs of another size",
          nameOf(context, i), d, (long long)state->shape[d], latheName(context, dim->text), (long long)shape[d]);
  }
  if (state->isSized)
    return LATHE_OK;
  LatheStatus status = setShape(context, i, shape);
  if (!status)
    status = initialise(context, i);
  state->isSized = !status;
  return status;
}

LatheStatus latheBindStates(LatheContext *context, const LathePlan *plan) {
  LatheStatus status = LATHE_OK;
  for (uint32_t i = 0; !status && i < context->meta->states.count; ++i)
    status = bindState(context, plan, i);
  return status;
}

/*===-- The context's part --------------------------------------------------===*/

static void describe(LatheContext *context, uint32_t i, LatheTensorInfo *info, int64_t *bounds, const char **texts) {
  const LatheTensor *tensor = &stateAt(context, i)->tensor;
  uint32_t rank = tensor->dims.count;
  const LatheDim *dims = LATHE_ARRAY(context, LatheDim, tensor->dims);
  for (uint32_t d = 0; d < rank; ++d) {
    bounds[d] = dims[d].min;
    bounds[rank + d] = dims[d].max;
    texts[d] = latheName(context, dims[d].text);
  }
  *info = (LatheTensorInfo){latheName(context, tensor->name),
                            {tensor->dtype.code, tensor->dtype.bits, tensor->dtype.lanes},
                            (int32_t)rank,
                            bounds,
                            bounds + rank,
                            texts};
}

LatheStatus latheOpenStates(LatheContext *context) {
  uint32_t count = context->meta->states.count, rank = 0;
  context->states = calloc(1, sizeof(LatheStates));
  if (!context->states)
    return latheOutOfMemory(context, sizeof(LatheStates), "the states' table");
  if (!count)
    return LATHE_OK;
  for (uint32_t i = 0; i < count; ++i)
    rank += stateAt(context, i)->tensor.dims.count;
  context->states->memory = calloc(count, sizeof(LatheStateMemory));
  context->states->infos = calloc(1, sizeof(LatheTensorInfo) * count + (3 * sizeof(int64_t) + sizeof(char *)) * rank);
  if (!context->states->memory || !context->states->infos)
    return latheOutOfMemory(context, sizeof(LatheStateMemory) * count, "the states' table");
  int64_t *numbers = (int64_t *)(context->states->infos + count);
  const char **texts = (const char **)(numbers + 3 * rank);
  LatheStatus status = LATHE_OK;
  for (uint32_t i = 0; !status && i < count; ++i) {
    uint32_t own = stateAt(context, i)->tensor.dims.count;
    describe(context, i, &context->states->infos[i], numbers, texts);
    context->states->memory[i].shape = numbers + 2 * own;
    numbers += 3 * own;
    texts += own;
    if (isOpen(context, i))
      continue;
    status = setShape(context, i, context->states->infos[i].min);
    if (!status)
      status = initialise(context, i);
  }
  return status;
}

void latheCloseStates(LatheContext *context) {
  if (!context->states)
    return;
  for (uint32_t i = 0; context->states->memory && i < context->meta->states.count; ++i)
    releaseOwned(context, &context->states->memory[i]);
  free(context->states->memory);
  free(context->states->infos);
  free(context->states);
}

/*===-- The caller's part ---------------------------------------------------===*/

uint32_t lathe_state_count(LatheContext *context) {
  return context && context->states && context->states->memory ? context->meta->states.count : 0;
}

const LatheTensorInfo *lathe_state_info(LatheContext *context, uint32_t index) {
  return index < lathe_state_count(context) ? &context->states->infos[index] : NULL;
}

static LatheStatus find(LatheContext *context, const char *name, uint32_t *index) {
  if (!context)
    return LATHE_INVALID;
  if (context->broken)
    return context->broken;
  for (uint32_t i = 0; name && i < lathe_state_count(context); ++i)
    if (!strcmp(nameOf(context, i), name)) {
      *index = i;
      return LATHE_OK;
    }
  return latheFail(context, LATHE_INVALID, "the model has no state '%s'", name ? name : "(null)");
}

static LatheStatus checkTensor(LatheContext *context, uint32_t i, const DLTensor *tensor) {
  const LatheTensorInfo *info = &context->states->infos[i];
  char role[LATHE_MAX_NAME];
  snprintf(role, sizeof role, "the tensor for state '%s'", info->name);
  if (!tensor)
    return latheFail(context, LATHE_INVALID, "%s is NULL", role);
  LatheStatus status = latheCheckTensor(context, role, tensor, &stateAt(context, i)->tensor);
  for (int32_t d = 0; !status && d < info->ndim; ++d)
    if (tensor->shape[d] < info->min[d] || tensor->shape[d] > info->max[d])
      status = latheFail(context, LATHE_INVALID, "%s: dimension %d is %lld, expected %s", role, d,
                         (long long)tensor->shape[d], info->dims[d]);
  return status;
}

LatheStatus lathe_state_get(LatheContext *context, const char *name, DLTensor *tensor) {
  uint32_t i;
  LatheStatus status = find(context, name, &i);
  if (status)
    return status;
  LatheStateMemory *state = &context->states->memory[i];
  if (!state->isSized)
    return latheFail(context, LATHE_INVALID, "state '%s' has no size yet: its first run decides it", name);
  if (tensor && !tensor->data) {
    const LatheTensorInfo *info = &context->states->infos[i];
    *tensor = (DLTensor){state->data, context->device, info->ndim, info->dtype, state->shape, NULL, 0};
    return LATHE_OK;
  }
  status = checkTensor(context, i, tensor);
  for (int32_t d = 0; !status && d < tensor->ndim; ++d)
    if (tensor->shape[d] != state->shape[d])
      return latheFail(context, LATHE_INVALID, "the tensor for state '%s': dimension %d is %lld, the state's is %lld",
                       name, d, (long long)tensor->shape[d], (long long)state->shape[d]);
  return status ? status
                : transfer(context, (char *)tensor->data + tensor->byte_offset, isHost(tensor->device), state->data,
                           false, state->bytes);
}

LatheStatus lathe_state_set(LatheContext *context, const char *name, const DLTensor *tensor) {
  uint32_t i;
  LatheStatus status = find(context, name, &i);
  if (!status)
    status = checkTensor(context, i, tensor);
  if (status)
    return status;
  LatheStateMemory *state = &context->states->memory[i];
  bool isZero, same = state->isSized;
  for (int32_t d = 0; d < tensor->ndim; ++d)
    same = same && tensor->shape[d] == state->shape[d];
  if (!same) {
    if (state->isCallers)
      return latheFail(context, LATHE_INVALID, "state '%s' lies in memory of another size: bind it anew", name);
    status = setShape(context, i, tensor->shape);
    if (!status)
      status = provide(context, i, &isZero);
    state->isSized = !status;
  }
  return status ? status
                : transfer(context, state->data, false, (const char *)tensor->data + tensor->byte_offset,
                           isHost(tensor->device), state->bytes);
}

static LatheStatus reset(LatheContext *context, uint32_t i) {
  LatheStateMemory *state = &context->states->memory[i];
  if (state->isCallers) {
    uint64_t initial = stateAt(context, i)->initial;
    return initial == LATHE_STATE_ZEROS
               ? clear(context, state->data, state->bytes)
               : transfer(context, state->data, false, context->hostData + initial, true, state->bytes);
  }
  if (isOpen(context, i)) { /* the next run sizes it */
    state->isSized = false;
    return LATHE_OK;
  }
  return initialise(context, i);
}

LatheStatus lathe_state_reset(LatheContext *context, const char *name) {
  uint32_t i;
  if (name) {
    LatheStatus status = find(context, name, &i);
    return status ? status : reset(context, i);
  }
  LatheStatus status = !context ? LATHE_INVALID : context->broken;
  for (i = 0; !status && i < lathe_state_count(context); ++i)
    status = reset(context, i);
  return status;
}

LatheStatus lathe_state_bind(LatheContext *context, const char *name, const DLTensor *tensor) {
  uint32_t i;
  LatheStatus status = find(context, name, &i);
  if (status)
    return status;
  LatheStateMemory *state = &context->states->memory[i];
  if (!tensor) {
    state->isCallers = false;
    return reset(context, i);
  }
  if ((status = checkTensor(context, i, tensor)))
    return status;
  char *data = (char *)tensor->data + tensor->byte_offset;
  if (isHost(tensor->device) != !context->backend || (uintptr_t)data % LATHE_WORKSPACE_ALIGN)
    return latheFail(context, LATHE_INVALID,
                     "the tensor for state '%s' must lie on the context's device, at a multiple of %d bytes", name,
                     LATHE_WORKSPACE_ALIGN);
  if ((status = setShape(context, i, tensor->shape)))
    return status;
  releaseOwned(context, state);
  state->data = data;
  state->isCallers = true;
  ++context->states->version;
  return LATHE_OK;
}
