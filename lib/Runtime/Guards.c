/*===- Guards.c - The caller's tensors --------------------------------------===*/
#include "Runtime.h"

/*===-- Element types -------------------------------------------------------===*/

static const char *dtypeName(DLDataType type, char *text, size_t capacity) {
  static const char *const names[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  const char *name = type.code < sizeof names / sizeof *names ? names[type.code] : "unknown";
  if (type.code == kDLBool && type.bits == 8)
    snprintf(text, capacity, "bool");
  else
    snprintf(text, capacity, "%s%u", name, type.bits);
  return text;
}

/* Booleans are one byte, 0 or 1; older DLPack has no name for them and calls them uint8. */
static bool sameDType(DLDataType got, LatheDType want) {
  if (got.bits != want.bits || got.lanes != want.lanes)
    return false;
  return got.code == want.code || (want.code == kDLBool && got.code == kDLUInt);
}

static LatheStatus checkDType(LatheContext *context, const char *role, const char *name, DLDataType got, LatheDType want) {
  if (sameDType(got, want))
    return LATHE_OK;
  char have[32], need[32];
  const DLDataType wanted = {want.code, want.bits, want.lanes};
  return latheFail(context, LATHE_INVALID, "%s '%s' is %s, expected %s", role, name, dtypeName(got, have, sizeof have),
                   dtypeName(wanted, need, sizeof need));
}

/*===-- Layout --------------------------------------------------------------===*/

static bool isContiguous(const DLTensor *tensor) {
  if (!tensor->strides)
    return true;
  int64_t expected = 1;
  for (int32_t d = tensor->ndim; d-- > 0;) {
    if (tensor->shape[d] == 0)
      return true;
    if (tensor->shape[d] != 1 && tensor->strides[d] != expected)
      return false;
    expected *= tensor->shape[d];
  }
  return true;
}

static bool countBytes(const int64_t *shape, int32_t ndim, DLDataType type, uint64_t *bytes) {
  int64_t bits = (int64_t)type.bits * type.lanes;
  bool empty = false, ok = true;
  for (int32_t d = 0; d < ndim; ++d) {
    empty |= shape[d] == 0;
    ok = ok && !__builtin_mul_overflow(bits, shape[d], &bits);
  }
  *bytes = empty ? 0 : ((uint64_t)bits + 7) / 8;
  return empty || ok;
}

static bool isHost(DLDevice device) { return device.device_type == kDLCPU || device.device_type == kDLCUDAHost; }

static LatheStatus checkDevice(LatheContext *context, const char *role, const char *name, DLDevice device) {
  if (isHost(device))
    return LATHE_OK;
  bool cuda = context->device.device_type == kDLCUDA;
  if (cuda && (device.device_type == kDLCUDAManaged || (device.device_type == kDLCUDA && device.device_id == context->device.device_id)))
    return LATHE_OK;
  const char *kind = cuda ? "cuda" : "cpu";
  return latheFail(context, LATHE_INVALID, "%s '%s' is on device %d:%d (DLPack), the model runs on %s:%d", role, name,
                   (int)device.device_type, device.device_id, kind, context->device.device_id);
}

static LatheStatus failTensor(LatheContext *context, uint32_t tensor, uint64_t bytes) {
  bool isInput = tensor < context->numInputs;
  const LatheTensor *tensors = LATHE_ARRAY(context, LatheTensor, isInput ? context->meta->inputs : context->meta->outputs);
  char what[LATHE_MAX_NAME];
  const LatheTensor *info = &tensors[isInput ? tensor : tensor - context->numInputs];
  snprintf(what, sizeof what, "%s '%s'", isInput ? "a copy of input" : "output", latheName(context, info->name));
  return latheOutOfMemory(context, bytes, what);
}

LatheStatus latheProvide(LatheContext *context, uint32_t tensor, uint64_t bytes) {
  LatheBinding *binding = &context->bindings[tensor];
  if (binding->ownedBytes < bytes) {
    free(binding->owned);
    binding->ownedBytes = 0;
    binding->owned = bytes > INT64_MAX - LATHE_DATA_ALIGN
                         ? NULL
                         : aligned_alloc(LATHE_DATA_ALIGN, (bytes + LATHE_DATA_ALIGN - 1) / LATHE_DATA_ALIGN * LATHE_DATA_ALIGN);
    if (!binding->owned)
      return failTensor(context, tensor, bytes);
    binding->ownedBytes = bytes;
  }
  binding->data = binding->owned;
  return LATHE_OK;
}

/* Copies a strided tensor of whole-byte elements into row-major order, an odometer over its dimensions. */
static void gather(const DLTensor *tensor, char *to, uint64_t bytes) {
  int64_t index[LATHE_MAX_RANK] = {0};
  size_t element = (size_t)tensor->dtype.bits * tensor->dtype.lanes / 8;
  const char *from = (const char *)tensor->data + tensor->byte_offset;
  for (uint64_t done = 0; done < bytes; done += element) {
    memcpy(to + done, from, element);
    for (int32_t d = tensor->ndim; d-- > 0;) {
      from += tensor->strides[d] * (int64_t)element;
      if (++index[d] < tensor->shape[d])
        break;
      from -= tensor->strides[d] * (int64_t)element * tensor->shape[d];
      index[d] = 0;
    }
  }
}

/*===-- Inputs --------------------------------------------------------------===*/

static LatheStatus bindInput(LatheContext *context, uint32_t i, const char *name, const DLTensor *tensor) {
  uint64_t bytes;
  if (!countBytes(tensor->shape, tensor->ndim, tensor->dtype, &bytes))
    return latheFail(context, LATHE_INVALID, "input '%s' has more elements than memory can hold", name);
  if (!tensor->data && bytes)
    return latheFail(context, LATHE_INVALID, "input '%s' has no data", name);
  LatheBinding *binding = &context->bindings[i];
  if (isContiguous(tensor)) {
    binding->data = (char *)tensor->data + tensor->byte_offset;
    return LATHE_OK;
  }
  if (!isHost(tensor->device) || tensor->dtype.bits % 8)
    return latheFail(context, LATHE_INVALID, "input '%s' is not contiguous in row-major order", name);
  LatheStatus status = latheProvide(context, i, bytes);
  if (!status)
    gather(tensor, binding->data, bytes);
  return status;
}

static LatheStatus checkInput(LatheContext *context, const LatheTensor *want, const DLTensor *tensor, int64_t **raw) {
  const char *name = latheName(context, want->name);
  if (!tensor)
    return latheFail(context, LATHE_INVALID, "input '%s' is NULL", name);
  LatheStatus status = checkDType(context, "input", name, tensor->dtype, want->dtype);
  if (status)
    return status;
  if (tensor->ndim != (int32_t)want->dims.count)
    return latheFail(context, LATHE_INVALID, "input '%s' has rank %d, expected %u", name, tensor->ndim, want->dims.count);
  for (int32_t d = 0; d < tensor->ndim; ++d) {
    if (tensor->shape[d] < 0)
      return latheFail(context, LATHE_INVALID, "input '%s': dimension %d is negative", name, d);
    *(*raw)++ = tensor->shape[d];
  }
  return checkDevice(context, "input", name, tensor->device);
}

/* One element of an integer tensor, widened. */
static int64_t elementAt(const char *from, DLDataType type) {
  int64_t value = 0;
  size_t bytes = type.bits / 8;
  memcpy(&value, from, bytes <= 8 ? bytes : 8);
  if (type.code == kDLInt && bytes < 8)
    value = (int64_t)((uint64_t)value << (64 - 8 * bytes)) >> (64 - 8 * bytes);
  return value;
}

/* The elements that decide sizes. One that a dimension of the wrong size leaves out reads as 0: that dimension is reported. */
static LatheStatus readElements(LatheContext *context, DLTensor *const *inputs, int64_t *raw) {
  const LatheTensor *wanted = LATHE_ARRAY(context, LatheTensor, context->meta->inputs);
  const LatheRead *reads = LATHE_ARRAY(context, LatheRead, context->meta->reads);
  for (uint32_t r = 0; r < context->meta->reads.count; ++r, ++raw) {
    const DLTensor *tensor = inputs[reads[r].input];
    int64_t place = reads[r].element, step = 1;
    *raw = 0;
    if (tensor->ndim > 1 || (tensor->ndim == 1 && place >= tensor->shape[0]) || (tensor->ndim == 0 && place))
      continue;
    const char *name = latheName(context, wanted[reads[r].input].name);
    if (!tensor->data)
      return latheFail(context, LATHE_INVALID, "input '%s' decides sizes: its data is needed", name);
    if (!isHost(tensor->device))
      return latheFail(context, LATHE_INVALID, "input '%s' decides sizes: it has to be in host memory", name);
    if (tensor->ndim == 1 && tensor->strides)
      step = tensor->strides[0];
    *raw = elementAt((const char *)tensor->data + tensor->byte_offset + place * step * (tensor->dtype.bits / 8), tensor->dtype);
  }
  return LATHE_OK;
}

LatheStatus latheCheckInputs(LatheContext *context, DLTensor *const *inputs, size_t numInputs, bool copies) {
  const LatheTensor *wanted = LATHE_ARRAY(context, LatheTensor, context->meta->inputs);
  if (numInputs != context->numInputs)
    return latheFail(context, LATHE_INVALID, "%zu inputs given, the model has %u", numInputs, context->numInputs);
  int64_t *raw = context->rawDims;
  for (uint32_t i = 0; i < numInputs; ++i) {
    LatheStatus status = checkInput(context, &wanted[i], inputs[i], &raw);
    if (!status && copies)
      status = bindInput(context, i, latheName(context, wanted[i].name), inputs[i]);
    if (status)
      return status;
  }
  return readElements(context, inputs, raw);
}

LatheStatus latheCheckTensor(LatheContext *context, const char *role, const DLTensor *tensor, const LatheTensor *want) {
  char have[32], need[32];
  const DLDataType wanted = {want->dtype.code, want->dtype.bits, want->dtype.lanes};
  if (!sameDType(tensor->dtype, want->dtype))
    return latheFail(context, LATHE_INVALID, "%s is %s, expected %s", role, dtypeName(tensor->dtype, have, sizeof have),
                     dtypeName(wanted, need, sizeof need));
  if (tensor->ndim != (int32_t)want->dims.count)
    return latheFail(context, LATHE_INVALID, "%s has rank %d, expected %u", role, tensor->ndim, want->dims.count);
  uint64_t bytes;
  for (int32_t d = 0; d < tensor->ndim; ++d)
    if (tensor->shape[d] < 0)
      return latheFail(context, LATHE_INVALID, "%s: dimension %d is negative", role, d);
  if (!countBytes(tensor->shape, tensor->ndim, tensor->dtype, &bytes))
    return latheFail(context, LATHE_INVALID, "%s has more elements than memory can hold", role);
  if (!tensor->data && bytes)
    return latheFail(context, LATHE_INVALID, "%s has no data", role);
  if (!isContiguous(tensor))
    return latheFail(context, LATHE_INVALID, "%s is not contiguous in row-major order", role);
  bool cuda = context->device.device_type == kDLCUDA && (tensor->device.device_type == kDLCUDAManaged ||
               (tensor->device.device_type == kDLCUDA && tensor->device.device_id == context->device.device_id));
  return isHost(tensor->device) || cuda ? LATHE_OK
                                        : latheFail(context, LATHE_INVALID, "%s is on device %d:%d (DLPack), which the model does not run on",
                                                    role, (int)tensor->device.device_type, tensor->device.device_id);
}

/*===-- Outputs -------------------------------------------------------------===*/

static LatheStatus checkOutput(LatheContext *context, const LatheTensor *want, const int64_t *sizes, DLTensor *tensor) {
  const char *name = latheName(context, want->name);
  const LatheDim *dims = LATHE_ARRAY(context, LatheDim, want->dims);
  if (want->flags & LATHE_TENSOR_DYNAMIC)
    return latheFail(context, LATHE_INVALID, "output '%s' has a size that is known only after the run: pass data = NULL", name);
  LatheStatus status = checkDType(context, "output", name, tensor->dtype, want->dtype);
  if (!status)
    status = checkDevice(context, "output", name, tensor->device);
  if (status)
    return status;
  if (tensor->ndim != (int32_t)want->dims.count)
    return latheFail(context, LATHE_INVALID, "output '%s' has rank %d, expected %u", name, tensor->ndim, want->dims.count);
  for (int32_t d = 0; d < tensor->ndim; ++d)
    if (tensor->shape[d] != sizes[dims[d].slot])
      return latheFail(context, LATHE_INVALID, "output '%s': dimension %d is %lld, expected %s = %lld", name, d,
                       (long long)tensor->shape[d], latheName(context, dims[d].text), (long long)sizes[dims[d].slot]);
  if (!isContiguous(tensor))
    return latheFail(context, LATHE_INVALID, "output '%s' is not contiguous in row-major order", name);
  return LATHE_OK;
}

/* Describes an output that the library provides; its data is set by the caller of this. */
static void describeOutput(LatheContext *context, uint32_t i, const LatheTensor *want, const int64_t *sizes, DLTensor *tensor) {
  const LatheDim *dims = LATHE_ARRAY(context, LatheDim, want->dims);
  for (uint32_t d = 0; d < want->dims.count; ++d)
    context->outputShapes[i][d] = sizes[dims[d].slot];
  tensor->ndim = (int32_t)want->dims.count;
  tensor->shape = context->outputShapes[i];
  tensor->strides = NULL;
  tensor->byte_offset = 0;
  tensor->dtype = (DLDataType){want->dtype.code, want->dtype.bits, want->dtype.lanes};
  tensor->device = context->bindings[context->numInputs + i].staysOnDevice ? context->device : (DLDevice){kDLCPU, 0};
}

static LatheStatus provideOutput(LatheContext *context, uint32_t i, const LatheTensor *want, const int64_t *sizes,
                                 DLTensor *tensor) {
  LatheBinding *binding = &context->bindings[context->numInputs + i];
  binding->staysOnDevice = tensor->device.device_type == kDLCUDA && context->device.device_type == kDLCUDA;
  if (want->flags & LATHE_TENSOR_DYNAMIC) {
    binding->data = NULL;
    return LATHE_OK;
  }
  describeOutput(context, i, want, sizes, tensor);
  uint64_t bytes;
  if (!countBytes(tensor->shape, tensor->ndim, tensor->dtype, &bytes))
    return latheFail(context, LATHE_INVALID, "output '%s' has more elements than memory can hold", latheName(context, want->name));
  if (binding->staysOnDevice) /* the backend has memory for it */
    return LATHE_OK;
  LatheStatus status = latheProvide(context, context->numInputs + i, bytes);
  tensor->data = bytes ? binding->data : NULL;
  return status;
}

LatheStatus lathePrepareOutputs(LatheContext *context, const LathePlan *plan, DLTensor *const *outputs, size_t numOutputs) {
  const LatheTensor *wanted = LATHE_ARRAY(context, LatheTensor, context->meta->outputs);
  if (numOutputs != context->numOutputs)
    return latheFail(context, LATHE_INVALID, "%zu outputs given, the model has %u", numOutputs, context->numOutputs);
  for (uint32_t i = 0; i < numOutputs; ++i) {
    if (!outputs[i])
      return latheFail(context, LATHE_INVALID, "output '%s' is NULL", latheName(context, wanted[i].name));
    LatheStatus status;
    if (outputs[i]->data) {
      status = checkOutput(context, &wanted[i], plan->sizes, outputs[i]);
      context->bindings[context->numInputs + i].data = (char *)outputs[i]->data + outputs[i]->byte_offset;
      context->bindings[context->numInputs + i].staysOnDevice = false;
    } else {
      status = provideOutput(context, i, &wanted[i], plan->sizes, outputs[i]);
    }
    if (status)
      return status;
  }
  return LATHE_OK;
}

void latheFinishOutputs(LatheContext *context, const LathePlan *plan, DLTensor *const *outputs) {
  const LatheTensor *wanted = LATHE_ARRAY(context, LatheTensor, context->meta->outputs);
  for (uint32_t i = 0; i < context->numOutputs; ++i)
    if (wanted[i].flags & LATHE_TENSOR_DYNAMIC) {
      describeOutput(context, i, &wanted[i], plan->sizes, outputs[i]);
      outputs[i]->data = context->bindings[context->numInputs + i].data;
    }
}
