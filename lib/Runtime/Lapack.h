/*===- Lapack.h - What the functions that call LAPACK share -----------------===*/
#ifndef LATHE_RUNTIME_LAPACK_H
#define LATHE_RUNTIME_LAPACK_H

#include "Runtime.h"

typedef void (*LatheRoutine)(void);

static const char tooLarge[] = LATHE_HOST_INVALID "a matrix has more than 2^31 - 1 rows, columns or elements of work";
static const char noMemory[] = LATHE_HOST_NO_MEMORY "out of memory for the work of LAPACK";
static const char singular[] = LATHE_HOST_INVALID "a matrix is singular, so that it cannot be inverted or solved with";
static const char notPositive[] = LATHE_HOST_INVALID "a matrix is not positive definite, so that it has no Cholesky factor";
static const char noConvergence[] =
    LATHE_HOST_INVALID "the decomposition of a matrix did not converge: it may hold values that are no numbers";

/* The routine, or why it cannot be had. */
const char *latheFindLapack(const char *name, LatheRoutine *routine);

/* Whether some size is 0: there is nothing to do. */
static inline bool nothing(const int64_t *sizes, int count) {
  for (int i = 0; i < count; ++i)
    if (sizes[i] == 0)
      return true;
  return false;
}
/* Whether all sizes fit the interface. */
static inline bool fits(const int64_t *dims, int count) {
  for (int i = 0; i < count; ++i)
    if (dims[i] > INT32_MAX)
      return false;
  return true;
}

/* A batch element without elements has no error either. */
static inline void clearInfo(int *info, int64_t batch) {
  if (batch > 0)
    memset(info, 0, (size_t)batch * sizeof(int));
}

static inline void copyDoubles(double *to, const double *from, int64_t count) {
  if (count > 0)
    memcpy(to, from, (size_t)count * sizeof(double));
}

/* Memory for as many elements as a routine said that it needs, each of one double or two. */
static inline const char *workForElements(double asked, int doubles, double **work, int *size) {
  if (!(asked < INT32_MAX))
    return tooLarge;
  *size = asked < 1 ? 1 : (int)asked;
  *work = malloc((size_t)*size * (size_t)doubles * sizeof(double));
  return *work ? NULL : noMemory;
}
static inline const char *workFor(double asked, double **work, int *size) { return workForElements(asked, 1, work, size); }

#define ROUTINE_NAMED(NAME, SYMBOL, ...)                                                                                             \
  void (*NAME)(__VA_ARGS__);                                                                                           \
  {                                                                                                                    \
    LatheRoutine routine;                                                                                              \
    const char *why = latheFindLapack(SYMBOL, &routine);                                                               \
    if (why)                                                                                                           \
      return why;                                                                                                      \
    NAME = (void (*)(__VA_ARGS__))routine;                                                                             \
  }

/* A routine's own name has an underscore behind it, as Fortran compilers write it. */
#define ROUTINE(NAME, ...) ROUTINE_NAMED(NAME, #NAME "_", __VA_ARGS__)

/* What lathe_host_lapack_solve does, by the routine of this name, of elements of one double or two. */
const char *latheSolveWith(const char *name, int doubles, void *const *buffers, const int64_t *sizes);

#endif /* LATHE_RUNTIME_LAPACK_H */
