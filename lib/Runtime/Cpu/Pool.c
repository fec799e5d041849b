/*===- Pool.c - Fork and join, spinning before it sleeps --------------------===*\
|*
|* A region costs a tenth of a microsecond while the workers spin and some thirty once they sleep in the kernel, so they
|* spin for longer than any gap between two steps of a model, and sleep only between runs.
|*
|* The caller publishes a region in one 64-bit word, `generation`: a counter above, the number of parts below. Each part has a
|* claim word: the counter of the region that it was last claimed for above, how many of its pieces are taken below. A piece
|* is run by whoever advances the word. A region ends when all its pieces are done, not when all workers have noticed it: one
|* that the system has put aside holds nobody up. It finds all pieces of the old region claimed, for only then does the
|* caller move on, and touches the job only after a successful claim, so never a stale one.
|*
\*===----------------------------------------------------------------------===*/
#include "Pool.h"
#include "../Libc.h"
#include <stdatomic.h>
#include <stdbool.h>

enum { PartBits = 10, StopMark = (1 << PartBits) - 1, PieceBits = 13, Taken = (1 << PieceBits) - 1, SpinNs = 300000, PutAsideNs = 500000,
       SpinsPerClock = 512, SpinsBeforeHelp = 12, SpinsBeforeYield = 4096, SysFutexWait = 128, SysFutexWake = 129 };
#if defined(__x86_64__)
enum { SysFutex = 202 };
#elif defined(__aarch64__)
enum { SysFutex = 98 };
#elif defined(__riscv)
enum { SysFutex = 98 };
#else
#error "no futex number for this machine"
#endif

typedef struct {
  _Alignas(64) _Atomic uint64_t claim;
} Part;

typedef struct {
  _Alignas(64) _Atomic uint32_t sleeping;
  uint32_t index;
  LathePool *pool;
  unsigned long thread;
} Worker;

struct LathePool {
  _Alignas(64) _Atomic uint64_t generation;
  LathePieceFn fn;
  void *job;
  _Atomic uint32_t piecesPerPart;
  _Alignas(64) _Atomic uint32_t left; /* pieces that are not done */
  _Alignas(64) uint32_t threads;
  uint32_t spins;  /* whether waiting spins */
  Part *parts;     /* one per thread */
  Worker *workers; /* threads - 1 of them */
};

/* Whether a worker goes on spinning. One that finds the clock far ahead was put aside meanwhile: others want the core, and
 * spinning would only keep the caller from it. */
static bool keepsSpinning(const LathePool *pool, int64_t *start, int64_t *last) {
  int64_t now = latheNow();
  bool putAside = *last && now - *last > PutAsideNs;
  *start = *start ? *start : now;
  *last = now;
  return pool->spins && !putAside && now - *start < SpinNs;
}

/* The next generation after `seen`, spinning first, then asleep until the caller wakes this worker. */
static uint64_t waitForWork(Worker *worker, uint64_t seen) {
  LathePool *pool = worker->pool;
  int64_t start = 0, last = 0;
  for (uint32_t i = 1;; ++i) {
    uint64_t now = atomic_load_explicit(&pool->generation, memory_order_acquire);
    if (now != seen)
      return now;
    latheRelax();
    if ((i % SpinsPerClock && pool->spins) || keepsSpinning(pool, &start, &last))
      continue;
    atomic_store(&worker->sleeping, 1);
    if (atomic_load(&pool->generation) == seen)
      syscall(SysFutex, &worker->sleeping, SysFutexWait, 1, NULL, NULL, 0);
    atomic_store(&worker->sleeping, 0);
    start = last = 0;
  }
}

/* Takes the next piece of a part in the region `counter`; false when none is left. Claim words only grow, and those of a
 * finished region say Taken, so a late worker fails before or at the exchange whatever piecesPerPart has become. */
static bool claimPiece(LathePool *pool, uint32_t part, uint64_t counter, uint32_t *piece) {
  _Atomic uint64_t *claim = &pool->parts[part].claim;
  uint64_t now = atomic_load_explicit(claim, memory_order_acquire), next;
  do {
    uint64_t region = now >> PieceBits, taken = region == counter ? now & ((1u << PieceBits) - 1) : 0;
    if (region > counter || taken == Taken)
      return false;
    *piece = (uint32_t)taken;
    bool last = taken + 1 == atomic_load_explicit(&pool->piecesPerPart, memory_order_relaxed);
    next = counter << PieceBits | (last ? Taken : taken + 1);
  } while (!atomic_compare_exchange_weak_explicit(claim, &now, next, memory_order_acq_rel, memory_order_acquire));
  return true;
}

/* Runs what is left of a part; the number of pieces that it ran. */
static uint32_t workOn(LathePool *pool, uint32_t part, uint64_t counter, uint32_t thread) {
  uint32_t done = 0, piece;
  for (; claimPiece(pool, part, counter, &piece); ++done)
    pool->fn(pool->job, part * atomic_load_explicit(&pool->piecesPerPart, memory_order_relaxed) + piece, thread);
  if (done)
    atomic_fetch_sub_explicit(&pool->left, done, memory_order_release);
  return done;
}

/* The parts of the other threads, nearest first. Looking at their claim words takes a cache miss each, so this is for threads
 * that would wait long. */
static void help(LathePool *pool, uint64_t generation, uint32_t thread) {
  uint32_t parts = generation & StopMark;
  for (uint32_t i = 1; i < parts; ++i)
    workOn(pool, thread + i < parts ? thread + i : thread + i - parts, generation >> PartBits, thread);
}

static void *workerMain(void *argument) {
  Worker *worker = argument;
  for (uint64_t seen = 0;;) {
    seen = waitForWork(worker, seen);
    uint32_t parts = seen & StopMark;
    if (parts == StopMark)
      return NULL;
    /* Where parts come in pieces they last long, and some thread may be behind. */
    if (worker->index < parts && workOn(worker->pool, worker->index, seen >> PartBits, worker->index) > 1)
      help(worker->pool, seen, worker->index);
  }
}

/* Starts a region for the first `workers` workers and returns its word. */
static uint64_t publish(LathePool *pool, uint32_t parts, uint32_t workers) {
  uint64_t next = ((atomic_load_explicit(&pool->generation, memory_order_relaxed) >> PartBits) + 1) << PartBits | parts;
  atomic_store(&pool->generation, next);
  for (uint32_t i = 0; i < workers; ++i)
    if (atomic_load(&pool->workers[i].sleeping) && atomic_exchange(&pool->workers[i].sleeping, 0))
      syscall(SysFutex, &pool->workers[i].sleeping, SysFutexWake, 1, NULL, NULL, 0);
  return next;
}

void lathePoolRun(LathePool *pool, uint32_t parts, uint32_t piecesPerPart, LathePieceFn fn, void *job) {
  if (parts > pool->threads)
    parts = pool->threads;
  pool->fn = fn;
  pool->job = job;
  atomic_store_explicit(&pool->piecesPerPart, piecesPerPart, memory_order_relaxed);
  atomic_store_explicit(&pool->left, parts * piecesPerPart, memory_order_relaxed);
  uint64_t generation = publish(pool, parts, parts - 1);
  workOn(pool, 0, generation >> PartBits, 0);
  for (uint32_t i = 1; atomic_load_explicit(&pool->left, memory_order_acquire); ++i) {
    latheRelax();
    if (i == SpinsBeforeHelp || !pool->spins)
      help(pool, generation, 0);
    if (!pool->spins || (i > SpinsBeforeYield && i % 256 == 0))
      sched_yield();
  }
}

static void joinWorkers(LathePool *pool, uint32_t started) {
  publish(pool, StopMark, started);
  for (uint32_t i = 0; i < started; ++i)
    pthread_join(pool->workers[i].thread, NULL);
  free(pool->parts);
  free(pool->workers);
  free(pool);
}

LathePool *lathePoolCreate(uint32_t threads, uint32_t cpus) {
  LathePool *pool = aligned_alloc(64, (sizeof(LathePool) + 63) / 64 * 64);
  if (!pool)
    return NULL;
  memset(pool, 0, sizeof *pool);
  pool->threads = threads < 1 ? 1 : threads > LATHE_MAX_THREADS ? LATHE_MAX_THREADS : threads;
  pool->spins = pool->threads <= cpus;
  pool->parts = aligned_alloc(64, sizeof(Part) * pool->threads);
  if (!pool->parts) {
    free(pool);
    return NULL;
  }
  memset(pool->parts, 0, sizeof(Part) * pool->threads);
  if (pool->threads == 1)
    return pool;
  pool->workers = aligned_alloc(64, sizeof(Worker) * (pool->threads - 1));
  if (!pool->workers) {
    joinWorkers(pool, 0);
    return NULL;
  }
  memset(pool->workers, 0, sizeof(Worker) * (pool->threads - 1));
  for (uint32_t i = 0; i + 1 < pool->threads; ++i) {
    Worker *worker = &pool->workers[i];
    worker->index = i + 1;
    worker->pool = pool;
    if (pthread_create(&worker->thread, NULL, workerMain, worker)) {
      joinWorkers(pool, i);
      return NULL;
    }
  }
  return pool;
}

void lathePoolDestroy(LathePool *pool) {
  if (pool)
    joinWorkers(pool, pool->threads - 1);
}
