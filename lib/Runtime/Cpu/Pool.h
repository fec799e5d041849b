/*===- Pool.h - A context's worker threads ----------------------------------===*/
#ifndef LATHE_RUNTIME_CPU_POOL_H
#define LATHE_RUNTIME_CPU_POOL_H

#include <stdint.h>

typedef struct LathePool LathePool;

/* Piece `piece` of a parallel region, on thread `thread` (0 is the caller). */
typedef void (*LathePieceFn)(void *job, uint32_t piece, uint32_t thread);

enum { LATHE_MAX_THREADS = 1022 };

/* A pool of `threads` threads, the calling one included; workers start at once. `cpus` is how many the process may use:
 * with fewer of them than threads, waiting yields where it would spin. NULL when out of memory or of threads. */
LathePool *lathePoolCreate(uint32_t threads, uint32_t cpus);
void lathePoolDestroy(LathePool *pool);

/* Runs pieces 0 .. parts * piecesPerPart - 1 and returns when all are done. Part i (its consecutive pieces) belongs to thread
 * i, so that a thread meets the same data region after region; whoever is done with its own helps the others. At most the
 * pool's threads as parts, at most LATHE_MAX_PIECES per part. */
enum { LATHE_MAX_PIECES = 1 << 12 };
void lathePoolRun(LathePool *pool, uint32_t parts, uint32_t piecesPerPart, LathePieceFn fn, void *job);

/* Physical cores that the process may use (affinity mask, topology, cgroup quota), and logical ones. */
uint32_t latheCountCores(uint32_t *logical);

/* Bytes of the cache of this level, 2 or above, that the first core uses; 0 where the system does not say. */
uint64_t latheCacheBytes(int64_t level);

#endif /* LATHE_RUNTIME_CPU_POOL_H */
