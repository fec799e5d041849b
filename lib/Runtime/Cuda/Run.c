/*===- Run.c - One run on the device ----------------------------------------===*\
|*
|* The steps of a plan become a CUDA graph per set of tensor addresses, made when the same addresses come a second time; a
|* caller that always brings new ones launches the kernels one by one.
|*
\*===----------------------------------------------------------------------===*/
#include "Cuda.h"

/*===-- Tensors -------------------------------------------------------------===*/

static bool onDevice(const DLTensor *tensor) {
  return tensor->device.device_type == kDLCUDA || tensor->device.device_type == kDLCUDAManaged;
}

static bool bytesOf(LatheContext *context, const DLTensor *tensor, uint64_t *bytes) {
  uint64_t bits = (uint64_t)tensor->dtype.bits * tensor->dtype.lanes;
  uint64_t total = tensor->dtype.code == kDLBool ? 1 : (bits + 7) / 8;
  for (int32_t d = 0; d < tensor->ndim; ++d)
    if (__builtin_mul_overflow(total, (uint64_t)tensor->shape[d], &total))
      return false;
  *bytes = total;
  (void)context;
  return true;
}

static LatheStatus stagingFor(LatheContext *context, uint32_t i, uint64_t bytes) {
  LatheCuda *cuda = latheCuda(context);
  LatheCudaStaging *staging = &cuda->staging[i];
  if (staging->bytes >= bytes && staging->memory)
    return LATHE_OK;
  if (staging->memory) {
    cuda->driver.synchronize(cuda->stream);
    cuda->driver.release(staging->memory);
  }
  *staging = (LatheCudaStaging){0, 0, 0};
  LATHE_CUDA_TRY(context, cuda->driver.allocate(&staging->memory, bytes ? bytes : 1), "allocating memory for a tensor");
  staging->bytes = bytes;
  return LATHE_OK;
}

/* Wide accesses need addresses that are a multiple of 16. */
static bool usable(const DLTensor *tensor, const char *data) { return onDevice(tensor) && (uintptr_t)data % 16 == 0; }

/* An output that the library provides here lies in the context's own memory. */
static LatheStatus provideHere(LatheContext *context, uint32_t i, DLTensor *tensor) {
  uint64_t bytes;
  if (!bytesOf(context, tensor, &bytes))
    return latheFail(context, LATHE_INVALID, "a tensor has more elements than memory can hold");
  LatheStatus status = stagingFor(context, i, bytes);
  context->bindings[i].data = (char *)(uintptr_t)latheCuda(context)->staging[i].memory;
  tensor->data = bytes ? context->bindings[i].data : NULL;
  return status;
}

/* The device address of each tensor; host inputs are on their way. */
static LatheStatus bindTensors(LatheContext *context, LathePlan *plan, DLTensor *const *inputs, DLTensor *const *outputs) {
  LatheCuda *cuda = latheCuda(context);
  CUdeviceptr *addresses = ((LatheCudaPlan *)plan->device)->addresses;
  for (uint32_t i = 0; i < latheCudaTensors(context); ++i) {
    DLTensor *tensor = i < context->numInputs ? inputs[i] : outputs[i - context->numInputs];
    if (i >= context->numInputs && latheCudaIsDynamicOutput(context, i - context->numInputs)) {
      addresses[i] = cuda->staging[i].memory; /* steps see to it */
      continue;
    }
    if (context->bindings[i].staysOnDevice) {
      LatheStatus status = provideHere(context, i, tensor);
      if (status)
        return status;
    }
    const char *data = context->bindings[i].data;
    if (usable(tensor, data)) {
      addresses[i] = (CUdeviceptr)(uintptr_t)data;
      continue;
    }
    uint64_t bytes;
    if (!bytesOf(context, tensor, &bytes))
      return latheFail(context, LATHE_INVALID, "a tensor has more elements than memory can hold");
    LatheStatus status = stagingFor(context, i, bytes);
    if (status)
      return status;
    addresses[i] = cuda->staging[i].memory;
    if (i >= context->numInputs || !bytes)
      continue;
    CUresult result = onDevice(tensor) ? cuda->driver.copy(addresses[i], (CUdeviceptr)(uintptr_t)data, bytes, cuda->stream)
                                       : cuda->driver.upload(addresses[i], data, bytes, cuda->stream);
    LATHE_CUDA_TRY(context, result, "copying an input");
  }
  addresses[latheCudaTensors(context)] = (CUdeviceptr)(uintptr_t)context->workspace->memory;
  addresses[latheCudaTensors(context) + 1] = (CUdeviceptr)context->states->version;
  addresses[latheCudaTensors(context) + 2] = cuda->scratch.memory;
  addresses[latheCudaTensors(context) + 3] = (CUdeviceptr)cuda->memoryVersion;
  for (uint32_t p = 0; p < plan->numPatches; ++p) {
    const LathePatch *patch = &plan->patches[p];
    plan->pointers[patch->pointer] = (void *)(uintptr_t)(addresses[patch->tensor] + patch->offset);
  }
  return LATHE_OK;
}

/* An output whose size the run decided: where it is, or in memory of the host. */
static LatheStatus fetchDynamic(LatheContext *context, uint32_t output) {
  LatheCuda *cuda = latheCuda(context);
  const LatheCudaStaging *staging = &cuda->staging[context->numInputs + output];
  LatheBinding *binding = &context->bindings[context->numInputs + output];
  if (binding->staysOnDevice) {
    binding->data = staging->used ? (char *)(uintptr_t)staging->memory : NULL;
    return LATHE_OK;
  }
  LatheStatus status = latheProvide(context, context->numInputs + output, staging->used);
  if (!status && staging->used)
    status = latheCudaCheck(context, &cuda->driver,
                            cuda->driver.download(context->bindings[context->numInputs + output].data, staging->memory,
                                                  staging->used, cuda->stream),
                            "copying an output");
  return status;
}

/* What is on its way to or in memory that the host shares is there when the driver says so. */
static bool onHostToo(const DLTensor *tensor) { return tensor->device.device_type != kDLCUDA; }

static LatheStatus fetchOutputs(LatheContext *context, LathePlan *plan, DLTensor *const *outputs) {
  LatheCuda *cuda = latheCuda(context);
  bool ask = !cuda->signalled;
  const CUdeviceptr *addresses = ((LatheCudaPlan *)plan->device)->addresses;
  for (uint32_t i = 0; i < context->numOutputs; ++i) {
    const DLTensor *tensor = outputs[i];
    char *data = context->bindings[context->numInputs + i].data;
    uint64_t bytes;
    ask |= onHostToo(tensor);
    if (latheCudaIsDynamicOutput(context, i)) {
      LatheStatus status = fetchDynamic(context, i);
      if (status)
        return status;
      continue;
    }
    if (usable(tensor, data) || !bytesOf(context, tensor, &bytes) || !bytes)
      continue;
    CUdeviceptr from = addresses[context->numInputs + i];
    CUresult result = onDevice(tensor) ? cuda->driver.copy((CUdeviceptr)(uintptr_t)data, from, bytes, cuda->stream)
                                       : cuda->driver.download(data, from, bytes, cuda->stream);
    LATHE_CUDA_TRY(context, result, "copying an output");
    ask = true;
  }
  if (ask || !latheCudaAwaitSignal(cuda))
    LATHE_CUDA_TRY(context, cuda->driver.synchronize(cuda->stream), "a kernel");
  return LATHE_OK;
}

/*===-- Graphs --------------------------------------------------------------===*/

static LatheStatus capture(LatheContext *context, LathePlan *plan, CUgraphExec *exec) {
  LatheCuda *cuda = latheCuda(context);
  CUgraph graph = NULL;
  LATHE_CUDA_TRY(context, cuda->driver.beginCapture(cuda->stream, CU_CAPTURE_RELAXED), "capturing the kernels");
  LatheStatus status = latheCudaRunSteps(context, plan);
  if (!status)
    status = latheCudaSignalAtEnd(context);
  CUresult result = cuda->driver.endCapture(cuda->stream, &graph);
  if (!status)
    status = latheCudaCheck(context, &cuda->driver, result, "capturing the kernels");
  if (!status)
    status = latheCudaCheck(context, &cuda->driver, cuda->driver.instantiate(exec, graph, 0), "making a graph of the kernels");
  if (graph)
    cuda->driver.destroyGraph(graph);
  return status;
}

/* The graph of these addresses, or the one to replace: the least recently used. */
static LatheCudaGraph *graphFor(LatheContext *context, LatheCudaPlan *device, bool *known) {
  size_t bytes = sizeof(CUdeviceptr) * latheCudaAddresses(context);
  LatheCudaGraph *oldest = &device->graphs[0];
  *known = false;
  for (int g = 0; g < LATHE_CUDA_GRAPHS; ++g) {
    LatheCudaGraph *graph = &device->graphs[g];
    if (graph->lastUse && !memcmp(graph->addresses, device->addresses, bytes)) {
      *known = true;
      return graph;
    }
    if (graph->lastUse < oldest->lastUse)
      oldest = graph;
  }
  return oldest;
}

static LatheStatus runGraph(LatheContext *context, LathePlan *plan) {
  LatheCuda *cuda = latheCuda(context);
  LatheCudaPlan *device = plan->device;
  bool known;
  LatheCudaGraph *graph = graphFor(context, device, &known);
  graph->lastUse = ++device->uses;
  if (!known) {
    if (graph->exec)
      cuda->driver.destroyExec(graph->exec);
    graph->exec = NULL;
    memcpy(graph->addresses, device->addresses, sizeof(CUdeviceptr) * latheCudaAddresses(context));
    return latheCudaRunSteps(context, plan);
  }
  if (!graph->exec) {
    LatheStatus status = capture(context, plan, &graph->exec);
    if (status)
      return status;
  }
  latheCudaExpectSignal(cuda);
  LATHE_CUDA_TRY(context, cuda->driver.launchGraph(graph->exec, cuda->stream), "launching the kernels");
  cuda->signalled = true;
  return LATHE_OK;
}

LatheStatus latheCudaRun(LatheContext *context, LathePlan *plan, DLTensor *const *inputs, DLTensor *const *outputs) {
  LatheStatus status = bindTensors(context, plan, inputs, outputs);
  latheCuda(context)->signalled = false;
  bool graphs = ((LatheCudaPlan *)plan->device)->capturable && !context->profile && plan->numSteps > 0;
  if (!status)
    status = graphs ? runGraph(context, plan) : latheCudaRunSteps(context, plan);
  if (!status)
    status = fetchOutputs(context, plan, outputs);
  if (!status && plan->dynamic)
    latheFinishOutputs(context, plan, outputs);
  return status;
}
