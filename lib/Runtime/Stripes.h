/*===- Stripes.h - Planned kernels, and those that take turns ---------------===*/
#ifndef LATHE_RUNTIME_STRIPES_H
#define LATHE_RUNTIME_STRIPES_H

#include "Cpu/Pool.h"
#include "lathe/Artifact/Format.h"
#include <stdbool.h>

typedef struct LatheChain LatheChain;

typedef struct {
  LatheKernelFn fn;
  void **buffers;  /* into the plan's pointers */
  int64_t *sizes;  /* into the plan's parameters */
  int64_t items, grain;
  uint32_t parts;  /* threads that share it, 1 for inline */
  uint32_t piecesPerPart;
  uint32_t turns;  /* of how many pieces a repeated run on one thread takes the last first */
  bool again;      /* a loop came by here, an odd number of times */
  bool waits;      /* for the last one of its chain, which runs it */
  const LatheChain *chain; /* NULL, or the steps that this one takes turns with, itself the last (Stripes.c) */
  uint32_t kind;   /* LatheStepKind; plain kernels are LATHE_STEP_KERNEL */
  const LatheStep *step;
} LathePlannedStep;

/* Items and the pieces that so many threads take, by what the kernel's plan function said (LATHE_PLAN_WORDS). */
void latheShareOut(LathePlannedStep *step, const int64_t *plan, uint32_t threads);

/* A kernel step whose items follow the rows of its result: what its plan function said of that (LATHE_PLAN_UNIT and what follows it). */
typedef struct {
  const LathePlannedStep *planned;
  int64_t unit, groups, rows, rowBytes; /* no groups: no such order */
  int64_t operandRowBytes, rowsOfLine, lines, imageRows, lineStep, low, high;
  uint32_t result, operand; /* among the step's buffers; LATHE_NONE */
  uint64_t scratchBytes;    /* of the kernel */
  int64_t capacity;         /* rows of the stripe that a thread has in place of the result */
  uint64_t offset;          /* of that in its scratch */
} LatheStage;

struct LatheChain {
  LatheStage *stages;
  uint32_t count, parts; /* stages; threads */
  int64_t slice;         /* groups of the last stage in a turn */
};

/* Steps of a chain, and buffers of one of them, at most. */
enum { LATHE_CHAIN_STAGES = 4, LATHE_CHAIN_BUFFERS = 16 };

/* Chooses the slice and the stripes' capacity and place; the bytes of a thread's scratch, 0 where it is better not to be a chain. */
uint64_t latheFitChain(LatheChain *chain, int64_t cacheBytes);
void latheRunChain(LathePool *pool, const LatheChain *chain, char *scratch, uint64_t scratchBytes);

#endif /* LATHE_RUNTIME_STRIPES_H */
