/*===- Backend.c - A context on a GPU ---------------------------------------===*/
#include "Cuda.h"

uint32_t latheCudaTensors(const LatheContext *context) { return context->numInputs + context->numOutputs; }

/*===-- Constants, uploaded once per device ---------------------------------===*/

static LatheCudaConstants *allConstants;
static int constantsLock;

static void lockConstants(void) {
  while (__atomic_exchange_n(&constantsLock, 1, __ATOMIC_ACQUIRE))
    sched_yield();
}
static void unlockConstants(void) { __atomic_store_n(&constantsLock, 0, __ATOMIC_RELEASE); }

/* Where the programs' constants begin in the data section. */
static uint64_t firstConstant(const LatheContext *context) {
  uint64_t first = context->meta->dataBytes;
  for (uint32_t e = 0; e < latheCountEntries(context); ++e) {
    LatheArray all = latheEntryProgram(context, e)->buffers;
    const LatheBuffer *buffers = LATHE_ARRAY(context, LatheBuffer, all);
    for (uint32_t i = 0; i < all.count; ++i)
      if (buffers[i].kind == LATHE_BUFFER_CONST && buffers[i].offset < first)
        first = buffers[i].offset;
  }
  return first & ~(uint64_t)255;
}

static LatheStatus uploadConstants(LatheContext *context, LatheCudaConstants *made) {
  LatheCuda *cuda = latheCuda(context);
  made->first = firstConstant(context);
  uint64_t bytes = context->meta->dataBytes - made->first;
  if (!bytes)
    return LATHE_OK;
  LATHE_CUDA_TRY(context, cuda->driver.allocate(&made->memory, bytes), "allocating memory for the model's constants");
  LATHE_CUDA_TRY(context, cuda->driver.upload(made->memory, cuda->hostData + made->first, bytes, cuda->stream),
                 "copying the model's constants");
  LATHE_CUDA_TRY(context, cuda->driver.synchronize(cuda->stream), "copying the model's constants");
  return LATHE_OK;
}

static LatheStatus shareConstants(LatheContext *context) {
  LatheCuda *cuda = latheCuda(context);
  LatheStatus status = LATHE_OK;
  lockConstants();
  LatheCudaConstants *c = allConstants;
  while (c && c->device != context->device.device_id)
    c = c->next;
  if (!c) {
    c = calloc(1, sizeof *c);
    status = c ? LATHE_OK : latheOutOfMemory(context, sizeof *c, "the constants' table");
    if (c) {
      c->device = context->device.device_id;
      status = uploadConstants(context, c);
      if (status) {
        if (c->memory)
          cuda->driver.release(c->memory);
        free(c);
      } else {
        c->next = allConstants;
        allConstants = c;
      }
    }
  }
  if (!status) {
    ++c->users;
    cuda->constants = c;
    context->data = (const char *)(uintptr_t)(c->memory - c->first);
  }
  unlockConstants();
  return status;
}

static void dropConstants(LatheCuda *cuda) {
  LatheCudaConstants *c = cuda->constants;
  if (!c)
    return;
  lockConstants();
  if (!--c->users) {
    LatheCudaConstants **link = &allConstants;
    while (*link != c)
      link = &(*link)->next;
    *link = c->next;
    if (c->memory)
      cuda->driver.release(c->memory);
    free(c);
  }
  unlockConstants();
}

/*===-- Opening -------------------------------------------------------------===*/

static LatheStatus openDevice(LatheContext *context, int32_t deviceId) {
  LatheCuda *cuda = latheCuda(context);
  LatheCudaDriver *d = &cuda->driver;
  LatheStatus status = latheCudaOpenDriver(context, d);
  if (status)
    return status;
  int count = 0, major = 0, minor = 0;
  CUresult result = d->init(0);
  if (!result)
    result = d->deviceCount(&count);
  if (result || !count)
    return latheFail(context, LATHE_UNSUPPORTED, "the CUDA driver finds no device on this machine");
  if (deviceId < 0 || deviceId >= count)
    return latheFail(context, LATHE_INVALID, "there is no CUDA device %d, this machine has %d", deviceId, count);
  LATHE_CUDA_TRY(context, d->device(&cuda->device, deviceId), "opening the device");
  LATHE_CUDA_TRY(context, d->attribute(&major, CU_DEVICE_MAJOR, cuda->device), "asking for the compute capability");
  LATHE_CUDA_TRY(context, d->attribute(&minor, CU_DEVICE_MINOR, cuda->device), "asking for the compute capability");
  LATHE_CUDA_TRY(context, d->attribute(&cuda->multiprocessors, CU_DEVICE_MULTIPROCESSORS, cuda->device),
                 "asking for the number of multiprocessors");
  cuda->capability = 10 * major + minor;
  LATHE_CUDA_TRY(context, d->retain(&cuda->context, cuda->device), "opening the device");
  LATHE_CUDA_TRY(context, d->push(cuda->context), "entering the device's context");
  result = d->newStream(&cuda->stream, CU_STREAM_OWN);
  status = latheCudaCheck(context, d, result, "making a stream");
  if (!status)
    status = shareConstants(context);
  if (!status)
    latheCudaOpenSignal(cuda);
  d->pop(NULL);
  return status;
}

static LatheStatus checkCodeOf(LatheContext *context, const LatheProgram *program) {
  const LatheStep *steps = LATHE_ARRAY(context, LatheStep, program->steps);
  const LatheCudaVariant *variant;
  LatheStatus status = LATHE_OK;
  for (uint32_t i = 0; !status && i < program->steps.count; ++i)
    if (steps[i].kind == LATHE_STEP_KERNEL)
      status = latheCudaChooseVariant(context, &context->kernels[steps[i].target], &variant);
  return status;
}

static LatheStatus checkCode(LatheContext *context) {
  LatheStatus status = LATHE_OK;
  for (uint32_t e = 0; !status && e < latheCountEntries(context); ++e)
    status = checkCodeOf(context, latheEntryProgram(context, e));
  return status;
}

/* Staging memory is there by the tensors' numbers, and that of steps by the buffers', whichever entry point they are of. */
static void countShared(const LatheContext *context, uint32_t *tensors, uint32_t *buffers) {
  for (uint32_t e = 0; e < latheCountEntries(context); ++e) {
    const LatheHeader *tables = latheEntryTables(context, e);
    const LatheProgram *program = latheEntryProgram(context, e);
    uint32_t count = tables->inputs.count + tables->outputs.count, all = program ? program->buffers.count : 0;
    *tensors = count > *tensors ? count : *tensors;
    *buffers = all > *buffers ? all : *buffers;
  }
}

static void destroy(LatheContext *context);

static LatheStatus create(LatheContext *context, int32_t deviceId) {
  LatheCuda *cuda = context->backendState = calloc(1, sizeof(LatheCuda));
  if (!cuda)
    return latheOutOfMemory(context, sizeof(LatheCuda), "a context");
  cuda->hostData = context->data;
  const LatheCudaTable *table = latheCudaTable(context);
  cuda->modules = calloc((table ? table->modules.count : 0) + 1, sizeof(CUmodule));
  countShared(context, &cuda->numStaging, &cuda->numBuffers);
  cuda->staging = calloc(cuda->numStaging + 1, sizeof(LatheCudaStaging));
  cuda->dynamics = calloc(cuda->numBuffers + 1, sizeof(LatheCudaStaging));
  cuda->owners = calloc(cuda->numBuffers + 1, sizeof(uint32_t));
  bool complete = cuda->modules && cuda->staging && cuda->dynamics && cuda->owners;
  LatheStatus status = complete ? openDevice(context, deviceId) : latheOutOfMemory(context, 0, "a context");
  if (!status)
    status = checkCode(context);
  if (status)
    destroy(context);
  return status;
}

static void destroy(LatheContext *context) {
  LatheCuda *cuda = latheCuda(context);
  if (!cuda)
    return;
  LatheCudaDriver *d = &cuda->driver;
  const LatheCudaTable *table = latheCudaTable(context);
  if (cuda->context && !d->push(cuda->context)) {
    if (cuda->stream)
      d->synchronize(cuda->stream);
    for (uint32_t i = 0; table && i < table->modules.count; ++i)
      if (cuda->modules[i])
        d->unloadModule(cuda->modules[i]);
    for (uint32_t i = 0; cuda->staging && i < cuda->numStaging; ++i)
      if (cuda->staging[i].memory)
        d->release(cuda->staging[i].memory);
    for (uint32_t i = 0; cuda->dynamics && i < cuda->numBuffers; ++i)
      if (cuda->dynamics[i].memory)
        d->release(cuda->dynamics[i].memory);
    if (cuda->scratch.memory)
      d->release(cuda->scratch.memory);
    dropConstants(cuda);
    latheCudaCloseSignal(cuda);
    if (cuda->stream)
      d->destroyStream(cuda->stream);
    d->pop(NULL);
  }
  if (cuda->context)
    d->releaseContext(cuda->device);
  context->data = cuda->hostData;
  free(cuda->modules);
  free(cuda->staging);
  free(cuda->dynamics);
  free(cuda->owners);
  free(cuda);
  context->backendState = NULL;
}

/*===-- Memory --------------------------------------------------------------===*/

static void *allocate(LatheContext *context, uint64_t bytes) {
  LatheCuda *cuda = latheCuda(context);
  CUdeviceptr memory = 0;
  if (cuda->driver.push(cuda->context))
    return NULL;
  if (cuda->driver.allocate(&memory, bytes ? bytes : 1))
    memory = 0;
  cuda->driver.pop(NULL);
  return (void *)(uintptr_t)memory;
}

static void release(LatheContext *context, void *memory) {
  LatheCuda *cuda = latheCuda(context);
  if (cuda->driver.push(cuda->context))
    return;
  cuda->driver.synchronize(cuda->stream);
  cuda->driver.release((CUdeviceptr)(uintptr_t)memory);
  cuda->driver.pop(NULL);
}

/*===-- The table -----------------------------------------------------------===*/

static LatheStatus plan(LatheContext *context, LathePlan *plan) {
  LatheCuda *cuda = latheCuda(context);
  LATHE_CUDA_TRY(context, cuda->driver.push(cuda->context), "entering the device's context");
  LatheStatus status = latheCudaPlanSteps(context, plan);
  cuda->driver.pop(NULL);
  return status;
}

static void forget(LatheContext *context, LathePlan *plan) {
  LatheCuda *cuda = latheCuda(context);
  if (cuda->driver.push(cuda->context))
    return;
  latheCudaForgetPlan(context, plan);
  cuda->driver.pop(NULL);
}

static LatheStatus run(LatheContext *context, LathePlan *plan, DLTensor *const *inputs, DLTensor *const *outputs) {
  LatheCuda *cuda = latheCuda(context);
  LATHE_CUDA_TRY(context, cuda->driver.push(cuda->context), "entering the device's context");
  LatheStatus status = latheCudaRun(context, plan, inputs, outputs);
  cuda->driver.pop(NULL);
  return status;
}

static LatheStatus copyTo(LatheContext *context, void *to, bool toHost, const void *from, bool fromHost, uint64_t bytes) {
  LatheCuda *cuda = latheCuda(context);
  CUdeviceptr target = (CUdeviceptr)(uintptr_t)to, source = (CUdeviceptr)(uintptr_t)from;
  CUresult result = toHost     ? cuda->driver.download(to, source, bytes, cuda->stream)
                    : fromHost ? cuda->driver.upload(target, from, bytes, cuda->stream)
                               : cuda->driver.copy(target, source, bytes, cuda->stream);
  LATHE_CUDA_TRY(context, result, "copying a state");
  LATHE_CUDA_TRY(context, cuda->driver.synchronize(cuda->stream), "copying a state");
  return LATHE_OK;
}

static LatheStatus transfer(LatheContext *context, void *to, bool toHost, const void *from, bool fromHost, uint64_t bytes) {
  LatheCuda *cuda = latheCuda(context);
  LATHE_CUDA_TRY(context, cuda->driver.push(cuda->context), "entering the device's context");
  LatheStatus status = copyTo(context, to, toHost, from, fromHost, bytes);
  cuda->driver.pop(NULL);
  return status;
}

const LatheBackend latheCudaBackend = {kDLCUDA, create, destroy, allocate, release, plan, forget, run, transfer};
