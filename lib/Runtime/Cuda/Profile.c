/*===- Profile.c - The time of each step by the device's clock ---------------===*\
|*
|* Events around every step have the times at which the device reached them. A device that waits for the next launch would count that
|* as the step's: so it is held back until some steps have been sent, and then has them all at hand. The steps have run once before:
|* to load a kernel's code, which the driver does at its first launch, it may wait for the device.
|*
\*===----------------------------------------------------------------------===*/
#include "Cuda.h"

/* Fewer commands than a stream takes without waiting: a step is a kernel and two events. */
enum { STEPS_AT_ONCE = 128 };

typedef struct {
  CUevent before, after;
} StepEvents;

static void waitFor(void *flag) {
  while (!__atomic_load_n((int32_t *)flag, __ATOMIC_ACQUIRE))
    ;
}

/* Sends the steps from `first` on, with their events; `flag` holds the device back meanwhile. */
static LatheStatus sendSteps(LatheContext *context, LathePlan *plan, StepEvents *events, uint32_t first, uint32_t last, int32_t *flag) {
  LatheCuda *cuda = latheCuda(context);
  const LatheCudaDriver *driver = &cuda->driver;
  /* A step on the host waits for the device. */
  bool hold = ((LatheCudaPlan *)plan->device)->capturable;
  LatheStatus status = LATHE_OK;
  if (hold)
    status = latheCudaCheck(context, driver, driver->callHost(cuda->stream, waitFor, flag), "holding the device back");
  for (uint32_t i = first; !status && i < last; ++i) {
    status = latheCudaCheck(context, driver, driver->record(events[i].before, cuda->stream), "an event");
    if (!status)
      status = latheCudaRunStep(context, plan, i);
    if (!status)
      status = latheCudaCheck(context, driver, driver->record(events[i].after, cuda->stream), "an event");
  }
  __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
  return status;
}

static LatheStatus tell(LatheContext *context, LathePlan *plan, const StepEvents *events, int64_t start) {
  const LatheCudaDriver *driver = &latheCuda(context)->driver;
  for (uint32_t i = 0; i < plan->numSteps; ++i) {
    float from, taken; /* ms */
    LATHE_CUDA_TRY(context, driver->elapsed(&from, events[0].before, events[i].before), "the time of an event");
    LATHE_CUDA_TRY(context, driver->elapsed(&taken, events[i].before, events[i].after), "the time of an event");
    const LatheStep *step = plan->steps[i].step;
    if (step->kind == LATHE_STEP_KERNEL && ((LatheCudaPlan *)plan->device)->steps[i].empty)
      continue;
    const char *name = step->kind == LATHE_STEP_KERNEL ? latheName(context, context->kernels[step->target].name)
                       : step->kind == LATHE_STEP_COPY ? "copy"
                                                       : "call";
    int64_t begin = start + (int64_t)((double)from * 1e6);
    context->profile(context->profileUser, i, name, begin, begin + (int64_t)((double)taken * 1e6));
  }
  return LATHE_OK;
}

static LatheStatus profile(LatheContext *context, LathePlan *plan, StepEvents *events, int32_t *flags) {
  LatheCuda *cuda = latheCuda(context);
  const LatheCudaDriver *driver = &cuda->driver;
  for (uint32_t i = 0; i < plan->numSteps; ++i) {
    LATHE_CUDA_TRY(context, driver->newEvent(&events[i].before, 0), "an event");
    LATHE_CUDA_TRY(context, driver->newEvent(&events[i].after, 0), "an event");
  }
  LatheStatus status = LATHE_OK;
  for (uint32_t i = 0; !status && i < plan->numSteps; ++i)
    status = latheCudaRunStep(context, plan, i);
  if (!status)
    status = latheCudaCheck(context, driver, driver->synchronize(cuda->stream), "a kernel");
  int64_t start = latheNow();
  for (uint32_t first = 0; !status && first < plan->numSteps; first += STEPS_AT_ONCE) {
    uint32_t last = first + STEPS_AT_ONCE < plan->numSteps ? first + STEPS_AT_ONCE : plan->numSteps;
    status = sendSteps(context, plan, events, first, last, &flags[first / STEPS_AT_ONCE]);
  }
  /* Also after a failure: the device may still look at the flags. */
  LatheStatus done = latheCudaCheck(context, driver, driver->synchronize(cuda->stream), "a kernel");
  if (status || done)
    return status ? status : done;
  return tell(context, plan, events, start);
}

LatheStatus latheCudaProfileSteps(LatheContext *context, LathePlan *plan) {
  LatheCuda *cuda = latheCuda(context);
  size_t bytes = (plan->numSteps + 1) * sizeof(StepEvents), flagBytes = (plan->numSteps / STEPS_AT_ONCE + 1) * sizeof(int32_t);
  StepEvents *events = calloc(1, bytes);
  int32_t *flags = calloc(1, flagBytes);
  LatheStatus status = events && flags ? profile(context, plan, events, flags)
                                       : latheOutOfMemory(context, bytes + flagBytes, "a profile");
  for (uint32_t i = 0; events && i < plan->numSteps; ++i) {
    if (events[i].before)
      cuda->driver.destroyEvent(events[i].before);
    if (events[i].after)
      cuda->driver.destroyEvent(events[i].after);
  }
  free(events);
  free(flags);
  return status;
}
