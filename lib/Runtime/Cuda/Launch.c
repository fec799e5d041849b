/*===- Launch.c - A plan's steps on the device ------------------------------===*/
#include "Cuda.h"

/*===-- Planning ------------------------------------------------------------===*/

/* Kernels run one after the other on the context's stream, so one piece of memory serves them all. */
static LatheStatus reserveScratch(LatheContext *context, uint64_t bytes) {
  LatheCuda *cuda = latheCuda(context);
  if (cuda->scratch.bytes >= bytes)
    return LATHE_OK;
  if (cuda->scratch.memory) {
    cuda->driver.synchronize(cuda->stream);
    cuda->driver.release(cuda->scratch.memory);
  }
  cuda->scratch = (LatheCudaStaging){0, 0, 0};
  LATHE_CUDA_TRY(context, cuda->driver.allocate(&cuda->scratch.memory, bytes),
                 "allocating memory between a kernel's steps");
  cuda->scratch.bytes = bytes;
  return LATHE_OK;
}

static LatheStatus planFollowing(LatheContext *context, const LatheCudaVariant *variant, const int64_t *words,
                                 LatheCudaLaunchStep *out) {
  if (words[LATHE_CUDA_FOLLOWING] < 0 || words[LATHE_CUDA_FOLLOWING] > LATHE_CUDA_MAX_FOLLOWING)
    return latheFail(context, LATHE_FAILED, "the artifact's launch plan has more steps than a kernel may have");
  out->numFollowing = (uint32_t)words[LATHE_CUDA_FOLLOWING];
  LatheStatus status =
      words[LATHE_CUDA_SCRATCH] > 0 ? reserveScratch(context, (uint64_t)words[LATHE_CUDA_SCRATCH]) : LATHE_OK;
  for (uint32_t i = 0; !status && i < out->numFollowing; ++i) {
    const int64_t *w = words + LATHE_CUDA_FOLLOWING0 + i * LATHE_CUDA_FOLLOWING_WORDS;
    LatheCudaFollowing *next = &out->following[i];
    next->grid = (uint32_t)w[1];
    next->block = (uint32_t)w[2];
    next->shared = (uint32_t)w[3];
    status = latheCudaFunction(context, variant, (uint32_t)w[0], next->shared, &next->fn);
  }
  return status;
}

LatheStatus latheCudaPlanLaunch(LatheContext *context, const LathePlannedStep *step, LatheCudaLaunchStep *out) {
  LatheCuda *cuda = latheCuda(context);
  const LatheKernel *kernel = &context->kernels[step->step->target];
  const LatheCudaVariant *variant;
  bool conditional = step->step->flags & LATHE_STEP_CONDITIONAL;
  uint32_t numSizes = step->step->slots.count - conditional;
  out->empty = conditional && !step->sizes[numSizes];
  if (out->empty)
    return LATHE_OK;
  LatheStatus status = latheCudaChooseVariant(context, kernel, &variant);
  if (status)
    return status;
  int64_t words[LATHE_CUDA_PLAN_WORDS] = {0};
  words[LATHE_CUDA_PROCESSORS] = cuda->multiprocessors;
  ((LathePlanFn)context->functions[variant->plan])(step->sizes, words);
  for (int i = 0; i < 3; ++i) {
    int64_t limit = i ? 65535 : INT32_MAX;
    if (words[LATHE_CUDA_GRID + i] > limit)
      return latheFail(context, LATHE_INVALID, "kernel '%s' would need %lld blocks, more than a GPU takes",
                       latheName(context, kernel->name), (long long)words[LATHE_CUDA_GRID + i]);
    out->grid[i] = words[LATHE_CUDA_GRID + i] > 0 ? (uint32_t)words[LATHE_CUDA_GRID + i] : 0;
    out->empty |= !out->grid[i];
  }
  if (out->empty)
    return LATHE_OK;
  uint64_t most = (uint64_t)words[LATHE_CUDA_PERSISTENT] * (uint64_t)cuda->multiprocessors;
  out->cluster = (uint32_t)words[LATHE_CUDA_CLUSTER];
  if (out->cluster > 1) /* whole ones */
    most -= most % out->cluster;
  if (most && out->grid[0] > most)
    out->grid[0] = (uint32_t)most;
  out->block = (uint32_t)words[LATHE_CUDA_BLOCK];
  out->shared = (uint32_t)words[LATHE_CUDA_SHARED];
  out->dependent = (words[LATHE_CUDA_FLAGS] & LATHE_CUDA_DEPENDENT) && cuda->driver.launchEx;
  out->together = words[LATHE_CUDA_FLAGS] & LATHE_CUDA_TOGETHER;
  out->numMaps = (uint32_t)words[LATHE_CUDA_MAPS];
  if (out->numMaps && (!cuda->driver.encodeMap || !cuda->driver.encodeWindows))
    return latheFail(context, LATHE_UNSUPPORTED, "the CUDA driver is too old for this device: it has no cuTensorMapEncodeTiled or "
                     "no cuTensorMapEncodeIm2col");
  memcpy(out->mapWords, words + LATHE_CUDA_MAP0, sizeof(int64_t) * LATHE_CUDA_MAP_WORDS * out->numMaps);
  void **argument = out->arguments;
  for (uint32_t b = 0; b < step->step->buffers.count; ++b)
    *argument++ = &step->buffers[b];
  for (uint32_t s = 0; s < numSizes; ++s)
    *argument++ = &step->sizes[s];
  *argument++ = &cuda->scratch.memory;
  for (uint32_t m = 0; m < out->numMaps; ++m) /* launches that take none do not look so far */
    *argument++ = &out->maps[m];
  status = planFollowing(context, variant, words, out);
  return status ? status
                : latheCudaFunction(context, variant, (uint32_t)words[LATHE_CUDA_ENTRY], out->shared, &out->fn);
}

/* One block of memory: the plan, its steps, then per step the maps, their words and the arguments. */
static LatheCudaPlan *allocatePlan(LatheContext *context, const LathePlan *plan) {
  uint64_t perStep = LATHE_CUDA_MAX_MAPS * (sizeof(CUtensorMap) + LATHE_CUDA_MAP_WORDS * sizeof(int64_t));
  uint32_t tensors = latheCudaAddresses(context), pointers = 0;
  for (uint32_t i = 0; i < plan->numSteps; ++i)
    pointers += plan->steps[i].step->buffers.count + plan->steps[i].step->slots.count + LATHE_CUDA_MAX_MAPS + 1;
  uint64_t head = (sizeof(LatheCudaPlan) + 63) & ~63ull, steps = (sizeof(LatheCudaLaunchStep) * plan->numSteps + 63) & ~63ull;
  uint64_t addresses = sizeof(CUdeviceptr) * tensors * (LATHE_CUDA_GRAPHS + 1);
  uint64_t bytes = (head + steps + perStep * plan->numSteps + sizeof(void *) * pointers + addresses + 63) & ~63ull;
  char *memory = aligned_alloc(64, bytes);
  if (!memory)
    return NULL;
  memset(memory, 0, bytes);
  LatheCudaPlan *out = (LatheCudaPlan *)memory;
  out->steps = (LatheCudaLaunchStep *)(memory + head);
  char *at = memory + head + steps;
  for (uint32_t i = 0; i < plan->numSteps; ++i) {
    out->steps[i].maps = (CUtensorMap *)at;
    at += LATHE_CUDA_MAX_MAPS * sizeof(CUtensorMap);
  }
  for (uint32_t i = 0; i < plan->numSteps; ++i) {
    out->steps[i].mapWords = (int64_t *)at;
    at += LATHE_CUDA_MAX_MAPS * LATHE_CUDA_MAP_WORDS * sizeof(int64_t);
  }
  for (uint32_t i = 0; i < plan->numSteps; ++i) {
    out->steps[i].arguments = (void **)at;
    at += sizeof(void *) *
          (plan->steps[i].step->buffers.count + plan->steps[i].step->slots.count + LATHE_CUDA_MAX_MAPS + 1);
  }
  for (int g = 0; g < LATHE_CUDA_GRAPHS; ++g) {
    out->graphs[g].addresses = (CUdeviceptr *)at;
    at += sizeof(CUdeviceptr) * tensors;
  }
  out->addresses = (CUdeviceptr *)at;
  return out;
}

LatheStatus latheCudaPlanSteps(LatheContext *context, LathePlan *plan) {
  LatheCudaPlan *out = allocatePlan(context, plan);
  if (!out)
    return latheOutOfMemory(context, 0, "a plan");
  plan->device = out;
  out->capturable = latheCudaWalksAlike(context, plan);
  LatheStatus status = LATHE_OK;
  for (uint32_t i = 0; !status && i < plan->numSteps; ++i)
    if (plan->steps[i].kind == LATHE_STEP_KERNEL && !(plan->steps[i].step->flags & LATHE_STEP_DYNAMIC))
      status = latheCudaPlanLaunch(context, &plan->steps[i], &out->steps[i]);
  return status;
}

void latheCudaForgetPlan(LatheContext *context, LathePlan *plan) {
  LatheCudaPlan *device = plan->device;
  if (!device)
    return;
  for (int g = 0; g < LATHE_CUDA_GRAPHS; ++g)
    if (device->graphs[g].exec)
      latheCuda(context)->driver.destroyExec(device->graphs[g].exec);
  free(device);
  plan->device = NULL;
}

/*===-- Running -------------------------------------------------------------===*/

/* What a tensor map begins at: a buffer, or a part of the scratch memory that a launch ahead fills. */
static char *startOfMap(LatheContext *context, const LathePlannedStep *step, const int64_t *words) {
  uint64_t buffer = (uint64_t)words[LATHE_CUDA_MAP_BUFFER];
  char *memory = buffer < step->step->buffers.count ? step->buffers[buffer] : (char *)(uintptr_t)latheCuda(context)->scratch.memory;
  return memory + words[LATHE_CUDA_MAP_OFFSET];
}

static LatheStatus encodeMaps(LatheContext *context, const LathePlannedStep *step, LatheCudaLaunchStep *launch) {
  for (uint32_t m = 0; m < launch->numMaps; ++m) {
    const int64_t *w = launch->mapWords + m * LATHE_CUDA_MAP_WORDS;
    uint64_t dims[5], strides[5];
    uint32_t box[5], steps[5], rank = (uint32_t)w[LATHE_CUDA_MAP_RANK], pixels = (uint32_t)w[LATHE_CUDA_MAP_WINDOW];
    int lower[3], upper[3];
    for (uint32_t i = 0; i < rank; ++i) {
      dims[i] = (uint64_t)w[LATHE_CUDA_MAP_DIMS + i];
      strides[i] = (uint64_t)w[LATHE_CUDA_MAP_STRIDES + i];
      box[i] = (uint32_t)w[LATHE_CUDA_MAP_BOX + i];
      steps[i] = 1;
    }
    for (uint32_t i = 0; i < pixels; ++i) {
      lower[i] = (int)w[LATHE_CUDA_MAP_LOWER + i];
      upper[i] = (int)w[LATHE_CUDA_MAP_UPPER + i];
      steps[1 + i] = (uint32_t)w[LATHE_CUDA_MAP_STEPS + i];
    }
    if (pixels) {
      LATHE_CUDA_TRY(context,
                     latheCuda(context)->driver.encodeWindows(&launch->maps[m], (int)w[LATHE_CUDA_MAP_TYPE], rank,
                                                              startOfMap(context, step, w), dims, strides + 1, lower, upper,
                                                              box[0], box[1], steps, 0, (int)w[LATHE_CUDA_MAP_SWIZZLE], 2, 0),
                     "describing an image");
      continue;
    }
    LATHE_CUDA_TRY(context,
                   latheCuda(context)->driver.encodeMap(&launch->maps[m], (int)w[LATHE_CUDA_MAP_TYPE], rank,
                                                        startOfMap(context, step, w), dims, strides + 1, box, steps, 0,
                                                        (int)w[LATHE_CUDA_MAP_SWIZZLE], 2, 0),
                   "describing a tensor");
  }
  return LATHE_OK;
}

/* One launch: the step's first, or one that follows. */
static CUresult launchGrid(LatheCuda *cuda, const LatheCudaLaunchStep *launch, CUfunction fn, const uint32_t *g,
                           uint32_t block, uint32_t shared, uint32_t cluster) {
  if (cluster <= 1 && !launch->dependent)
    return cuda->driver.launch(fn, g[0], g[1], g[2], block, 1, 1, shared, cuda->stream, launch->arguments, NULL);
  CUlaunchAttribute attributes[2];
  memset(attributes, 0, sizeof attributes);
  CUlaunchConfig config = {{g[0], g[1], g[2]}, {block, 1, 1}, shared, cuda->stream, attributes, 0};
  if (launch->dependent) {
    attributes[config.numAttributes].id = CU_ATTRIBUTE_PROGRAMMATIC_SERIALIZATION;
    attributes[config.numAttributes++].value.flag = 1;
  }
  if (cluster > 1) {
    attributes[config.numAttributes].id = CU_ATTRIBUTE_CLUSTER;
    attributes[config.numAttributes].value.cluster.x = cluster;
    attributes[config.numAttributes].value.cluster.y = attributes[config.numAttributes].value.cluster.z = 1;
    ++config.numAttributes;
  }
  return cuda->driver.launchEx(&config, fn, launch->arguments, NULL);
}

static LatheStatus launchKernel(LatheContext *context, const LathePlannedStep *step, LatheCudaLaunchStep *launch) {
  LatheCuda *cuda = latheCuda(context);
  if (launch->empty)
    return LATHE_OK;
  LatheStatus status = encodeMaps(context, step, launch);
  if (status)
    return status;
  CUresult result = launchGrid(cuda, launch, launch->fn, launch->grid, launch->block, launch->shared, launch->cluster);
  for (uint32_t i = 0; !result && i < launch->numFollowing; ++i) {
    const LatheCudaFollowing *next = &launch->following[i];
    uint32_t grid[3] = {next->grid, 1, 1};
    if (next->grid && launch->together && i + 1 == launch->numFollowing)
      result = cuda->driver.launchTogether(next->fn, next->grid, 1, 1, next->block, 1, 1, next->shared, cuda->stream, launch->arguments);
    else if (next->grid)
      result = launchGrid(cuda, launch, next->fn, grid, next->block, next->shared, 1);
  }
  return latheCudaCheck(context, &cuda->driver, result, latheName(context, context->kernels[step->step->target].name));
}

LatheStatus latheCudaRunStep(LatheContext *context, LathePlan *plan, uint32_t i) {
  LatheCuda *cuda = latheCuda(context);
  LathePlannedStep *step = &plan->steps[i];
  if (step->kind == LATHE_STEP_KERNEL)
    return launchKernel(context, step, &((LatheCudaPlan *)plan->device)->steps[i]);
  if (step->kind == LATHE_STEP_CALL)
    return latheCudaCallOnHost(context, plan, step);
  if (step->sizes[0] <= 0)
    return LATHE_OK;
  uint64_t offset = step->step->slots.count > 1 ? (uint64_t)step->sizes[1] : 0;
  CUresult result = cuda->driver.copy((CUdeviceptr)(uintptr_t)step->buffers[1] + offset,
                                      (CUdeviceptr)(uintptr_t)step->buffers[0], (size_t)step->sizes[0], cuda->stream);
  return latheCudaCheck(context, &cuda->driver, result, "a copy");
}

LatheStatus latheCudaRunSteps(LatheContext *context, LathePlan *plan) {
  if (plan->dynamic)
    return latheCudaWalk(context, plan);
  if (context->profile)
    return latheCudaProfileSteps(context, plan);
  LatheStatus status = LATHE_OK;
  for (uint32_t i = 0; !status && i < plan->numSteps; ++i)
    status = latheCudaRunStep(context, plan, i);
  return status;
}
