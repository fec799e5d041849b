/* A CUDA driver without a device: a stream is a list of commands that runs when somebody waits for it, and the n-th kernel takes n
 * milliseconds of a clock that nothing else moves. Kernels do nothing, copies copy at once. With FAKE_DRIVER_LOG the driver tells on
 * stderr of kernels, copies between host and device, and graphs. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  double time;
  int reached;
} Event;
typedef struct {
  void (*host)(void *);
  void *data;
  Event *event;
} Command;

static Command commands[4096];
static unsigned numCommands, numKernels;
static double clockTime = 1000;

#define FUNCTION(name, ...) __attribute__((visibility("default"))) int name(__VA_ARGS__)

static unsigned captured; /* kernels, while a stream is captured */
static int capturing, failed;

#define LOG(...) (getenv("FAKE_DRIVER_LOG") ? (void)fprintf(stderr, __VA_ARGS__) : (void)0)

static int push(Command c) {
  if (numCommands == sizeof commands / sizeof *commands)
    return 2;
  commands[numCommands++] = c;
  return 0;
}

FUNCTION(cuInit, unsigned flags) { return 0; }
FUNCTION(cuDeviceGetCount, int *count) { return *count = 1, 0; }
FUNCTION(cuDeviceGet, int *device, int ordinal) { return *device = ordinal, 0; }
FUNCTION(cuDeviceGetAttribute, int *value, int attribute, int device) {
  *value = attribute == 75 ? 7 : attribute == 76 ? 5 : 4; /* compute capability 7.5, 4 multiprocessors */
  return 0;
}
FUNCTION(cuDevicePrimaryCtxRetain, void **context, int device) { return *context = commands, 0; }
FUNCTION(cuDevicePrimaryCtxRelease_v2, int device) { return 0; }
FUNCTION(cuCtxPushCurrent_v2, void *context) { return 0; }
FUNCTION(cuCtxPopCurrent_v2, void **context) { return 0; }
FUNCTION(cuMemAlloc_v2, uint64_t *memory, size_t bytes) { return *memory = (uint64_t)(uintptr_t)calloc(1, bytes), 0; }
FUNCTION(cuMemFree_v2, uint64_t memory) { return free((void *)(uintptr_t)memory), 0; }
FUNCTION(cuMemcpyHtoDAsync_v2, uint64_t to, const void *from, size_t n, void *s) {
  LOG("%zu bytes to the device\n", n);
  return memcpy((void *)(uintptr_t)to, from, n), 0;
}
FUNCTION(cuMemcpyDtoHAsync_v2, void *to, uint64_t from, size_t n, void *s) {
  LOG("%zu bytes to the host\n", n);
  return memcpy(to, (void *)(uintptr_t)from, n), 0;
}
FUNCTION(cuCtxSetCurrent, void *context) { return 0; }
FUNCTION(cuGetErrorName, int error, const char **text) { return *text = "ERROR", 0; }
FUNCTION(cuMemsetD8_v2, uint64_t to, unsigned char value, size_t n) { return memset((void *)(uintptr_t)to, value, n), 0; }
FUNCTION(cuMemcpyHtoD_v2, uint64_t to, const void *from, size_t n) { return memcpy((void *)(uintptr_t)to, from, n), 0; }
FUNCTION(cuMemcpyDtoH_v2, void *to, uint64_t from, size_t n) { return memcpy(to, (void *)(uintptr_t)from, n), 0; }
FUNCTION(cuMemcpyDtoDAsync_v2, uint64_t to, uint64_t from, size_t n, void *s) {
  return memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, n), 0;
}
FUNCTION(cuStreamCreate, void **stream, unsigned flags) { return *stream = commands, 0; }
FUNCTION(cuStreamDestroy_v2, void *stream) { return 0; }
FUNCTION(cuStreamBeginCapture_v2, void *stream, int mode) { return capturing = 1, captured = 0; }
FUNCTION(cuStreamEndCapture, void *stream, void **graph) {
  LOG("a graph of %u kernels\n", captured);
  return *graph = commands, capturing = 0;
}
FUNCTION(cuGraphInstantiateWithFlags, void **exec, void *graph, unsigned long long flags) { return *exec = commands, 0; }
FUNCTION(cuGraphDestroy, void *graph) { return 0; }
FUNCTION(cuGraphExecDestroy, void *exec) { return 0; }
/* A capture with such a write has no other commands here; FAKE_DRIVER_FAILS: the graph's kernels fail, and it is not written. */
static uint32_t *written;
FUNCTION(cuCtxGetFlags, unsigned *flags) { return *flags = getenv("FAKE_DRIVER_SLEEPS") ? 4 : 0, 0; }
FUNCTION(cuMemHostAlloc, void **memory, size_t bytes, unsigned flags) { return *memory = calloc(1, bytes), 0; }
FUNCTION(cuMemHostGetDevicePointer_v2, uint64_t *address, void *memory, unsigned flags) { return *address = (uint64_t)(uintptr_t)memory, 0; }
FUNCTION(cuMemFreeHost, void *memory) { return free(memory), 0; }
FUNCTION(cuMemsetD32Async, uint64_t address, unsigned value, size_t n, void *stream) {
  return written = (uint32_t *)(uintptr_t)address, n != 1 || value != 1 || !capturing;
}
FUNCTION(cuGraphLaunch, void *exec, void *stream) {
  LOG("the graph\n");
  if (getenv("FAKE_DRIVER_FAILS"))
    failed = 1;
  else if (written)
    *written = 1;
  return 0;
}
FUNCTION(cuModuleLoadData, void **module, const void *image) { return *module = commands, 0; }
FUNCTION(cuModuleUnload, void *module) { return 0; }
FUNCTION(cuModuleGetFunction, void **function, void *module, const char *name) { return *function = strdup(name), 0; }
/* Shared memory that a kernel was given leave for, beside what its code declares. */
enum { MOST_KERNELS = 64 };
static struct {
  void *function;
  unsigned bytes;
} reserved[MOST_KERNELS];
FUNCTION(cuFuncSetAttribute, void *function, int attribute, int value) {
  int i = 0;
  while (i < MOST_KERNELS - 1 && reserved[i].function && reserved[i].function != function)
    ++i;
  reserved[i].function = function, reserved[i].bytes = (unsigned)value;
  return 0;
}
static int mayUse(void *function, unsigned bytes) {
  for (int i = 0; i < MOST_KERNELS; ++i)
    if (bytes && reserved[i].function == function)
      return bytes <= reserved[i].bytes;
  return !bytes;
}
FUNCTION(cuGetErrorString, int error, const char **text) { return *text = "an error", 0; }
FUNCTION(cuLaunchKernel, void *fn, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
         void **arguments, void **extra) {
  if (!mayUse(fn, shared))
    return 1; /* an invalid value, as for code that declares more than is left of 48 KiB */
  if (capturing)
    return ++captured, 0;
  LOG("kernel %s\n", (const char *)fn);
  return push((Command){0});
}
FUNCTION(cuLaunchCooperativeKernel, void *fn, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz, unsigned shared,
         void *stream, void **arguments) {
  return cuLaunchKernel(fn, x, y, z, bx, by, bz, shared, stream, arguments, 0);
}
FUNCTION(cuLaunchHostFunc, void *stream, void (*fn)(void *), void *data) { return push((Command){.host = fn, .data = data}); }
FUNCTION(cuEventCreate, Event **event, unsigned flags) { return *event = calloc(1, sizeof **event), 0; }
FUNCTION(cuEventDestroy_v2, Event *event) { return free(event), 0; }
FUNCTION(cuEventRecord, Event *event, void *stream) { return push((Command){.event = event}); }
FUNCTION(cuEventElapsedTime, float *ms, Event *a, Event *b) {
  *ms = (float)(b->time - a->time);
  return a->reached && b->reached ? 0 : 600;
}
FUNCTION(cuStreamSynchronize, void *stream) {
  if (capturing)
    return 900;
  if (getenv("FAKE_DRIVER_WAITS"))
    fprintf(stderr, "waits\n");
  if (failed)
    return 700;
  for (unsigned i = 0; i < numCommands; ++i) {
    Command *c = &commands[i];
    if (c->host)
      c->host(c->data); /* returns as soon as everything is sent, so at once */
    else if (c->event)
      *c->event = (Event){clockTime, 1};
    else
      clockTime += ++numKernels;
  }
  numCommands = 0;
  return 0;
}
