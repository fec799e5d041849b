/*===- Pool.c - Fork and join, spinning before it sleeps --------------------===*\
|*
|* A region costs a tenth of a microsecond while the workers spin and some thirty once they sleep in the kernel, so they
|* spin for longer than any gap between two steps of a model, and sleep only between runs.
|*
|* The caller publishes a region in one 64-bit word, `generation`: a counter above, the number of parts below. A worker that
|* takes part holds the caller in lathePoolRun until it has counted itself out, so it sees the job that belongs to the word;
|* one that does not take part reads nothing but the word.
|*
\*===----------------------------------------------------------------------===*/
#include "Pool.h"
#include "../Libc.h"
#include <stdatomic.h>

enum { PartBits = 10, SpinNs = 300000, SpinsPerClock = 512, SysFutexWait = 128, SysFutexWake = 129 };
#if defined(__x86_64__)
enum { SysFutex = 202 };
static inline void relax(void) { __builtin_ia32_pause(); }
#elif defined(__aarch64__)
enum { SysFutex = 98 };
static inline void relax(void) { __asm__ volatile("yield"); }
#else
#error "no futex number for this machine"
#endif

typedef struct {
  _Alignas(64) _Atomic uint32_t sleeping;
  uint32_t index;
  LathePool *pool;
  unsigned long thread;
} Worker;

struct LathePool {
  _Alignas(64) _Atomic uint64_t generation;
  LathePartFn fn;
  void *job;
  _Alignas(64) _Atomic uint32_t left;
  _Alignas(64) uint32_t threads;
  uint32_t spins;  /* whether waiting spins */
  Worker *workers; /* threads - 1 of them */
};

/* The next generation after `seen`, spinning first, then asleep until the caller wakes this worker. */
static uint64_t waitForWork(Worker *worker, uint64_t seen) {
  LathePool *pool = worker->pool;
  int64_t start = 0;
  for (uint32_t i = 1;; ++i) {
    uint64_t now = atomic_load_explicit(&pool->generation, memory_order_acquire);
    if (now != seen)
      return now;
    relax();
    if (i % SpinsPerClock && pool->spins)
      continue;
    int64_t t = latheNow();
    if (!start)
      start = t;
    if (pool->spins && t - start < SpinNs)
      continue;
    atomic_store(&worker->sleeping, 1);
    if (atomic_load(&pool->generation) == seen)
      syscall(SysFutex, &worker->sleeping, SysFutexWait, 1, NULL, NULL, 0);
    atomic_store(&worker->sleeping, 0);
    start = 0;
  }
}

static void *workerMain(void *argument) {
  Worker *worker = argument;
  LathePool *pool = worker->pool;
  for (uint64_t seen = 0;;) {
    seen = waitForWork(worker, seen);
    uint32_t parts = seen & ((1u << PartBits) - 1);
    if (worker->index >= parts)
      continue;
    if (!pool->fn)
      return NULL;
    pool->fn(pool->job, worker->index, parts);
    atomic_fetch_sub_explicit(&pool->left, 1, memory_order_release);
  }
}

static void publish(LathePool *pool, uint32_t parts, LathePartFn fn, void *job) {
  pool->fn = fn;
  pool->job = job;
  atomic_store_explicit(&pool->left, parts - 1, memory_order_relaxed);
  uint64_t last = atomic_load_explicit(&pool->generation, memory_order_relaxed);
  atomic_store(&pool->generation, ((last >> PartBits) + 1) << PartBits | parts);
  for (uint32_t i = 0; i + 1 < parts; ++i)
    if (atomic_load(&pool->workers[i].sleeping) && atomic_exchange(&pool->workers[i].sleeping, 0))
      syscall(SysFutex, &pool->workers[i].sleeping, SysFutexWake, 1, NULL, NULL, 0);
}

void lathePoolRun(LathePool *pool, uint32_t parts, LathePartFn fn, void *job) {
  if (parts > pool->threads)
    parts = pool->threads;
  if (parts <= 1) {
    fn(job, 0, 1);
    return;
  }
  publish(pool, parts, fn, job);
  fn(job, 0, parts);
  for (uint32_t i = 1; atomic_load_explicit(&pool->left, memory_order_acquire); ++i) {
    relax();
    if (!pool->spins || i % (64 * SpinsPerClock) == 0)
      sched_yield();
  }
}

static void joinWorkers(LathePool *pool, uint32_t started) {
  pool->threads = started + 1;
  if (started)
    publish(pool, started + 1, NULL, NULL);
  for (uint32_t i = 0; i < started; ++i)
    pthread_join(pool->workers[i].thread, NULL);
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
  if (pool->threads == 1)
    return pool;
  pool->workers = aligned_alloc(64, sizeof(Worker) * (pool->threads - 1));
  if (!pool->workers) {
    free(pool);
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
