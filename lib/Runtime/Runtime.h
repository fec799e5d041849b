/*===- Runtime.h - The runtime's own structs --------------------------------===*\
|*
|* A context runs one program of the artifact: that of an entry point for a device. Contexts of further entry points belong to the one
|* that lathe_create made, and use its code, its threads, its states and its working memory. The first run with inputs of some shape makes a plan: every size evaluated,
|* every kernel's plan function called, the arena laid out, every step's pointers and parameters gathered. Plans are kept,
|* so that a later run checks its tensors, patches the pointers of inputs and outputs, and walks the steps.
|*
\*===----------------------------------------------------------------------===*/
#ifndef LATHE_RUNTIME_RUNTIME_H
#define LATHE_RUNTIME_RUNTIME_H

#include "Arena.h"
#include "Cpu/Pool.h"
#include "Libc.h"
#include "Stripes.h"
#include "lathe/Artifact/Format.h"
#include "lathe/Runtime/lathe.h"
#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* What the artifact's own tables provide. */
extern const LatheHeader lathe_meta;
extern const LatheFunction lathe_functions[];

/*===-- A plan --------------------------------------------------------------===*/
/* A pointer of the plan that is the address of an input or output of the run. */
typedef struct {
  uint32_t pointer; /* index into the plan's pointers */
  uint32_t tensor;  /* inputs first, then outputs */
  uint64_t offset;
} LathePatch;

typedef struct LathePlan {
  struct LathePlan *next; /* most recently used first */
  int64_t *rawDims;       /* the key: every dimension of every input, then the elements that decide sizes */
  int64_t *sizes;         /* every slot */
  LathePlannedStep *steps;
  LatheStage *stages;     /* by step */
  LatheChain *chains;     /* by their last steps */
  void **pointers;        /* of all steps, step by step */
  int64_t *parameters;
  LathePatch *patches;
  uint32_t numSteps, numPatches;
  uint64_t *arenaOffsets; /* per buffer; meaningful for temporaries */
  uint64_t arenaBytes, scratchBytes; /* scratch is per thread */
  char *boundTo;          /* the workspace that `pointers` speak of */
  uint64_t boundStates;   /* the states' version then */
  void *device;           /* the backend's own */
  bool bound;             /* boundTo is meaningful */
  bool dynamic;           /* has steps that are resolved while it runs */
} LathePlan;

/*===-- A context -----------------------------------------------------------===*/
typedef struct LatheBackend LatheBackend;

/* A tensor of the run as the steps see it. */
typedef struct {
  char *data;
  void *owned;          /* memory for copies of inputs and for outputs that the library provides */
  uint64_t ownedBytes;
  bool staysOnDevice;   /* an output that the library provides in memory of the device */
} LatheBinding;

/* Where a state lies. */
typedef struct {
  char *data;         /* of the context or the caller */
  int64_t *shape;
  uint64_t bytes;
  void *owned;        /* the context's memory, to free */
  char *ownedData;    /* in it, aligned */
  uint64_t ownedBytes;
  bool isSized;       /* shape, bytes and data are meaningful */
  bool isCallers;
} LatheStateMemory;

/* The states of a context and of those that belong to it. */
typedef struct {
  LatheStateMemory *memory;
  LatheTensorInfo *infos;
  uint64_t version; /* counts the times that a state came to lie elsewhere */
} LatheStates;

/* Working memory: the arena of temporaries, then the threads' scratch. */
typedef struct {
  char *memory; /* in use, by either owner */
  uint64_t bytes;
  char *own;
  bool isCallers;
} LatheWorkspace;

struct LatheContext {
  const LatheHeader *blob;    /* the file's tables, where offsets count from */
  const LatheHeader *meta;    /* the entry point's */
  LatheContext *first;        /* that of lathe_create, which owns what is shared; perhaps this one */
  LatheContext **entries;     /* the first one's: contexts of the entry points behind its own */
  uint32_t entry;             /* the number of its entry point */
  const LatheFunction *functions;
  const LatheProgram *program;
  const LatheKernel *kernels;
  const char *data;           /* the constants */
  const char *hostData;       /* the same in host memory */
  uint64_t mappedBytes;       /* of the data, when it was mapped from a file */
  LatheVariant *variants;     /* the chosen one of each kernel */
  LathePool *pool;
  uint64_t cacheBytes;        /* of a core's second-level cache, 0: unknown */
  uint64_t sharedCacheBytes;  /* of the third-level cache that cores share, 0: unknown, or none */
  uint32_t threads;
  uint32_t numRawDims;
  uint32_t numInputs, numOutputs;
  DLDevice device;
  int64_t *rawDims;           /* of the run in progress */
  LatheBinding *bindings;     /* inputs, then outputs */
  int64_t **outputShapes;     /* of outputs that the library provides */
  void **dynamicBuffers;      /* per buffer: memory of ALLOC and GROW steps, kept from run to run (Execute.c) */
  char *dynamicScratch;       /* where a kernel with such sizes needs more than its plan has */
  uint64_t dynamicScratchBytes; /* per thread */
  LatheStates *states;        /* shared */
  LathePlan *plans;
  uint32_t numPlans, maxPlans;
  LatheWorkspace *workspace;  /* shared */
  LatheSignature signature;
  void *signatureMemory;
  const LatheBackend *backend; /* NULL for the CPU */
  void *backendState;
  LatheProfileFn profile;
  void *profileUser;
  LatheStatus broken;         /* why it was not created, LATHE_OK when it was */
  char error[1024];
};

/* Another device than the CPU. The host side (guards, sizes, arena layout) is common; these fill in the rest. */
struct LatheBackend {
  uint32_t deviceType;
  LatheStatus (*create)(LatheContext *context, int32_t deviceId);
  void (*destroy)(LatheContext *context);
  void *(*allocate)(LatheContext *context, uint64_t bytes); /* device memory; NULL sets the error */
  void (*release)(LatheContext *context, void *memory);
  /* After the host's part of a plan was made (sizes and arena); sets plan->device. */
  LatheStatus (*plan)(LatheContext *context, LathePlan *plan);
  void (*forget)(LatheContext *context, LathePlan *plan);
  /* Runs all steps; bindings hold the tensors' addresses, which may be host memory where the caller's tensor is. */
  LatheStatus (*run)(LatheContext *context, LathePlan *plan, DLTensor *const *inputs, DLTensor *const *outputs);
  /* Copies between any of host and device, and waits for it. */
  LatheStatus (*transfer)(LatheContext *context, void *to, bool toHost, const void *from, bool fromHost, uint64_t bytes);
};

/* Present in artifacts with a CUDA program. */
extern const LatheBackend latheCudaBackend __attribute__((weak));

/*===-- Errors (Api.c) ------------------------------------------------------===*/
LatheStatus latheFail(LatheContext *context, LatheStatus status, const char *format, ...) __attribute__((format(printf, 3, 4)));
LatheStatus latheOutOfMemory(LatheContext *context, uint64_t bytes, const char *what);

/*===-- Names.c: what messages call things ----------------------------------===*/
enum { LATHE_MAX_NAME = 256 };
/* "output 'y'", "a result of 'Range_y'": `step` is one that stands at or before the one that writes the buffer. */
void latheDescribeBuffer(const LatheContext *context, uint32_t buffer, uint32_t step, char *text);
/* What needs the value that an instruction of the entry computes: the text of a relation, or of a dimension. */
const char *latheUserOfSlot(const LatheContext *context, uint32_t slot);

/*===-- Tables --------------------------------------------------------------===*/
#define LATHE_ARRAY(context, type, array) ((const type *)latheAt((context)->blob, (array)))

static inline const char *latheName(const LatheContext *context, LatheString name) { return latheText(context->blob, name); }

/* A buffer's address before run-time patches, by kind: see Plan.c. */
static inline uint32_t latheRootOf(const LatheBuffer *buffers, uint32_t id, uint64_t *offset) {
  for (*offset = 0; buffers[id].kind == LATHE_BUFFER_VIEW; id = buffers[id].index)
    *offset += buffers[id].offset;
  return id;
}

/*===-- Entries.c -----------------------------------------------------------===*/
/* The tables of an entry point, and its program for the context's device; NULL where it has none. */
uint32_t latheCountEntries(const LatheContext *context);
const LatheHeader *latheEntryTables(const LatheContext *context, uint32_t entry);
const LatheProgram *latheEntryProgram(const LatheContext *context, uint32_t entry);
/* Contexts for the entry points behind the first, once that is open. */
LatheStatus latheOpenEntries(LatheContext *context);
void latheCloseEntries(LatheContext *context);

/*===-- Sizes.c -------------------------------------------------------------===*/
/* Executes instructions; LATHE_INVALID on overflow or a division by zero. */
LatheStatus latheEvaluate(LatheContext *context, uint32_t first, uint32_t count, int64_t *sizes);
/* Binds the symbols from context->rawDims, checks ranges, dimensions and relations, evaluates all slots. */
LatheStatus latheBindSizes(LatheContext *context, int64_t *sizes);
LatheStatus latheCheckRelation(LatheContext *context, uint32_t check, const int64_t *sizes);

/*===-- Guards.c ------------------------------------------------------------===*/
/* Rank, dtype, device and layout of the inputs; fills context->rawDims and, when `copies`, the bindings of the inputs. */
LatheStatus latheCheckInputs(LatheContext *context, DLTensor *const *inputs, size_t numInputs, bool copies);
/* Checks or provides the outputs and fills their bindings; those of the library's own that are known only after the run are
 * described by latheFinishOutputs. */
LatheStatus lathePrepareOutputs(LatheContext *context, const LathePlan *plan, DLTensor *const *outputs, size_t numOutputs);
void latheFinishOutputs(LatheContext *context, const LathePlan *plan, DLTensor *const *outputs);
/* Whether a tensor beside inputs and outputs has the type, the rank and a device that fit, elements, and lies in row-major order;
 * `role` names it. */
LatheStatus latheCheckTensor(LatheContext *context, const char *role, const DLTensor *tensor, const LatheTensor *want);
/* Makes sure that the binding of a tensor (inputs first, then outputs) owns `bytes` of memory, which become its data. */
LatheStatus latheProvide(LatheContext *context, uint32_t tensor, uint64_t bytes);

/*===-- Plan.c --------------------------------------------------------------===*/
/* The plan for context->rawDims, made or remembered. */
LatheStatus lathePlanFor(LatheContext *context, LathePlan **plan);
/* Makes sure of a workspace that is large enough and points the plan's steps into it. */
LatheStatus latheBindWorkspace(LatheContext *context, LathePlan *plan);
uint64_t lathePlanWorkspace(const LatheContext *context, const LathePlan *plan);
void lathePatchPointers(LatheContext *context, LathePlan *plan);
void latheFreePlans(LatheContext *context);
/* Items, threads and chunks of one kernel step from its plan function; its stage, where there is room for that. */
void lathePlanKernel(const LatheContext *context, LathePlannedStep *step, LathePlanFn plan, uint64_t *scratchBytes, LatheStage *stage);

/*===-- Chains.c ------------------------------------------------------------===*/
void latheReadStage(LatheStage *stage, const LathePlannedStep *step, const int64_t *words, uint64_t scratchBytes);
/* Finds the chains of a plan whose steps are known, and the scratch that they need; whether there are any. */
bool lathePlanChains(LatheContext *context, LathePlan *plan);
/* Of a chain that begins or ends between two steps the whole. */
void latheSpanChain(const LathePlan *plan, uint32_t *first, uint32_t *last);
/* A buffer that is never there as a whole. */
bool latheIsStriped(const LatheContext *context, const LathePlan *plan, uint32_t id);

/*===-- HostWork.c ----------------------------------------------------------===*/
/* How the message of a LatheHostFn begins: with the status that the run ends with. */
#define LATHE_HOST_INVALID "\1"
#define LATHE_HOST_UNSUPPORTED "\2"
#define LATHE_HOST_NO_MEMORY "\4"

/* LatheHostFn: the positions of the true elements. Buffers: booleans, positions; sizes: number of booleans, of true ones. */
const char *lathe_host_compact(void *const *buffers, const int64_t *sizes);
/* The same as coordinates [rank, true ones]. Sizes: rank (at least 1), number of true ones, the booleans' dimensions. */
const char *lathe_host_coordinates(void *const *buffers, const int64_t *sizes);
/* The first of some integers. Buffers: all, the first; sizes: how many. */
const char *lathe_host_copy_first(void *const *buffers, const int64_t *sizes);
/* Arrays of equally many rows side by side. Buffers: the parts, the whole; sizes: parts, rows, an element's
 * bytes, the elements of each part's rows and of the whole's. */
const char *lathe_host_join(void *const *buffers, const int64_t *sizes);
/* The lexicographic order of rows of integers. Buffers: rows, their indices in order, room for as many; sizes: rows, width. */
const char *lathe_host_order_rows(void *const *buffers, const int64_t *sizes);
/* Buffers: boxes [batch, boxes, 4], scores [batch, classes, boxes], the most per class, the largest overlap, the least score;
 * selected (batch, class, box) triples, their number, room for [boxes, 4] integers. Sizes: batch, classes, boxes, whether boxes
 * are given by their centers. */
const char *lathe_host_non_max_suppression(void *const *buffers, const int64_t *sizes);

/*===-- Fourier.c -----------------------------------------------------------===*/
/* Transforms of rows of real numbers, or of rows of real parts with one of imaginary parts behind each. Buffers: numbers, results; sizes:
 * batch, length, parts of a number, what is wanted (0: all frequencies, 1: those up to half of the length, 2: real numbers, of which those are
 * given), whether the exponent's sign is plus, whether numbers are doubles. Nothing is scaled. */
const char *lathe_host_fourier(void *const *buffers, const int64_t *sizes);
/* The same with the instructions of a level, which the machine must have. */
const char *latheFourierAt(uint32_t level, void *const *buffers, const int64_t *sizes);

/*===-- Lapack.c ------------------------------------------------------------===*/
/* Matrices of float64 column by column; sizes: first the batch, then rows and columns. A: n x n where it is square, m x n. Pivots and
 * info (0, or the place that LAPACK names) are int32.
 * lu: A; LU, pivots, info. Sizes: batch, m, n. */
const char *lathe_host_lapack_lu(void *const *buffers, const int64_t *sizes);
/* A, B; X, LU, pivots, info. Sizes: batch, n, columns of B, whether a singular matrix is an error. */
const char *lathe_host_lapack_solve(void *const *buffers, const int64_t *sizes);
/* LU, pivots, B; X. Sizes: batch, n, columns of B, whether A is transposed. */
const char *lathe_host_lapack_lu_solve(void *const *buffers, const int64_t *sizes);
/* A, B; X. Sizes: batch, n, columns of B, whether A is upper, whether its diagonal is 1. */
const char *lathe_host_lapack_triangular(void *const *buffers, const int64_t *sizes);
/* A; L (above its diagonal what A has), info. Sizes: batch, n, whether a matrix that is not positive is an error. */
const char *lathe_host_lapack_cholesky(void *const *buffers, const int64_t *sizes);
/* A, of which the lower triangle is read; LD, pivots, info. Sizes: batch, n. */
const char *lathe_host_lapack_ldl(void *const *buffers, const int64_t *sizes);
/* LD, pivots, B; X. Sizes: batch, n, columns of B. */
const char *lathe_host_lapack_ldl_solve(void *const *buffers, const int64_t *sizes);
/* Pivots; the rows (int64) in the order that they make. Sizes: batch, rows, pivots. */
const char *lathe_host_pivot_order(void *const *buffers, const int64_t *sizes);
/* A; R with the reflectors below it, their factors. Sizes: batch, m, n. */
const char *lathe_host_lapack_qr(void *const *buffers, const int64_t *sizes);
/* Reflectors, their factors; the first columns of their product. Sizes: batch, m, n, number of reflectors. */
const char *lathe_host_lapack_householder(void *const *buffers, const int64_t *sizes);
/* A, of which one triangle is read; eigenvalues, vectors. Sizes: batch, n, whether it is the upper one. */
const char *lathe_host_lapack_eigh(void *const *buffers, const int64_t *sizes);
/* A; real and imaginary parts of the eigenvalues, vectors as LAPACK packs them. Sizes: batch, n. */
const char *lathe_host_lapack_eig(void *const *buffers, const int64_t *sizes);
/* A; U, singular values, V transposed. Sizes: batch, m, n, whether U and V are square. */
const char *lathe_host_lapack_svd(void *const *buffers, const int64_t *sizes);

/*===-- LapackComplex.c -----------------------------------------------------===*/
/* Matrices of complex numbers: as those above, an element two doubles.
 * A, B; X, LU, pivots, info. Sizes: batch, n, columns of B, whether a singular matrix is an error. */
const char *lathe_host_lapack_complex_solve(void *const *buffers, const int64_t *sizes);
/* A, of which one triangle is read; eigenvalues (which are real), vectors. Sizes: batch, n, whether it is the upper one. */
const char *lathe_host_lapack_complex_eigh(void *const *buffers, const int64_t *sizes);
/* A; eigenvalues, vectors. Sizes: batch, n. */
const char *lathe_host_lapack_complex_eig(void *const *buffers, const int64_t *sizes);

/*===-- Sort.c --------------------------------------------------------------===*/
/* Called by kernels: the first `count` of `n` words in order, at the start of `words` or of `room`, which has n words or, where that is less,
 * count + count / 64 + 64; it may begin behind as many of the words. A word is a key and below it, in 32 bits, its index; they come by index. */
const uint64_t *lathe_sort_words(uint64_t *words, uint64_t *room, int64_t n, int64_t count);
typedef struct {
  uint64_t key, index;
} LatheWideWord;
const LatheWideWord *lathe_sort_wide_words(LatheWideWord *words, LatheWideWord *room, int64_t n, int64_t count);
/* Keys alone, all of them in order: at the start of `keys` or of `room`, which is as large. And the first place of one that is not smaller than `key`, of
 * keys in order; n where there is none. */
const uint32_t *lathe_sort_keys(uint32_t *keys, uint32_t *room, int64_t n);
const uint64_t *lathe_sort_wide_keys(uint64_t *keys, uint64_t *room, int64_t n);
int64_t lathe_find_key(const uint32_t *keys, int64_t n, uint64_t key);
int64_t lathe_find_wide_key(const uint64_t *keys, int64_t n, uint64_t key);
/* The same as of words for a small part of `size` words, which are not all written down. begin: takes the first `n` words, as many as are wanted or more,
 * or says 0 where so many are sorted otherwise. offer: words whose keys come before that of words[0] may be among those that are wanted.
 * end: the words in order. */
int64_t lathe_select_begin(uint64_t *words, int64_t n, int64_t size, int64_t count);
void lathe_select_offer(uint64_t *words, int64_t size, int64_t count, const uint64_t *more, int64_t n);
const uint64_t *lathe_select_end(uint64_t *words, uint64_t *room, int64_t size, int64_t count);
int64_t lathe_select_wide_begin(LatheWideWord *words, int64_t n, int64_t size, int64_t count);
void lathe_select_wide_offer(LatheWideWord *words, int64_t size, int64_t count, const LatheWideWord *more, int64_t n);
const LatheWideWord *lathe_select_wide_end(LatheWideWord *words, LatheWideWord *room, int64_t size, int64_t count);

/*===-- Execute.c -----------------------------------------------------------===*/
LatheStatus latheExecute(LatheContext *context, LathePlan *plan);
/* Calls a function of the host, a LatheHostFn. */
LatheStatus latheCallHost(LatheContext *context, uint32_t function, void *const *buffers, const int64_t *sizes);
/* Frees what runs allocated on the way. */
void latheFreeDynamic(LatheContext *context);

/*===-- State.c -------------------------------------------------------------===*/
LatheStatus latheOpenStates(LatheContext *context);
void latheCloseStates(LatheContext *context);
/* Sizes the states that have none yet, and checks the others against what the run's sizes are. */
LatheStatus latheBindStates(LatheContext *context, const LathePlan *plan);

/*===-- Context.c -----------------------------------------------------------===*/
LatheStatus latheOpen(LatheContext *context, const LatheOptions *options);
/* What a context has of its own: the signature, and memory for runs. */
LatheStatus latheOpenSignature(LatheContext *context);
void latheCloseSignature(LatheContext *context);
void latheClose(LatheContext *context);

#pragma GCC visibility pop

#endif /* LATHE_RUNTIME_RUNTIME_H */
