/*===- Format.h - The tables inside an artifact -----------------------------===*\
|*
|* What the compiler writes into OUT.so, the runtime inside it executes and `lathe inspect` reads without running it.
|* Plain C, no pointers: one blob (section `.lathe.meta`) that needs no relocation. Every reference is a byte offset from
|* the blob's start, so the same structs serve a loaded artifact, a file on disk and a foreign architecture's artifact.
|* Little endian. Code is reached through one separate table of function pointers (`lathe_functions`), constants through
|* one data section (`.lathe.data`), which is a segment of its own at the file's end.
|*
|* A reader accepts a blob whose major version is its own; structs only grow at their end within a major version, with
|* `headerBytes` and the element sizes that the header records telling how far the writer's structs reached.
|*
\*===----------------------------------------------------------------------===*/
#ifndef LATHE_ARTIFACT_FORMAT_H
#define LATHE_ARTIFACT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LATHE_FORMAT_MAGIC "LATHEART"
#define LATHE_FORMAT_MAJOR 1
#define LATHE_FORMAT_MINOR 2
#define LATHE_NONE 0xffffffffu
/* Of every constant in the data section and of every arena buffer: a line of a GPU's cache, so that rows that are whole lines
   are read as such; and two of a CPU's. */
#define LATHE_DATA_ALIGN 128
#define LATHE_WORKSPACE_ALIGN 64 /* of the memory that a caller hands in */
#define LATHE_MAX_RANK 64

/* `count` elements at byte `offset` of the blob (0, 0 when empty). */
typedef struct {
  uint32_t offset, count;
} LatheArray;

/* UTF-8 text: `count` bytes at `offset`, followed by a NUL that is not counted. */
typedef LatheArray LatheString;

/*===-- Sizes ---------------------------------------------------------------===*\
|* All sizes live in one array `int64_t sizes[numSlots]`. Slots 0 .. numSymbols-1 are the model's size symbols; the slots
|* `firstRawDim` .. `firstRawDim + (sum of the inputs' ranks) - 1` receive the dimensions of the inputs as they come, input
|* by input; behind them come the elements of inputs that decide sizes (`reads`), which like the dimensions are part of what a
|* plan is remembered for. The rest is computed by instructions, in their order. Arithmetic that overflows or divides by zero
|* is reported.
\*===----------------------------------------------------------------------===*/
typedef enum {
  LATHE_INSTR_CONST = 0,    /* dst = a | (int64_t)b << 32 */
  LATHE_INSTR_ADD = 1,      /* dst = sizes[a] + sizes[b] */
  LATHE_INSTR_SUB = 2,
  LATHE_INSTR_MUL = 3,
  LATHE_INSTR_FLOORDIV = 4, /* rounds to minus infinity */
  LATHE_INSTR_MOD = 5,      /* sign of the divisor */
  LATHE_INSTR_MIN = 6,
  LATHE_INSTR_MAX = 7,
  LATHE_INSTR_COPY = 8      /* dst = sizes[a] */
} LatheInstrOp;

typedef struct {
  uint32_t op, dst, a, b;
} LatheInstr;

/* A size symbol. It is bound by the instructions `bind` (indices into the header's `instrs`), which see the raw dimensions
 * and the symbols before it; `input` and `dim` say where it comes from, for messages (LATHE_ELEMENT + i: element i of the
 * input). Symbols that are known only while the
 * program runs (a data-dependent size) have input = LATHE_NONE and an empty `bind`. */
typedef struct {
  LatheString name;
  int64_t min, max;    /* inclusive; INT64_MAX for no bound */
  LatheArray hints;    /* int64_t: sizes that the compiler expects */
  uint32_t input, dim;
  uint32_t bindFirst, bindCount;
} LatheSymbol;

#define LATHE_ELEMENT 0x80000000u

/* An element of an input of rank 0 or 1 that decides sizes. */
typedef struct {
  uint32_t input, element;
} LatheRead;

/* A relation between sizes that must hold besides those of the inputs' dimensions; `text` is what a message says. */
typedef enum {
  LATHE_CHECK_EQ = 0,
  LATHE_CHECK_LE = 1,
  LATHE_CHECK_LT = 2,
  LATHE_CHECK_NE = 3,
  LATHE_CHECK_HOLDS = 4, /* a <= b; only the text tells what that means, and a message gives the sizes in it */
} LatheCheckKind;
typedef struct {
  uint32_t kind, a, b; /* sizes[a] KIND sizes[b] */
  uint32_t flags;      /* LATHE_CHECK_VALUES */
  LatheString text;
} LatheCheck;
/* The relation is one of values that the model reads or computes, not of the inputs' dimensions. */
#define LATHE_CHECK_VALUES 1u

/*===-- Signature -----------------------------------------------------------===*/
typedef struct {
  uint8_t code, bits; /* DLPack's: int 0, uint 1, float 2, bfloat 4, complex 5, bool 6 (one byte, 0 or 1) */
  uint16_t lanes;
} LatheDType;

typedef struct {
  uint32_t slot; /* the expected (input) or resulting (output) size; LATHE_NONE in a state that the entry point does not touch */
  uint32_t reserved;
  LatheString text; /* "seq", "past + seq", "768" */
  int64_t min, max; /* what it can be; INT64_MAX for no bound */
} LatheDim;

typedef struct {
  LatheString name;
  LatheDType dtype;
  uint32_t flags;  /* LATHE_TENSOR_DYNAMIC */
  LatheArray dims; /* LatheDim, outermost first */
} LatheTensor;

/* An output with a dimension that is known only when the run is over. */
#define LATHE_TENSOR_DYNAMIC 1u

/* A tensor that a context keeps from run to run: it belongs to the program's inputs and outputs, not to the caller's. The tables
 * of every entry point list all states, in one order. */
typedef struct {
  LatheTensor tensor;
  uint64_t initial; /* offset in the data section of what it holds at first, or LATHE_STATE_ZEROS */
} LatheState;
#define LATHE_STATE_ZEROS 0xffffffffffffffffu

/*===-- Programs ------------------------------------------------------------===*/
typedef enum {
  LATHE_BUFFER_INPUT = 0,  /* index: which input */
  LATHE_BUFFER_OUTPUT = 1, /* index: which output */
  LATHE_BUFFER_TEMP = 2,   /* in the arena; live from firstStep to lastStep, both included */
  LATHE_BUFFER_CONST = 3,  /* at `offset` of the data section */
  LATHE_BUFFER_VIEW = 4,   /* index: the buffer whose memory this one is, from its `offset` on */
  LATHE_BUFFER_DYNAMIC = 5, /* allocated while the program runs, when its size is known */
  LATHE_BUFFER_STATE = 6    /* index: which state */
} LatheBufferKind;

typedef struct {
  uint32_t kind, index;
  uint32_t bytesSlot; /* its size in bytes; temporaries and constants start at a multiple of 64, others anywhere */
  uint32_t firstStep, lastStep;
  LatheDType dtype;
  uint64_t offset;
} LatheBuffer;

typedef enum {
  LATHE_STEP_KERNEL = 0, /* target: kernel index; buffers: operands, then results; slots: the kernel's size parameters */
  LATHE_STEP_COPY = 1,   /* buffers: source, destination; slots: bytes, then where there is one the offset in the destination */
  LATHE_STEP_EVAL = 2,   /* run instructions target .. target + count - 1 */
  LATHE_STEP_READ = 3,   /* sizes[slots[0]] = the int64 element slots[1] (a slot) of buffers[0]; int32 where the dtype says so */
  LATHE_STEP_JUMP = 4,   /* to step `target` */
  LATHE_STEP_BRANCH = 5, /* to step `target` when sizes[slots[0]] is 0 */
  LATHE_STEP_CHECK = 6,  /* header.checks[target] must hold */
  LATHE_STEP_CALL = 7,   /* target: function index, LatheHostFn(buffers, sizes): work that is no parallel kernel */
  LATHE_STEP_ALLOC = 8,  /* gives buffers[0], a dynamic one or a dynamic output, sizes[slots[0]] bytes of new memory */
  LATHE_STEP_SWAP = 9,   /* exchanges the memory of two dynamic buffers (a loop's carried values) */
  LATHE_STEP_GROW = 10   /* as ALLOC; what the buffer holds stays (a loop's collected results) */
} LatheStepKind;

/* The step's sizes or buffers are known only when it is reached. */
#define LATHE_STEP_DYNAMIC 1u
/* Of a device's kernel: its last slot is no parameter, and where that is 0 the kernel is left out. */
#define LATHE_STEP_CONDITIONAL 2u

typedef struct {
  uint32_t kind, target;
  uint32_t count;
  uint32_t flags;     /* LATHE_STEP_DYNAMIC, LATHE_STEP_CONDITIONAL */
  LatheArray buffers; /* uint32_t: ids of the program's buffers */
  LatheArray slots;   /* uint32_t: slots */
} LatheStep;

typedef struct {
  uint32_t deviceType; /* DLPack's: 1 CPU, 2 CUDA */
  uint32_t reserved;
  LatheArray buffers; /* LatheBuffer */
  LatheArray steps;   /* LatheStep */
} LatheProgram;

/*===-- Kernels -------------------------------------------------------------===*/
/* What a variant's code needs, in the order of preference; the runtime takes the highest that the machine has. */
typedef enum {
  LATHE_LEVEL_BASELINE = 0, /* x86-64: SSE2; aarch64: NEON */
  LATHE_LEVEL_AVX2 = 1,     /* AVX2, FMA, F16C */
  LATHE_LEVEL_AVX512 = 2,   /* AVX512 F, BW, DQ, VL, and the level below */
  /* A level in the low byte, and above it what a kernel of that level needs beside: dot products of bytes, or of bf16, products of tiles. */
  LATHE_LEVEL_AVX2_VNNI = 0x101,  /* AVX_VNNI */
  LATHE_LEVEL_AVX512_VNNI = 0x202, /* AVX512_VNNI */
  LATHE_LEVEL_AVX512_BF16 = 0x602, /* and AVX512_BF16 */
  LATHE_LEVEL_AVX512_AMX = 0xe02   /* and AMX_TILE, AMX_INT8, AMX_BF16, which the system has to permit (latheMayUseTiles) */
} LatheLevel;

typedef struct {
  uint32_t level;
  uint32_t fn;   /* indices into lathe_functions: a LatheKernelFn */
  uint32_t plan; /* a LathePlanFn */
  uint32_t reserved;
} LatheVariant;

typedef struct {
  LatheString name;
  LatheString kernelClass; /* "loop", "reduction", "contraction", "attention", "library", ... */
  LatheArray nodes;        /* LatheString: the model nodes that it covers */
  LatheArray unfused;      /* LatheString: "producer -> consumer: reason" */
  LatheArray variants;     /* LatheVariant: CPU code */
  uint32_t cuda;           /* index into the CUDA table's launches, or LATHE_NONE */
  uint32_t reserved;
} LatheKernel;

/* Work on the items [begin, end). `buffers` are the step's, operands then results; `sizes` the kernel's size parameters in
 * its order; `scratch` is 64-byte aligned and this thread's alone. */
typedef void (*LatheKernelFn)(void *const *buffers, const int64_t *sizes, int64_t begin, int64_t end, void *scratch);

/* Behind a kernel's sizes, in NAME and NAME_plan alike: what the run knows of its machine (0: it does not). */
enum {
  LATHE_FACT_THREADS = 0, /* that the context has */
  LATHE_FACT_CACHE = 1,   /* bytes of the second-level cache of a core */
  LATHE_FACT_SHARED = 2,  /* bytes of the third-level cache, a thread's share */
  LATHE_FACT_WORDS = 3
};

/* Called once per shape. out[] is zeroed before the call. */
typedef void (*LathePlanFn)(const int64_t *sizes, int64_t *out);
enum {
  LATHE_PLAN_ITEMS = 0,   /* number of independent items */
  LATHE_PLAN_SCRATCH = 1, /* bytes of scratch per thread */
  LATHE_PLAN_COST = 2,    /* of one item: about FLOPs, or bytes / 4 where memory decides */
  LATHE_PLAN_GRAIN = 3,   /* chunks are multiples of this many items (0 is 1) */
  LATHE_PLAN_FLAGS = 4,   /* LATHE_PLAN_UNEVEN: items differ in cost, hand them out in small chunks; LATHE_PLAN_WHOLE: one per thread */
  /* How the items go through the rows of the result, which follow one another in memory; LATHE_PLAN_UNIT 0: in no such order. Groups
   * of UNIT items make groups of rows, as equal as they can be, the first ones with one row more. (lib/Runtime/Stripes.c) */
  LATHE_PLAN_UNIT = 5,
  LATHE_PLAN_ROWS = 6,       /* of the result */
  LATHE_PLAN_RESULT = 7,     /* which of the step's buffers that is */
  LATHE_PLAN_ROW_BYTES = 8,  /* of one of its rows */
  /* What a row needs of an operand: ROWS_OF_LINE rows are a line, LINES lines an image, and line y of image n reads no rows of the operand but
   * those from IMAGE_ROWS n + max(0, STEP y + LOW) to IMAGE_ROWS n + min(IMAGE_ROWS, STEP y + HIGH). */
  LATHE_PLAN_OPERAND = 9,    /* which of the step's buffers, and 1; 0: none is read in this order */
  LATHE_PLAN_OPERAND_ROW_BYTES = 10,
  LATHE_PLAN_ROWS_OF_LINE = 11,
  LATHE_PLAN_LINES = 12,
  LATHE_PLAN_IMAGE_ROWS = 13,
  LATHE_PLAN_STEP = 14,
  LATHE_PLAN_LOW = 15,
  LATHE_PLAN_HIGH = 16,
  LATHE_PLAN_WORDS = 17
};
#define LATHE_PLAN_UNEVEN 1
#define LATHE_PLAN_WHOLE 2

/* NULL, or the LatheStatus that the run ends with as a character, and behind it why. */
typedef const char *(*LatheHostFn)(void *const *buffers, const int64_t *sizes);

/*===-- CUDA ----------------------------------------------------------------===*/
typedef struct {
  uint32_t sm;   /* 75, 80, 90 */
  uint32_t kind; /* 0 cubin, 1 PTX text */
  uint64_t offset, bytes; /* in the data section */
} LatheCudaModule;

/* One kernel's code for one architecture. */
typedef struct {
  uint32_t sm;        /* compute capability that the code is for: 75, 90 (sm_90a). PTX text serves any later one too */
  uint32_t module;    /* index into modules */
  LatheArray entries; /* LatheString: the module's functions that the plan picks from */
  uint32_t plan;      /* index into lathe_functions: a LathePlanFn that fills LATHE_CUDA_PLAN_WORDS words */
  uint32_t reserved;
} LatheCudaVariant;

typedef struct {
  LatheArray variants; /* LatheCudaVariant, the best first */
} LatheCudaLaunch;

/* What a CUDA plan says, and what it is told of the device in the same words. Nothing is launched when a grid dimension is 0.
 * The kernel's parameters are one pointer per buffer, one int64 per size parameter, the address of the scratch memory, then the
 * tensor maps by value (CUtensorMap, 128 bytes each), of which a launch may take none. */
enum {
  LATHE_CUDA_ENTRY = 0, /* index into entries */
  LATHE_CUDA_GRID = 1,  /* x, y, z */
  LATHE_CUDA_BLOCK = 4,
  LATHE_CUDA_SHARED = 5, /* bytes of dynamic shared memory */
  LATHE_CUDA_CLUSTER = 6, /* blocks per cluster along x; 0 is 1 */
  LATHE_CUDA_FLAGS = 7,
  LATHE_CUDA_MAPS = 8,        /* number of tensor maps */
  LATHE_CUDA_PERSISTENT = 9,  /* grid x is at most this many times the multiprocessors, in whole clusters; 0: no such limit */
  LATHE_CUDA_SCRATCH = 10,    /* bytes of device memory that this kernel's launches share among themselves */
  LATHE_CUDA_FOLLOWING = 11,  /* launches of this kernel after the first one */
  LATHE_CUDA_PROCESSORS = 12, /* told: the device's multiprocessors */
  LATHE_CUDA_MAP0 = 16,
  LATHE_CUDA_MAP_WORDS = 32,
  LATHE_CUDA_MAX_MAPS = 6,
  LATHE_CUDA_FOLLOWING0 = 16 + 32 * 6,
  LATHE_CUDA_FOLLOWING_WORDS = 4, /* entry, grid x, block, bytes of dynamic shared memory */
  LATHE_CUDA_MAX_FOLLOWING = 4,
  LATHE_CUDA_PLAN_WORDS = 16 + 32 * 6 + 4 * 4
};
#define LATHE_CUDA_DEPENDENT 1 /* the kernel waits for the one before it by itself: it may be launched early */
#define LATHE_CUDA_TOGETHER 2  /* the blocks of the last launch that follows wait for one another: all are there at the same time */
/* Words of one tensor map; sizes, strides (bytes) and box are innermost first, the innermost stride is unused. A map for windows (im2col)
 * has between channels and images so many dimensions of pixels: the box is channels and places of the window, and the corners say where
 * the first and the last place is, the latter as seen from the last pixel. */
enum {
  LATHE_CUDA_MAP_BUFFER = 0, /* index among the kernel's buffers; as many as there are: the scratch memory */
  LATHE_CUDA_MAP_TYPE = 1,   /* CUtensorMapDataType */
  LATHE_CUDA_MAP_RANK = 2,
  LATHE_CUDA_MAP_SWIZZLE = 3, /* CUtensorMapSwizzle */
  LATHE_CUDA_MAP_DIMS = 4,
  LATHE_CUDA_MAP_STRIDES = 9,
  LATHE_CUDA_MAP_BOX = 14,
  LATHE_CUDA_MAP_WINDOW = 19, /* dimensions of pixels; 0: a map of boxes */
  LATHE_CUDA_MAP_LOWER = 20,
  LATHE_CUDA_MAP_UPPER = 23,
  LATHE_CUDA_MAP_STEPS = 26, /* from place to place */
  LATHE_CUDA_MAP_OFFSET = 29 /* bytes from the buffer's start */
};

typedef struct {
  uint32_t version;
  uint32_t reserved;
  LatheArray modules;  /* LatheCudaModule */
  LatheArray launches; /* LatheCudaLaunch: one per kernel with CUDA code */
} LatheCudaTable;

/*===-- The header ----------------------------------------------------------===*/
/* An entry point: a model of its own, with sizes, a signature and programs in a header of its own. In that, what belongs to the
 * whole file (kernels, code, constants, notes) is as in the file's. */
typedef struct {
  LatheString name;
  uint32_t tables; /* offset of its LatheHeader; 0 for the first entry point: the file's own */
  uint32_t reserved;
} LatheEntry;

typedef struct {
  char magic[8];
  uint16_t major, minor;
  uint32_t headerBytes; /* sizeof(LatheHeader) of the writer */
  uint64_t blobBytes;
  uint64_t dataBytes; /* of the data section */
  int64_t dataDelta;  /* address of the data section - address of the blob, when embedded */
  uint32_t machine;   /* ELF e_machine: 62 x86-64, 183 aarch64 */
  uint32_t numSlots, numSymbols, firstRawDim;
  LatheString producer;  /* "lathe " and its version */
  LatheString modelName;
  LatheArray symbols;    /* LatheSymbol, numSymbols of them */
  LatheArray instrs;     /* LatheInstr: the symbols' first */
  uint32_t evalFirst, evalCount; /* the instructions run once the symbols are bound */
  LatheArray checks;     /* LatheCheck: the first `entryChecks` of them hold at entry */
  uint32_t entryChecks;
  uint32_t numFunctions; /* entries of lathe_functions */
  LatheArray inputs, outputs; /* LatheTensor */
  LatheArray programs;   /* LatheProgram, at most one per device type */
  LatheArray kernels;    /* LatheKernel */
  uint32_t cuda;         /* offset of the LatheCudaTable, 0 when there is none */
  uint32_t reserved;
  LatheString externalData; /* name of the file beside the artifact that holds the data section; empty when embedded */
  LatheArray notes;      /* LatheString pairs: key, value (flags, precision, source format) */
  LatheArray reads;      /* LatheRead */
  LatheArray states;     /* LatheState */
  LatheArray schedules;  /* LatheArray for each kernel, of LatheString: how it runs, a line each; since 1.1 */
  LatheArray entries;    /* LatheEntry, at least one; since 1.2. Before, there was one, without a name */
} LatheHeader;

/* The symbols that tie an artifact together; hidden in the finished file. */
#define LATHE_SECTION_META ".lathe.meta"
#define LATHE_SECTION_DATA ".lathe.data"
typedef void (*LatheFunction)(void);

static inline const void *latheAt(const void *blob, LatheArray array) { return (const char *)blob + array.offset; }
static inline const char *latheText(const void *blob, LatheString s) { return s.offset ? (const char *)blob + s.offset : ""; }

#ifdef __cplusplus
}
#endif

#endif /* LATHE_ARTIFACT_FORMAT_H */
