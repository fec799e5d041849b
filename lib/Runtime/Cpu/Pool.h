/*===- Pool.h - A context's worker threads ----------------------------------===*/
#ifndef LATHE_RUNTIME_CPU_POOL_H
#define LATHE_RUNTIME_CPU_POOL_H

#include <stdint.h>

typedef struct LathePool LathePool;

/* One part of a parallel region: part `index` of `parts`, run by thread `index` (0 is the caller). */
typedef void (*LathePartFn)(void *job, uint32_t index, uint32_t parts);

enum { LATHE_MAX_THREADS = 1023 };

/* A pool of `threads` threads, the calling one included; workers start at once. `cpus` is how many the process may use:
 * with fewer of them than threads, waiting yields where it would spin. NULL when out of memory or of threads. */
LathePool *lathePoolCreate(uint32_t threads, uint32_t cpus);
void lathePoolDestroy(LathePool *pool);

/* Runs parts 0 .. parts-1 (at most the pool's threads) and returns when all are done. */
void lathePoolRun(LathePool *pool, uint32_t parts, LathePartFn fn, void *job);

/* Physical cores that the process may use (affinity mask, topology, cgroup quota), and logical ones. */
uint32_t latheCountCores(uint32_t *logical);

#endif /* LATHE_RUNTIME_CPU_POOL_H */
