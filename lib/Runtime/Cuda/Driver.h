/*===- Driver.h - What the runtime takes from libcuda.so.1 ------------------===*\
|*
|* Opened with dlopen when a context on a GPU is created, so that an artifact with CPU and GPU code runs where there is no
|* driver. Types are those of cuda.h, declared here so that no toolkit is needed.
|*
\*===----------------------------------------------------------------------===*/
#ifndef LATHE_RUNTIME_CUDA_DRIVER_H
#define LATHE_RUNTIME_CUDA_DRIVER_H

#include "../Runtime.h"

typedef int CUresult, CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx *CUcontext;
typedef struct CUmod *CUmodule;
typedef struct CUfunc *CUfunction;
typedef struct CUstr *CUstream;
typedef struct CUev *CUevent;
typedef struct CUgr *CUgraph;
typedef struct CUgrExec *CUgraphExec;
typedef struct __attribute__((aligned(64))) {
  uint64_t words[16];
} CUtensorMap;

typedef struct {
  uint32_t id;
  uint32_t pad;
  union {
    char bytes[64];
    struct {
      uint32_t x, y, z;
    } cluster;
    int32_t flag;
  } value;
} CUlaunchAttribute;
typedef struct {
  uint32_t grid[3], block[3], shared;
  CUstream stream;
  CUlaunchAttribute *attributes;
  uint32_t numAttributes;
} CUlaunchConfig;

enum {
  CU_ATTRIBUTE_CLUSTER = 4,
  CU_ATTRIBUTE_PROGRAMMATIC_SERIALIZATION = 6,
  CU_DEVICE_MULTIPROCESSORS = 16,
  CU_DEVICE_MAJOR = 75,
  CU_DEVICE_MINOR = 76,
  CU_FUNCTION_MAX_SHARED = 8,
  CU_STREAM_OWN = 1,
  CU_CONTEXT_YIELDS = 2,
  CU_CONTEXT_SLEEPS = 4,
  CU_HOST_MAPPED = 2,
  CU_CAPTURE_RELAXED = 2
};

/* name in libcuda, our name, parameters */
#define LATHE_CUDA_FUNCTIONS(F)                                                                                                \
  F(cuInit, init, (unsigned))                                                                                                  \
  F(cuDeviceGetCount, deviceCount, (int *))                                                                                    \
  F(cuDeviceGet, device, (CUdevice *, int))                                                                                    \
  F(cuDeviceGetAttribute, attribute, (int *, int, CUdevice))                                                                   \
  F(cuDevicePrimaryCtxRetain, retain, (CUcontext *, CUdevice))                                                                 \
  F(cuDevicePrimaryCtxRelease_v2, releaseContext, (CUdevice))                                                                  \
  F(cuCtxPushCurrent_v2, push, (CUcontext))                                                                                    \
  F(cuCtxPopCurrent_v2, pop, (CUcontext *))                                                                                    \
  F(cuMemAlloc_v2, allocate, (CUdeviceptr *, size_t))                                                                          \
  F(cuMemFree_v2, release, (CUdeviceptr))                                                                                      \
  F(cuMemcpyHtoDAsync_v2, upload, (CUdeviceptr, const void *, size_t, CUstream))                                               \
  F(cuMemcpyDtoHAsync_v2, download, (void *, CUdeviceptr, size_t, CUstream))                                                   \
  F(cuMemcpyDtoDAsync_v2, copy, (CUdeviceptr, CUdeviceptr, size_t, CUstream))                                                  \
  F(cuStreamCreate, newStream, (CUstream *, unsigned))                                                                         \
  F(cuStreamDestroy_v2, destroyStream, (CUstream))                                                                             \
  F(cuStreamSynchronize, synchronize, (CUstream))                                                                              \
  F(cuStreamBeginCapture_v2, beginCapture, (CUstream, int))                                                                    \
  F(cuStreamEndCapture, endCapture, (CUstream, CUgraph *))                                                                     \
  F(cuGraphInstantiateWithFlags, instantiate, (CUgraphExec *, CUgraph, unsigned long long))                                    \
  F(cuGraphDestroy, destroyGraph, (CUgraph))                                                                                   \
  F(cuGraphExecDestroy, destroyExec, (CUgraphExec))                                                                            \
  F(cuGraphLaunch, launchGraph, (CUgraphExec, CUstream))                                                                       \
  F(cuModuleLoadData, loadModule, (CUmodule *, const void *))                                                                  \
  F(cuModuleUnload, unloadModule, (CUmodule))                                                                                  \
  F(cuModuleGetFunction, function, (CUfunction *, CUmodule, const char *))                                                     \
  F(cuFuncSetAttribute, setAttribute, (CUfunction, int, int))                                                                  \
  F(cuLaunchKernel, launch,                                                                                                    \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **))            \
  F(cuLaunchCooperativeKernel, launchTogether,                                                                                 \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **))                     \
  F(cuLaunchHostFunc, callHost, (CUstream, void (*)(void *), void *))                                                          \
  F(cuEventCreate, newEvent, (CUevent *, unsigned))                                                                            \
  F(cuEventRecord, record, (CUevent, CUstream))                                                                                \
  F(cuEventElapsedTime, elapsed, (float *, CUevent, CUevent))                                                                  \
  F(cuEventDestroy_v2, destroyEvent, (CUevent))                                                                                \
  F(cuGetErrorString, errorString, (CUresult, const char **))
/* NULL where they are missing: needed only by code for newer GPUs, or to be faster. */
#define LATHE_CUDA_OPTIONAL(F)                                                                                                 \
  F(cuCtxGetFlags, contextFlags, (unsigned *))                                                                                 \
  F(cuMemHostAlloc, hostAllocate, (void **, size_t, unsigned))                                                                 \
  F(cuMemHostGetDevicePointer_v2, hostAddress, (CUdeviceptr *, void *, unsigned))                                              \
  F(cuMemFreeHost, hostRelease, (void *))                                                                                      \
  F(cuMemsetD32Async, fill, (CUdeviceptr, unsigned, size_t, CUstream))                                                         \
  F(cuLaunchKernelEx, launchEx, (const CUlaunchConfig *, CUfunction, void **, void **))                                        \
  F(cuTensorMapEncodeTiled, encodeMap,                                                                                         \
    (CUtensorMap *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *, const uint32_t *, int, int,   \
     int, int))                                                                                                                \
  F(cuTensorMapEncodeIm2col, encodeWindows,                                                                                    \
    (CUtensorMap *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const int *, const int *, uint32_t, uint32_t,   \
     const uint32_t *, int, int, int, int))

typedef struct {
#define LATHE_DECLARE(symbol, name, parameters) CUresult(*name) parameters;
  LATHE_CUDA_FUNCTIONS(LATHE_DECLARE)
  LATHE_CUDA_OPTIONAL(LATHE_DECLARE)
#undef LATHE_DECLARE
  void *library;
} LatheCudaDriver;

/* Fills in the table; on failure the context's error says what is missing. */
LatheStatus latheCudaOpenDriver(LatheContext *context, LatheCudaDriver *driver);
/* LATHE_OK, or a failure that names what was tried and the driver's reason. */
LatheStatus latheCudaCheck(LatheContext *context, const LatheCudaDriver *driver, CUresult result, const char *what);

#endif /* LATHE_RUNTIME_CUDA_DRIVER_H */
