/*===- Cuda.h - The CUDA backend's own structs ------------------------------===*/
#ifndef LATHE_RUNTIME_CUDA_CUDA_H
#define LATHE_RUNTIME_CUDA_CUDA_H

#include "Driver.h"

/* The constants on one device: shared by all contexts of the artifact in this process. */
typedef struct LatheCudaConstants {
  struct LatheCudaConstants *next;
  int32_t device;
  uint32_t users;
  CUdeviceptr memory;
  uint64_t first; /* of the data section: what lies before no buffer speaks of */
} LatheCudaConstants;

/* Device memory of the context's own: for a tensor of the caller that lies in host memory, or what steps allocate. */
typedef struct {
  CUdeviceptr memory;
  uint64_t bytes;
  uint64_t used; /* of those, where a step has said how many it wants */
} LatheCudaStaging;

typedef struct {
  LatheCudaDriver driver;
  CUdevice device;
  CUcontext context;
  CUstream stream;
  int32_t capability, multiprocessors;
  const char *hostData;     /* the data section in host memory; context->data is the device's */
  LatheCudaConstants *constants;
  CUmodule *modules;        /* of the table, loaded on first use */
  LatheCudaStaging *staging; /* inputs, then outputs */
  uint32_t numStaging, numBuffers;
  LatheCudaStaging scratch;  /* of one kernel at a time, as large as any plan so far wants it */
  LatheCudaStaging *dynamics; /* per buffer: memory of ALLOC and GROW steps, kept from run to run (Walk.c) */
  uint32_t *owners;           /* per buffer: whose memory it has at this point of a walk */
  uint64_t memoryVersion;     /* counts the times that such memory came to lie elsewhere */
  uint32_t *signal;           /* in memory of the host: what a graph writes last (Signal.c); NULL where the driver has to be asked */
  CUdeviceptr signalAddress;  /* the same word for the device */
  bool signalled;             /* what runs now ends with that write */
} LatheCuda;

/*===-- A plan on the device ------------------------------------------------===*/

typedef struct {
  CUfunction fn;
  uint32_t grid, block, shared;
} LatheCudaFollowing;

/* One kernel step with everything but its pointers. */
typedef struct {
  CUfunction fn;
  uint32_t grid[3], block, shared, cluster;
  bool empty, dependent, together;
  uint32_t numMaps;
  CUtensorMap *maps;
  int64_t *mapWords; /* as the plan function gave them */
  void **arguments;
  uint32_t numFollowing;
  LatheCudaFollowing following[LATHE_CUDA_MAX_FOLLOWING]; /* launches behind the first one */
} LatheCudaLaunchStep;

enum { LATHE_CUDA_GRAPHS = 4 };
/* The steps as a graph, for one set of addresses. Made when the same addresses come a second time. */
typedef struct {
  CUdeviceptr *addresses; /* inputs, outputs, workspace, scratch; the states' and what steps allocate by their versions */
  CUgraphExec exec;
  uint64_t lastUse;
} LatheCudaGraph;

typedef struct {
  LatheCudaLaunchStep *steps;
  LatheCudaGraph graphs[LATHE_CUDA_GRAPHS];
  CUdeviceptr *addresses; /* of the run in progress */
  uint64_t uses;
  uint32_t launched; /* in the last walk */
  bool capturable;   /* nothing runs on the host between kernels */
} LatheCudaPlan;

static inline LatheCuda *latheCuda(LatheContext *context) { return context->backendState; }
uint32_t latheCudaTensors(const LatheContext *context); /* inputs and outputs */
/* All that a graph of the steps has written into it: see LatheCudaGraph. */
static inline uint32_t latheCudaAddresses(const LatheContext *context) { return latheCudaTensors(context) + 4; }

/* Modules.c */
const LatheCudaTable *latheCudaTable(const LatheContext *context);
LatheStatus latheCudaChooseVariant(LatheContext *context, const LatheKernel *kernel, const LatheCudaVariant **variant);
LatheStatus latheCudaFunction(LatheContext *context, const LatheCudaVariant *variant, uint32_t entry, uint32_t shared,
                              CUfunction *fn);
/* Launch.c */
LatheStatus latheCudaPlanLaunch(LatheContext *context, const LathePlannedStep *step, LatheCudaLaunchStep *out);
LatheStatus latheCudaPlanSteps(LatheContext *context, LathePlan *plan);
void latheCudaForgetPlan(LatheContext *context, LathePlan *plan);
LatheStatus latheCudaRunSteps(LatheContext *context, LathePlan *plan);
LatheStatus latheCudaRunStep(LatheContext *context, LathePlan *plan, uint32_t step);
/* HostCall.c */
LatheStatus latheCudaCallOnHost(LatheContext *context, LathePlan *plan, const LathePlannedStep *step);
/* Walk.c */
LatheStatus latheCudaWalk(LatheContext *context, LathePlan *plan);
bool latheCudaWalksAlike(const LatheContext *context, const LathePlan *plan);
bool latheCudaIsDynamicOutput(const LatheContext *context, uint32_t output);
/* Profile.c */
LatheStatus latheCudaProfileSteps(LatheContext *context, LathePlan *plan);
/* Signal.c */
void latheCudaOpenSignal(LatheCuda *cuda);
void latheCudaCloseSignal(LatheCuda *cuda);
LatheStatus latheCudaSignalAtEnd(LatheContext *context); /* while the stream is captured */
void latheCudaExpectSignal(LatheCuda *cuda);             /* before the graph is sent */
bool latheCudaAwaitSignal(LatheCuda *cuda);              /* false: not seen in time, the driver has to be asked */
/* Run.c */
LatheStatus latheCudaRun(LatheContext *context, LathePlan *plan, DLTensor *const *inputs, DLTensor *const *outputs);

#define LATHE_CUDA_TRY(context, call, what)                                                                                    \
  do {                                                                                                                         \
    LatheStatus latheStatus_ = latheCudaCheck((context), &latheCuda(context)->driver, (call), (what));                         \
    if (latheStatus_)                                                                                                          \
      return latheStatus_;                                                                                                     \
  } while (0)

#endif /* LATHE_RUNTIME_CUDA_CUDA_H */
