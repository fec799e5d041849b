/*===- Lapack.c - Linear algebra by the machine's LAPACK --------------------===*\
|*
|* The library is opened when the first model that needs it runs, so that an artifact has no dependency on it and others never
|* look for it. Matrices are float64, column by column, one batch element after the other. The reference interface with
|* 32-bit integers.
|*
\*===----------------------------------------------------------------------===*/
#include "Lapack.h"

static const char missing[] =
    LATHE_HOST_UNSUPPORTED "linear algebra needs LAPACK, and neither liblapack.so.3 nor libopenblas.so.0 can be loaded on this machine";
static const char incomplete[] = LATHE_HOST_UNSUPPORTED "the LAPACK library of this machine lacks a routine that the model needs";

static void *library(void) {
  static void *opened;
  void *now = __atomic_load_n(&opened, __ATOMIC_ACQUIRE);
  static const char *const names[] = {"liblapack.so.3", "libopenblas.so.0", "liblapack.so", "libopenblas.so"};
  for (size_t i = 0; !now && i < sizeof names / sizeof *names; ++i)
    now = dlopen(names[i], LATHE_RTLD_NOW);
  __atomic_store_n(&opened, now, __ATOMIC_RELEASE);
  return now;
}

const char *latheFindLapack(const char *name, LatheRoutine *routine) {
  void *from = library();
  if (!from)
    return missing;
  void *found = dlsym(from, name);
  memcpy(routine, &found, sizeof found);
  return found ? NULL : incomplete;
}

/*===-- Systems of equations ------------------------------------------------===*/

const char *lathe_host_lapack_lu(void *const *buffers, const int64_t *sizes) {
  int64_t m = sizes[1], n = sizes[2], k = m < n ? m : n;
  double *lu = buffers[1];
  int *pivots = buffers[2], *info = buffers[3], rows = (int)m, columns = (int)n;
  clearInfo(info, sizes[0]);
  if (nothing(sizes, 3))
    return NULL;
  if (!fits(sizes + 1, 2))
    return tooLarge;
  ROUTINE(dgetrf, const int *, const int *, double *, const int *, int *, int *)
  copyDoubles(lu, buffers[0], sizes[0] * m * n);
  for (int64_t b = 0; b < sizes[0]; ++b)
    dgetrf(&rows, &columns, lu + b * m * n, &rows, pivots + b * k, info + b);
  return NULL;
}

const char *latheSolveWith(const char *name, int doubles, void *const *buffers, const int64_t *sizes) {
  int64_t n = sizes[1], k = sizes[2], matrix = n * n * doubles, right = n * k * doubles;
  double *x = buffers[2], *lu = buffers[3];
  int *pivots = buffers[4], *info = buffers[5], rows = (int)n, columns = (int)k;
  clearInfo(info, sizes[0]);
  if (nothing(sizes, 2))
    return NULL;
  if (!fits(sizes + 1, 2))
    return tooLarge;
  ROUTINE_NAMED(gesv, name, const int *, const int *, double *, const int *, int *, double *, const int *, int *)
  copyDoubles(lu, buffers[0], sizes[0] * matrix);
  copyDoubles(x, buffers[1], sizes[0] * right);
  for (int64_t b = 0; b < sizes[0]; ++b) {
    gesv(&rows, &columns, lu + b * matrix, &rows, pivots + b * n, x + b * right, &rows, info + b);
    if (sizes[3] && info[b])
      return singular;
  }
  return NULL;
}

const char *lathe_host_lapack_solve(void *const *buffers, const int64_t *sizes) {
  return latheSolveWith("dgesv_", 1, buffers, sizes);
}

const char *lathe_host_lapack_lu_solve(void *const *buffers, const int64_t *sizes) {
  int64_t n = sizes[1], k = sizes[2];
  double *x = buffers[3];
  const double *lu = buffers[0];
  const int *pivots = buffers[1];
  int rows = (int)n, columns = (int)k, info;
  if (nothing(sizes, 3))
    return NULL;
  if (!fits(sizes + 1, 2))
    return tooLarge;
  ROUTINE(dgetrs, const char *, const int *, const int *, const double *, const int *, const int *, double *,
          const int *, int *, size_t)
  copyDoubles(x, buffers[2], sizes[0] * n * k);
  for (int64_t b = 0; b < sizes[0]; ++b)
    dgetrs(sizes[3] ? "T" : "N", &rows, &columns, lu + b * n * n, &rows, pivots + b * n, x + b * n * k, &rows, &info,
           1);
  return NULL;
}

const char *lathe_host_lapack_triangular(void *const *buffers, const int64_t *sizes) {
  int64_t n = sizes[1], k = sizes[2];
  double *x = buffers[2];
  const double *a = buffers[0], one = 1;
  int rows = (int)n, columns = (int)k;
  if (nothing(sizes, 3))
    return NULL;
  if (!fits(sizes + 1, 2))
    return tooLarge;
  ROUTINE(dtrsm, const char *, const char *, const char *, const char *, const int *, const int *, const double *,
          const double *, const int *, double *, const int *, size_t, size_t, size_t, size_t)
  copyDoubles(x, buffers[1], sizes[0] * n * k);
  for (int64_t b = 0; b < sizes[0]; ++b)
    dtrsm("L", sizes[3] ? "U" : "L", "N", sizes[4] ? "U" : "N", &rows, &columns, &one, a + b * n * n, &rows,
          x + b * n * k, &rows, 1, 1, 1, 1);
  return NULL;
}

const char *lathe_host_lapack_cholesky(void *const *buffers, const int64_t *sizes) {
  int64_t n = sizes[1];
  double *l = buffers[1];
  int *info = buffers[2], rows = (int)n;
  clearInfo(info, sizes[0]);
  if (nothing(sizes, 2))
    return NULL;
  if (!fits(sizes + 1, 1))
    return tooLarge;
  ROUTINE(dpotrf, const char *, const int *, double *, const int *, int *, size_t)
  copyDoubles(l, buffers[0], sizes[0] * n * n);
  for (int64_t b = 0; b < sizes[0]; ++b) {
    dpotrf("L", &rows, l + b * n * n, &rows, info + b, 1);
    if (sizes[2] && info[b])
      return notPositive;
  }
  return NULL;
}

const char *lathe_host_lapack_ldl(void *const *buffers, const int64_t *sizes) {
  int64_t n = sizes[1];
  double *ld = buffers[1], asked, *work;
  int *pivots = buffers[2], *info = buffers[3], rows = (int)n, query = -1, size;
  clearInfo(info, sizes[0]);
  if (nothing(sizes, 2))
    return NULL;
  if (!fits(sizes + 1, 1))
    return tooLarge;
  ROUTINE(dsytrf, const char *, const int *, double *, const int *, int *, double *, const int *, int *, size_t)
  copyDoubles(ld, buffers[0], sizes[0] * n * n);
  dsytrf("L", &rows, ld, &rows, pivots, &asked, &query, info, 1);
  const char *why = workFor(asked, &work, &size);
  if (why)
    return why;
  for (int64_t b = 0; b < sizes[0]; ++b)
    dsytrf("L", &rows, ld + b * n * n, &rows, pivots + b * n, work, &size, info + b, 1);
  free(work);
  return NULL;
}

const char *lathe_host_lapack_ldl_solve(void *const *buffers, const int64_t *sizes) {
  int64_t n = sizes[1], k = sizes[2];
  const double *ld = buffers[0];
  const int *pivots = buffers[1];
  double *x = buffers[3];
  int rows = (int)n, columns = (int)k, info;
  if (nothing(sizes, 3))
    return NULL;
  if (!fits(sizes + 1, 2))
    return tooLarge;
  ROUTINE(dsytrs, const char *, const int *, const int *, const double *, const int *, const int *, double *,
          const int *, int *, size_t)
  copyDoubles(x, buffers[2], sizes[0] * n * k);
  for (int64_t b = 0; b < sizes[0]; ++b)
    dsytrs("L", &rows, &columns, ld + b * n * n, &rows, pivots + b * n, x + b * n * k, &rows, &info, 1);
  return NULL;
}

/* What LAPACK writes of its row exchanges, as the order that they make. */
const char *lathe_host_pivot_order(void *const *buffers, const int64_t *sizes) {
  const int32_t *pivots = buffers[0];
  int64_t m = sizes[1], k = sizes[2], *order = buffers[1];
  for (int64_t b = 0; b < sizes[0]; ++b, order += m, pivots += k) {
    for (int64_t i = 0; i < m; ++i)
      order[i] = i;
    for (int64_t i = 0; i < k && i < m; ++i) {
      int64_t with = pivots[i] - 1;
      if (with < 0 || with >= m)
        return LATHE_HOST_INVALID "a pivot is no row of its matrix";
      int64_t kept = order[i];
      order[i] = order[with];
      order[with] = kept;
    }
  }
  return NULL;
}

/*===-- Orthogonal factors --------------------------------------------------===*/

const char *lathe_host_lapack_qr(void *const *buffers, const int64_t *sizes) {
  int64_t m = sizes[1], n = sizes[2], k = m < n ? m : n;
  double *qr = buffers[1], *tau = buffers[2], asked, *work;
  int rows = (int)m, columns = (int)n, query = -1, size, info;
  if (nothing(sizes, 3))
    return NULL;
  if (!fits(sizes + 1, 2))
    return tooLarge;
  ROUTINE(dgeqrf, const int *, const int *, double *, const int *, double *, double *, const int *, int *)
  copyDoubles(qr, buffers[0], sizes[0] * m * n);
  dgeqrf(&rows, &columns, qr, &rows, tau, &asked, &query, &info);
  const char *why = workFor(asked, &work, &size);
  if (why)
    return why;
  for (int64_t b = 0; b < sizes[0]; ++b)
    dgeqrf(&rows, &columns, qr + b * m * n, &rows, tau + b * k, work, &size, &info);
  free(work);
  return NULL;
}

const char *lathe_host_lapack_householder(void *const *buffers, const int64_t *sizes) {
  int64_t m = sizes[1], n = sizes[2], k = sizes[3];
  const double *tau = buffers[1];
  double *q = buffers[2], asked, *work;
  int rows = (int)m, columns = (int)n, reflectors = (int)k, query = -1, size, info;
  if (nothing(sizes, 3))
    return NULL;
  if (!fits(sizes + 1, 3))
    return tooLarge;
  ROUTINE(dorgqr, const int *, const int *, const int *, double *, const int *, const double *, double *, const int *,
          int *)
  copyDoubles(q, buffers[0], sizes[0] * m * n);
  dorgqr(&rows, &columns, &reflectors, q, &rows, tau, &asked, &query, &info);
  const char *why = workFor(asked, &work, &size);
  if (why)
    return why;
  for (int64_t b = 0; b < sizes[0]; ++b)
    dorgqr(&rows, &columns, &reflectors, q + b * m * n, &rows, tau + b * k, work, &size, &info);
  free(work);
  return NULL;
}

/*===-- Eigenvalues and singular values -------------------------------------===*/

const char *lathe_host_lapack_eigh(void *const *buffers, const int64_t *sizes) {
  int64_t n = sizes[1];
  double *values = buffers[1], *vectors = buffers[2], asked, *work;
  int rows = (int)n, query = -1, size, info = 0;
  if (nothing(sizes, 2))
    return NULL;
  if (!fits(sizes + 1, 1))
    return tooLarge;
  ROUTINE(dsyev, const char *, const char *, const int *, double *, const int *, double *, double *, const int *, int *,
          size_t, size_t)
  copyDoubles(vectors, buffers[0], sizes[0] * n * n);
  const char *side = sizes[2] ? "U" : "L";
  dsyev("V", side, &rows, vectors, &rows, values, &asked, &query, &info, 1, 1);
  const char *why = workFor(asked, &work, &size);
  for (int64_t b = 0; !why && b < sizes[0]; ++b) {
    dsyev("V", side, &rows, vectors + b * n * n, &rows, values + b * n, work, &size, &info, 1, 1);
    why = info ? noConvergence : NULL;
  }
  free(work);
  return why;
}

const char *lathe_host_lapack_eig(void *const *buffers, const int64_t *sizes) {
  int64_t n = sizes[1];
  double *real = buffers[1], *imaginary = buffers[2], *vectors = buffers[3], asked, *work = NULL;
  int rows = (int)n, query = -1, size, info = 0;
  if (nothing(sizes, 2))
    return NULL;
  if (!fits(sizes + 1, 1))
    return tooLarge;
  ROUTINE(dgeev, const char *, const char *, const int *, double *, const int *, double *, double *, double *,
          const int *, double *, const int *, double *, const int *, int *, size_t, size_t)
  double *matrix = malloc((size_t)(n * n) * sizeof(double));
  if (!matrix)
    return noMemory;
  dgeev("N", "V", &rows, matrix, &rows, real, imaginary, NULL, &rows, vectors, &rows, &asked, &query, &info, 1, 1);
  const char *why = workFor(asked, &work, &size);
  for (int64_t b = 0; !why && b < sizes[0]; ++b) {
    copyDoubles(matrix, (const double *)buffers[0] + b * n * n, n * n);
    dgeev("N", "V", &rows, matrix, &rows, real + b * n, imaginary + b * n, NULL, &rows, vectors + b * n * n, &rows,
          work, &size, &info, 1, 1);
    why = info ? noConvergence : NULL;
  }
  free(work);
  free(matrix);
  return why;
}

static void writeIdentity(double *to, int64_t n) {
  for (int64_t i = 0; i < n * n; ++i)
    to[i] = i % (n + 1) == 0;
}

const char *lathe_host_lapack_svd(void *const *buffers, const int64_t *sizes) {
  int64_t m = sizes[1], n = sizes[2], k = m < n ? m : n, p = sizes[3] ? m : k, q = sizes[3] ? n : k;
  double *u = buffers[1], *values = buffers[2], *v = buffers[3], asked, *work = NULL;
  int rows = (int)m, columns = (int)n, ofV = (int)q, query = -1, size, info = 0;
  if (nothing(sizes, 3)) { /* square factors of what has no elements are identities */
    for (int64_t b = 0; sizes[3] && b < sizes[0]; ++b) {
      writeIdentity(u + b * m * m, m);
      writeIdentity(v + b * n * n, n);
    }
    return NULL;
  }
  if (!fits(sizes + 1, 2) || k > INT32_MAX / 8)
    return tooLarge;
  ROUTINE(dgesdd, const char *, const int *, const int *, double *, const int *, double *, double *, const int *,
          double *, const int *, double *, const int *, int *, int *, size_t)
  double *matrix = malloc((size_t)(m * n) * sizeof(double));
  int *integers = malloc((size_t)(8 * k) * sizeof(int));
  const char *why = matrix && integers ? NULL : noMemory, *kind = sizes[3] ? "A" : "S";
  if (!why) {
    dgesdd(kind, &rows, &columns, matrix, &rows, values, u, &rows, v, &ofV, &asked, &query, integers, &info, 1);
    why = workFor(asked, &work, &size);
  }
  for (int64_t b = 0; !why && b < sizes[0]; ++b) {
    copyDoubles(matrix, (const double *)buffers[0] + b * m * n, m * n);
    dgesdd(kind, &rows, &columns, matrix, &rows, values + b * k, u + b * m * p, &rows, v + b * q * n, &ofV, work, &size,
           integers, &info, 1);
    why = info ? noConvergence : NULL;
  }
  free(work);
  free(integers);
  free(matrix);
  return why;
}
