/*===- lathe.h - The C interface of a compiled model ------------------------===*\
|*
|* Every artifact exports these functions, and nothing else. Open it with dlopen (RTLD_LOCAL) and look them up, or link
|* against it. An artifact may be opened many times, beside others, and run from many threads: a context belongs to one
|* thread at a time, and contexts share nothing but the constants.
|*
|*   LatheContext *ctx;
|*   if (lathe_create(NULL, &ctx)) { fprintf(stderr, "%s\n", lathe_last_error(ctx)); ... }
|*   DLTensor *inputs[] = {&x}, *outputs[] = {&y};
|*   if (lathe_run(ctx, inputs, 1, outputs, 1)) fprintf(stderr, "%s\n", lathe_last_error(ctx));
|*   lathe_destroy(ctx);
|*
|* Tensors are DLPack's. Inputs are only read. They may lie at any address. Inputs with strides are accepted when they are
|* contiguous in row-major order, others are copied first. A NULL data pointer is fine for a tensor without elements.
|*
\*===----------------------------------------------------------------------===*/
#ifndef LATHE_RUNTIME_LATHE_H
#define LATHE_RUNTIME_LATHE_H

#include "lathe/Runtime/DLPack.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LATHE_ABI_VERSION 1

#if defined(LATHE_BUILDING_RUNTIME)
#define LATHE_API __attribute__((visibility("default")))
#else
#define LATHE_API
#endif

typedef struct LatheContext LatheContext;

typedef enum {
  LATHE_OK = 0,
  LATHE_INVALID = 1,     /* the caller's inputs or options do not fit, or have no result: a singular matrix has no inverse */
  LATHE_UNSUPPORTED = 2, /* this machine lacks what the artifact needs: a CPU feature, a device, a driver */
  LATHE_FAILED = 3,      /* a device reported an error, or the artifact is damaged */
  LATHE_NO_MEMORY = 4    /* what the inputs' dimensions or the model's data ask for is more than there is; the context stays usable */
} LatheStatus;

/* Called after a step of a run, when profiling: times are in nanoseconds of CLOCK_MONOTONIC, `step` counts from 0. */
typedef void (*LatheProfileFn)(void *user, uint32_t step, const char *kernel, int64_t startNs, int64_t endNs);

/* Zero-initialise, set `size`, then what should differ from the defaults. */
typedef struct {
  uint32_t size;       /* sizeof(LatheOptions): fields added later are read only when the caller has them */
  int32_t deviceType;  /* kDLCPU or kDLCUDA; 0: CPU, or CUDA in an artifact that has only that */
  int32_t deviceId;
  int32_t threads;     /* including the calling one; 0: the physical cores that the process may use */
  uint32_t cachedShapes; /* plans kept for shapes seen before; 0: 16 */
  uint32_t maxLevel;   /* 1 + highest LatheLevel to use, for tests of older machines' code; 0: no limit */
  LatheProfileFn profile;
  void *profileUser;
} LatheOptions;

/* A tensor of the model, without data. */
typedef struct {
  const char *name;
  DLDataType dtype;
  int32_t ndim;
  const int64_t *min, *max; /* per dimension; equal for a fixed one, max INT64_MAX where unbounded */
  const char *const *dims;  /* per dimension: "768", "seq", "past + seq" */
} LatheTensorInfo;

typedef struct {
  uint32_t abiVersion;
  const char *modelName;
  uint32_t numInputs, numOutputs;
  const LatheTensorInfo *inputs, *outputs;
  uint32_t threads; /* that the context runs on, the calling one included */
  const char *entry; /* the name of the entry point */
} LatheSignature;

/*===- Functions ----------------------------------------------------------------===*/

/* Creates a context; `options` may be NULL. On failure *context still receives one (NULL only when out of memory) that does
 * nothing but tell lathe_last_error, and that must be destroyed. */
LATHE_API LatheStatus lathe_create(const LatheOptions *options, LatheContext **context);
/* Waits for nothing: no run may be in progress. NULL is fine. */
LATHE_API void lathe_destroy(LatheContext *context);

/* What the model takes and gives; lives as long as the context. */
LATHE_API const LatheSignature *lathe_signature(LatheContext *context);

/* Runs the model. Each output is either the caller's (data set; dtype, shape and contiguity are checked), or, with data ==
 * NULL on entry, the library's: data, shape, dtype, ndim and device are filled in and stay valid until the next run or
 * lathe_destroy. It lies on the context's device where that is a GPU and the tensor's device type on entry says so (kDLCUDA), else in
 * the host's memory. A model's outputs of no elements have data == NULL too. */
LATHE_API LatheStatus lathe_run(LatheContext *context, DLTensor *const *inputs, size_t numInputs, DLTensor *const *outputs,
                                size_t numOutputs);

/* The outputs' shapes for these inputs' shapes (data is read only of inputs that decide sizes): `shapes` receives one output's dimensions after
 * the other. */
LATHE_API LatheStatus lathe_output_shapes(LatheContext *context, DLTensor *const *inputs, size_t numInputs, int64_t *shapes,
                                          size_t capacity);

/* Bytes of working memory that a run with inputs of these shapes needs. */
LATHE_API LatheStatus lathe_workspace_size(LatheContext *context, DLTensor *const *inputs, size_t numInputs, size_t *bytes);
/* Hands in the working memory (on the context's device, 64-byte aligned) for the runs that follow; NULL goes back to the
 * context's own. A run that needs more fails with LATHE_INVALID. */
LATHE_API LatheStatus lathe_set_workspace(LatheContext *context, void *memory, size_t bytes);

/* States: tensors that the model keeps from run to run, such as the keys and values of earlier tokens. They are no inputs or
 * outputs. Each context has its own, on its device; the names are those of the model. A state with an open dimension gets its
 * size from the first run, or from lathe_state_set, and keeps it until it is reset: a run that needs another one fails with
 * LATHE_INVALID and computes nothing. A run that its inputs, sizes or workspace do not permit leaves all states as they were. One
 * that fails later (a condition on computed values, no memory for a result whose size depends on data, an error of the device)
 * may have updated some states and not others: reset or set them. */
LATHE_API uint32_t lathe_state_count(LatheContext *context);
/* Lives as long as the context; NULL where there are not so many states. */
LATHE_API const LatheTensorInfo *lathe_state_info(LatheContext *context, uint32_t index);
/* Copies the state into the tensor (dtype, shape and contiguity are checked); with data == NULL fills the tensor in with the
 * state's own memory, which stays there until the state is reset, set or bound to another size, or the context is destroyed. */
LATHE_API LatheStatus lathe_state_get(LatheContext *context, const char *name, DLTensor *tensor);
/* Copies the tensor into the state. An open dimension becomes the tensor's. */
LATHE_API LatheStatus lathe_state_set(LatheContext *context, const char *name, const DLTensor *tensor);
/* What a new context holds: the model's values, or zeros. A NULL name means all states. */
LATHE_API LatheStatus lathe_state_reset(LatheContext *context, const char *name);
/* Lets the state lie in the caller's memory (on the context's device, at a multiple of 64 bytes) with what it holds: contexts,
 * also of several models, share a state by binding it to the same memory, and take turns. NULL goes back to the context's own
 * memory, reset. */
LATHE_API LatheStatus lathe_state_bind(LatheContext *context, const char *name, const DLTensor *tensor);

/* Entry points: an artifact that was compiled from several models runs each of them. lathe_create gives the context of the first
 * one; of a model compiled alone it is the only one. */
LATHE_API uint32_t lathe_entry_count(LatheContext *context);
/* NULL where there are not so many. */
LATHE_API const char *lathe_entry_name(LatheContext *context, uint32_t index);
/* The context of an entry point, for all other functions. It is a part of the one that lathe_create gave: it lives as long, belongs
 * to the same thread at a time, and has the same states, threads and working memory, so that one entry point reads what another one
 * has left in a state. lathe_destroy leaves it alone. */
LATHE_API LatheStatus lathe_entry(LatheContext *context, const char *name, LatheContext **entry);

/* The message of the last call that failed; never NULL. lathe_last_error(NULL) explains a NULL context. */
LATHE_API const char *lathe_last_error(LatheContext *context);

/*===- End of functions ---------------------------------------------------------===*/

#ifdef __cplusplus
}
#endif

#endif /* LATHE_RUNTIME_LATHE_H */
