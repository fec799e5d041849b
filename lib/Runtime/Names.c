/*===- Names.c - What messages call the parts of a program -------------------===*/
#include "Runtime.h"

static uint32_t rootOf(const LatheContext *context, uint32_t buffer) {
  uint64_t offset;
  return latheRootOf(LATHE_ARRAY(context, LatheBuffer, context->program->buffers), buffer, &offset);
}

static bool isOutput(const LatheContext *context, uint32_t root, char *text) {
  const LatheBuffer *buffer = &LATHE_ARRAY(context, LatheBuffer, context->program->buffers)[root];
  if (buffer->kind != LATHE_BUFFER_OUTPUT)
    return false;
  const LatheTensor *outputs = LATHE_ARRAY(context, LatheTensor, context->meta->outputs);
  snprintf(text, LATHE_MAX_NAME, "output '%s'", latheName(context, outputs[buffer->index].name));
  return true;
}

/* The last of the model's nodes that the kernel covers. */
static bool nameNode(const LatheContext *context, const LatheKernel *kernel, char *text) {
  if (kernel->nodes.count)
    snprintf(text, LATHE_MAX_NAME, "an intermediate tensor at node '%s'",
             latheName(context, LATHE_ARRAY(context, LatheString, kernel->nodes)[kernel->nodes.count - 1]));
  return kernel->nodes.count != 0;
}

void latheDescribeBuffer(const LatheContext *context, uint32_t buffer, uint32_t first, char *text) {
  uint32_t root = rootOf(context, buffer);
  if (isOutput(context, root, text))
    return;
  /* The first kernel that has to do with it tells, or an output that it is copied to. */
  const LatheStep *steps = LATHE_ARRAY(context, LatheStep, context->program->steps);
  for (uint32_t i = first; i < context->program->steps.count; ++i) {
    const uint32_t *ids = LATHE_ARRAY(context, uint32_t, steps[i].buffers);
    for (uint32_t b = 0; b < steps[i].buffers.count; ++b) {
      if (rootOf(context, ids[b]) != root)
        continue;
      if (steps[i].kind == LATHE_STEP_KERNEL && nameNode(context, &context->kernels[steps[i].target], text))
        return;
      if (steps[i].kind == LATHE_STEP_COPY && b == 0 && isOutput(context, rootOf(context, ids[1]), text))
        return;
    }
  }
  snprintf(text, LATHE_MAX_NAME, "an intermediate tensor");
}

/* Values are computed in the order in which they are needed: the first that is complete at or behind the slot needs it. */
static const char *closest(const LatheContext *context, uint32_t slot, uint32_t candidate, LatheString text, uint32_t *best,
                           const char *found) {
  if (candidate < slot || candidate >= *best)
    return found;
  *best = candidate;
  return latheName(context, text);
}

const char *latheUserOfSlot(const LatheContext *context, uint32_t slot) {
  const LatheCheck *checks = LATHE_ARRAY(context, LatheCheck, context->meta->checks);
  const char *found = NULL;
  uint32_t best = LATHE_NONE;
  for (uint32_t i = 0; i < context->meta->checks.count; ++i) {
    found = closest(context, slot, checks[i].a, checks[i].text, &best, found);
    found = closest(context, slot, checks[i].b, checks[i].text, &best, found);
  }
  for (int isOutput = 0; isOutput < 2; ++isOutput) {
    LatheArray list = isOutput ? context->meta->outputs : context->meta->inputs;
    const LatheTensor *tensors = LATHE_ARRAY(context, LatheTensor, list);
    for (uint32_t t = 0; t < list.count; ++t) {
      const LatheDim *dims = LATHE_ARRAY(context, LatheDim, tensors[t].dims);
      for (uint32_t d = 0; d < tensors[t].dims.count; ++d)
        found = closest(context, slot, dims[d].slot, dims[d].text, &best, found);
    }
  }
  return found;
}
