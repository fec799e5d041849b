/*===- Api.c - The functions of lathe.h -------------------------------------===*/
#include "Runtime.h"

LatheStatus latheFail(LatheContext *context, LatheStatus status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(context->error, sizeof context->error, format, arguments);
  va_end(arguments);
  return status;
}

LatheStatus latheOutOfMemory(LatheContext *context, uint64_t bytes, const char *what) {
  return latheFail(context, LATHE_NO_MEMORY, "out of memory: %llu bytes for %s", (unsigned long long)bytes, what);
}

const char *lathe_last_error(LatheContext *context) {
  return context ? context->error : "no context: out of memory, or lathe_create was not called";
}

LatheStatus lathe_create(const LatheOptions *options, LatheContext **result) {
  LatheContext *context = *result = calloc(1, sizeof(LatheContext));
  if (!context)
    return LATHE_NO_MEMORY;
  if (options && options->size < 8)
    context->broken = latheFail(context, LATHE_INVALID, "LatheOptions.size is not set");
  else
    context->broken = latheOpen(context, options);
  return context->broken;
}

void lathe_destroy(LatheContext *context) {
  if (!context || (context->first && context->first != context)) /* an entry point's lives as long as the first one */
    return;
  latheClose(context);
  free(context);
}

const LatheSignature *lathe_signature(LatheContext *context) {
  return context && context->signatureMemory ? &context->signature : NULL;
}

/* The plan for the inputs' shapes. */
static LatheStatus plan(LatheContext *context, DLTensor *const *inputs, size_t numInputs, bool copies, LathePlan **result) {
  if (!context)
    return LATHE_INVALID;
  if (context->broken)
    return context->broken;
  LatheStatus status = latheCheckInputs(context, inputs, numInputs, copies);
  return status ? status : lathePlanFor(context, result);
}

LatheStatus lathe_run(LatheContext *context, DLTensor *const *inputs, size_t numInputs, DLTensor *const *outputs,
                      size_t numOutputs) {
  LathePlan *current = NULL;
  LatheStatus status = plan(context, inputs, numInputs, true, &current);
  if (!status)
    status = latheBindStates(context, current);
  if (!status)
    status = latheBindWorkspace(context, current);
  if (!status)
    status = lathePrepareOutputs(context, current, outputs, numOutputs);
  if (status)
    return status;
  lathePatchPointers(context, current);
  if (context->backend)
    return context->backend->run(context, current, inputs, outputs);
  status = latheExecute(context, current);
  if (!status && current->dynamic)
    latheFinishOutputs(context, current, outputs);
  return status;
}

LatheStatus lathe_output_shapes(LatheContext *context, DLTensor *const *inputs, size_t numInputs, int64_t *shapes,
                                size_t capacity) {
  LathePlan *current = NULL;
  LatheStatus status = plan(context, inputs, numInputs, false, &current);
  if (status)
    return status;
  const LatheTensor *outputs = LATHE_ARRAY(context, LatheTensor, context->meta->outputs);
  size_t used = 0;
  for (uint32_t i = 0; i < context->numOutputs; ++i) {
    const LatheDim *dims = LATHE_ARRAY(context, LatheDim, outputs[i].dims);
    if (outputs[i].flags & LATHE_TENSOR_DYNAMIC)
      return latheFail(context, LATHE_INVALID, "output '%s' has a size that is known only after the run", latheName(context, outputs[i].name));
    for (uint32_t d = 0; d < outputs[i].dims.count; ++d, ++used) {
      if (used >= capacity)
        return latheFail(context, LATHE_INVALID, "the outputs have more than %zu dimensions together", capacity);
      shapes[used] = current->sizes[dims[d].slot];
    }
  }
  return LATHE_OK;
}

LatheStatus lathe_workspace_size(LatheContext *context, DLTensor *const *inputs, size_t numInputs, size_t *bytes) {
  LathePlan *current = NULL;
  LatheStatus status = plan(context, inputs, numInputs, false, &current);
  *bytes = status ? 0 : lathePlanWorkspace(context, current);
  return status;
}

LatheStatus lathe_set_workspace(LatheContext *context, void *memory, size_t bytes) {
  if (!context)
    return LATHE_INVALID;
  if ((uintptr_t)memory % LATHE_WORKSPACE_ALIGN)
    return latheFail(context, LATHE_INVALID, "the workspace must lie at a multiple of %d bytes", LATHE_WORKSPACE_ALIGN);
  if (!context->workspace)
    return context->broken;
  context->workspace->isCallers = memory != NULL;
  context->workspace->memory = memory;
  context->workspace->bytes = memory ? bytes : 0;
  return LATHE_OK;
}
