/*===- Context.c - Opening an artifact on a device --------------------------===*/
#include "Cpu/Features.h"
#include "Runtime.h"

/*===-- Tables --------------------------------------------------------------===*/

static LatheStatus checkTables(LatheContext *context) {
  const LatheHeader *meta = context->meta;
  if (memcmp(meta->magic, LATHE_FORMAT_MAGIC, sizeof meta->magic) || meta->major != LATHE_FORMAT_MAJOR ||
      meta->headerBytes < sizeof(LatheHeader))
    return latheFail(context, LATHE_FAILED, "the artifact's tables are of format %u.%u, its runtime reads %u.%u", meta->major,
                     meta->minor, LATHE_FORMAT_MAJOR, LATHE_FORMAT_MINOR);
  return LATHE_OK;
}

/* The kind of device: the one asked for, or what the artifact has code for. Every entry point has code for the same ones. */
static LatheStatus chooseProgram(LatheContext *context, const LatheOptions *options) {
  const LatheProgram *programs = LATHE_ARRAY(context, LatheProgram, context->meta->programs);
  int32_t deviceType = options->deviceType;
  context->device = (DLDevice){deviceType ? (DLDeviceType)deviceType : kDLCPU, options->deviceId};
  context->program = latheEntryProgram(context, 0);
  if (!context->program && !deviceType && context->meta->programs.count) {
    context->program = &programs[0];
    context->device.device_type = (DLDeviceType)programs[0].deviceType;
  }
  if (context->program)
    return LATHE_OK;
  const char *device = deviceType == kDLCUDA ? "CUDA" : deviceType == kDLCPU ? "the CPU" : "this kind of device";
  return latheFail(context, LATHE_UNSUPPORTED, "the artifact has no code for %s", device);
}

/*===-- Constants -----------------------------------------------------------===*/

/* PATH's directory + NAME, into `result`. */
static bool beside(const char *path, const char *name, char *result, size_t capacity) {
  size_t directory = strlen(path);
  while (directory && path[directory - 1] != '/')
    --directory;
  int n = snprintf(result, capacity, "%.*s%s", (int)directory, path, name);
  return n > 0 && (size_t)n < capacity;
}

static LatheStatus findData(LatheContext *context) {
  context->data = (const char *)context->meta + context->meta->dataDelta;
  const char *name = latheName(context, context->meta->externalData);
  if (!*name || !context->meta->dataBytes)
    return LATHE_OK;
  struct LatheDlInfo info;
  char path[4096];
  if (!dladdr(&lathe_meta, &info) || !info.fileName || !beside(info.fileName, name, path, sizeof path))
    return latheFail(context, LATHE_FAILED, "the artifact's own path is unknown, so '%s' beside it cannot be found", name);
  int fd = open(path, LATHE_O_RDONLY | LATHE_O_CLOEXEC);
  if (fd < 0)
    return latheFail(context, LATHE_INVALID, "cannot open '%s', which holds the model's constants", path);
  long bytes = lseek(fd, 0, 2);
  void *data = NULL;
  if (bytes >= 0 && (uint64_t)bytes == context->meta->dataBytes)
    data = mmap(NULL, (size_t)bytes, LATHE_PROT_READ, LATHE_MAP_PRIVATE, fd, 0);
  close(fd);
  if (!data)
    return latheFail(context, LATHE_INVALID, "'%s' has %ld bytes, the model's constants have %llu", path, bytes,
                     (unsigned long long)context->meta->dataBytes);
  if (data == (void *)-1)
    return latheFail(context, LATHE_FAILED, "cannot map '%s'", path);
  context->data = data;
  context->mappedBytes = context->meta->dataBytes;
  return LATHE_OK;
}

/*===-- Code variants -------------------------------------------------------===*/

/* The level in the low byte is reached, and the machine has what else the code needs. */
static int runsAt(uint32_t variant, uint32_t machine) {
  return (variant & 0xff) <= (machine & 0xff) && !((variant & ~machine) >> 8);
}

static uint32_t rankOf(uint32_t variant) { return (variant & 0xff) << 24 | variant >> 8; }

/* The kernels that the program's steps run need code for this machine; others (of another device's program) do not. */
static LatheStatus chooseVariantsOf(LatheContext *context, const LatheProgram *program, uint32_t level) {
  const LatheStep *steps = LATHE_ARRAY(context, LatheStep, program->steps);
  for (uint32_t s = 0; s < program->steps.count; ++s) {
    if (steps[s].kind != LATHE_STEP_KERNEL)
      continue;
    const LatheKernel *kernel = &context->kernels[steps[s].target];
    const LatheVariant *variants = LATHE_ARRAY(context, LatheVariant, kernel->variants), *best = NULL, *least = NULL;
    for (uint32_t v = 0; v < kernel->variants.count; ++v) {
      if (runsAt(variants[v].level, level) && (!best || rankOf(variants[v].level) > rankOf(best->level)))
        best = &variants[v];
      if (!least || rankOf(variants[v].level) < rankOf(least->level))
        least = &variants[v];
    }
    if (!best)
      return latheFail(context, LATHE_UNSUPPORTED, "kernel '%s' needs %s, which this processor does not have",
                       latheName(context, kernel->name), least ? latheLevelName(least->level) : "code for this device");
    context->variants[steps[s].target] = *best;
  }
  return LATHE_OK;
}

/* The level without tile registers where the system refuses them. It is asked only if there is code that wants them. */
static uint32_t permittedLevel(LatheContext *context, uint32_t level) {
  const uint32_t tiles = LATHE_LEVEL_AVX512_AMX & ~LATHE_LEVEL_AVX512_BF16;
  uint32_t wanted = 0;
  for (uint32_t k = 0; k < context->meta->kernels.count; ++k) {
    const LatheVariant *variants = LATHE_ARRAY(context, LatheVariant, context->kernels[k].variants);
    for (uint32_t v = 0; v < context->kernels[k].variants.count; ++v)
      wanted |= runsAt(variants[v].level, level) ? variants[v].level & tiles : 0;
  }
  return wanted && latheMayUseTiles() ? level : level & ~tiles;
}

static LatheStatus chooseVariants(LatheContext *context, uint32_t level) {
  uint32_t numKernels = context->meta->kernels.count;
  level = permittedLevel(context, level);
  context->variants = calloc(numKernels + 1, sizeof(LatheVariant));
  if (!context->variants)
    return latheOutOfMemory(context, sizeof(LatheVariant) * numKernels, "the kernels' table");
  LatheStatus status = LATHE_OK;
  for (uint32_t e = 0; !status && e < latheCountEntries(context); ++e)
    status = chooseVariantsOf(context, latheEntryProgram(context, e), level);
  return status;
}

static LatheStatus startThreads(LatheContext *context, int32_t threads) {
  if (threads < 0 || threads > LATHE_MAX_THREADS)
    return latheFail(context, LATHE_INVALID, "%d threads asked for, expected 1 to %d, or 0 for all cores", threads, LATHE_MAX_THREADS);
  uint32_t logical, cores = latheCountCores(&logical);
  context->threads = threads ? (uint32_t)threads : cores;
  if (context->threads > LATHE_MAX_THREADS)
    context->threads = LATHE_MAX_THREADS;
  context->cacheBytes = latheCacheBytes(2);
  context->sharedCacheBytes = latheCacheBytes(3);
  context->pool = lathePoolCreate(context->threads, logical);
  return context->pool ? LATHE_OK : latheFail(context, LATHE_FAILED, "cannot start %u threads", context->threads);
}

/*===-- Signature -----------------------------------------------------------===*/

static uint32_t countDims(const LatheContext *context, LatheArray tensors) {
  const LatheTensor *all = LATHE_ARRAY(context, LatheTensor, tensors);
  uint32_t dims = 0;
  for (uint32_t i = 0; i < tensors.count; ++i)
    dims += all[i].dims.count;
  return dims;
}

typedef struct {
  LatheTensorInfo *tensors;
  int64_t *bounds;
  const char **texts;
} SignatureRoom;

static void describe(const LatheContext *context, LatheArray tensors, SignatureRoom *room) {
  const LatheTensor *all = LATHE_ARRAY(context, LatheTensor, tensors);
  for (uint32_t i = 0; i < tensors.count; ++i) {
    uint32_t rank = all[i].dims.count;
    const LatheDim *dims = LATHE_ARRAY(context, LatheDim, all[i].dims);
    int64_t *min = room->bounds, *max = min + rank;
    for (uint32_t d = 0; d < rank; ++d) {
      min[d] = dims[d].min;
      max[d] = dims[d].max;
      room->texts[d] = latheName(context, dims[d].text);
    }
    *room->tensors++ = (LatheTensorInfo){latheName(context, all[i].name),
                                         {all[i].dtype.code, all[i].dtype.bits, all[i].dtype.lanes},
                                         (int32_t)rank, min, max, room->texts};
    room->bounds += 2 * rank;
    room->texts += rank;
  }
}

static LatheStatus buildSignature(LatheContext *context) {
  const LatheHeader *meta = context->meta;
  size_t tensors = (size_t)context->numInputs + context->numOutputs;
  size_t dims = (size_t)countDims(context, meta->inputs) + countDims(context, meta->outputs);
  size_t bytes = tensors * sizeof(LatheTensorInfo) + dims * (2 * sizeof(int64_t) + sizeof(char *));
  char *memory = context->signatureMemory = malloc(bytes + 1);
  if (!memory)
    return latheOutOfMemory(context, bytes, "the signature");
  SignatureRoom room = {(LatheTensorInfo *)memory, (int64_t *)(memory + tensors * sizeof(LatheTensorInfo)), NULL};
  room.texts = (const char **)(room.bounds + 2 * dims);
  LatheTensorInfo *first = room.tensors;
  describe(context, meta->inputs, &room);
  describe(context, meta->outputs, &room);
  context->signature = (LatheSignature){LATHE_ABI_VERSION, latheName(context, meta->modelName), context->numInputs,
                                        context->numOutputs, first, first + context->numInputs, context->threads,
                                        lathe_entry_name(context->first, context->entry)};
  return LATHE_OK;
}

/*===-- Per-run memory ------------------------------------------------------===*/

static LatheStatus allocateBindings(LatheContext *context) {
  size_t tensors = (size_t)context->numInputs + context->numOutputs;
  uint32_t outputDims = countDims(context, context->meta->outputs);
  context->numRawDims = countDims(context, context->meta->inputs) + context->meta->reads.count;
  context->rawDims = calloc((size_t)context->numRawDims + 1, sizeof(int64_t));
  context->bindings = calloc(tensors + 1, sizeof(LatheBinding));
  context->outputShapes = malloc(sizeof(int64_t *) * (context->numOutputs + 1) + sizeof(int64_t) * outputDims);
  context->dynamicBuffers = calloc((size_t)context->program->buffers.count + 1, sizeof(void *));
  if (!context->rawDims || !context->bindings || !context->outputShapes || !context->dynamicBuffers)
    return latheOutOfMemory(context, 0, "a context");
  const LatheTensor *outputs = LATHE_ARRAY(context, LatheTensor, context->meta->outputs);
  int64_t *shape = (int64_t *)(context->outputShapes + context->numOutputs + 1);
  for (uint32_t i = 0; i < context->numOutputs; shape += outputs[i++].dims.count)
    context->outputShapes[i] = shape;
  return LATHE_OK;
}

LatheStatus latheOpenSignature(LatheContext *context) {
  context->numInputs = context->meta->inputs.count;
  context->numOutputs = context->meta->outputs.count;
  LatheStatus status = allocateBindings(context);
  return status ? status : buildSignature(context);
}

void latheCloseSignature(LatheContext *context) {
  for (uint32_t i = 0; context->bindings && i < context->numInputs + context->numOutputs; ++i)
    free(context->bindings[i].owned);
  free(context->bindings);
  free(context->outputShapes);
  latheFreeDynamic(context);
  free(context->dynamicBuffers);
  free(context->rawDims);
  free(context->signatureMemory);
}

static LatheStatus openDevice(LatheContext *context, const LatheOptions *options) {
  uint32_t device = context->program->deviceType;
  if (device == kDLCPU) {
    uint32_t level = latheMachineLevel();
    if (options->maxLevel && options->maxLevel - 1 <= (level & 0xff)) /* and nothing beside the level */
      level = options->maxLevel - 1;
    LatheStatus status = chooseVariants(context, level);
    return status ? status : startThreads(context, options->threads);
  }
  if (device != kDLCUDA || !&latheCudaBackend)
    return latheFail(context, LATHE_UNSUPPORTED, "the artifact's runtime has no support for device type %u", device);
  context->threads = 1;
  LatheStatus status = latheCudaBackend.create(context, options->deviceId);
  if (!status)
    context->backend = &latheCudaBackend;
  return status;
}

LatheStatus latheOpen(LatheContext *context, const LatheOptions *given) {
  LatheOptions options;
  memset(&options, 0, sizeof options);
  if (given)
    memcpy(&options, given, given->size < sizeof options ? given->size : sizeof options);
  context->blob = context->meta = &lathe_meta;
  context->first = context;
  context->functions = lathe_functions;
  context->maxPlans = options.cachedShapes ? options.cachedShapes : 16;
  context->profile = options.profile;
  context->profileUser = options.profileUser;
  LatheStatus status = checkTables(context);
  if (status)
    return status;
  context->kernels = LATHE_ARRAY(context, LatheKernel, context->meta->kernels);
  context->workspace = calloc(1, sizeof(LatheWorkspace));
  if (!context->workspace)
    return latheOutOfMemory(context, sizeof(LatheWorkspace), "a context");
  if ((status = chooseProgram(context, &options)) || (status = latheOpenSignature(context)) || (status = findData(context)))
    return status;
  context->hostData = context->data;
  if (!(status = openDevice(context, &options)))
    status = latheOpenStates(context);
  context->signature.threads = context->threads;
  return status ? status : latheOpenEntries(context);
}

static void closeWorkspace(LatheContext *context) {
  char *own = context->workspace ? context->workspace->own : NULL;
  if (own && context->backend)
    context->backend->release(context, own);
  else
    free(own);
  free(context->workspace);
}

void latheClose(LatheContext *context) {
  latheCloseEntries(context);
  latheFreePlans(context);
  latheCloseStates(context);
  closeWorkspace(context);
  if (context->backend)
    context->backend->destroy(context);
  lathePoolDestroy(context->pool);
  if (context->mappedBytes)
    munmap((void *)context->data, context->mappedBytes);
  latheCloseSignature(context);
  free(context->variants);
}
