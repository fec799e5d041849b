/*===- LapackComplex.c - Linear algebra of complex matrices -----------------===*\
|*
|* As in Lapack.c. A complex number is two doubles, real and imaginary part, as Fortran has it.
|*
\*===----------------------------------------------------------------------===*/
#include "Lapack.h"

const char *lathe_host_lapack_complex_solve(void *const *buffers, const int64_t *sizes) {
  return latheSolveWith("zgesv_", 2, buffers, sizes);
}

const char *lathe_host_lapack_complex_eigh(void *const *buffers, const int64_t *sizes) {
  int64_t n = sizes[1];
  double *values = buffers[1], *vectors = buffers[2], asked[2], *work = NULL;
  int rows = (int)n, query = -1, size, info = 0;
  if (nothing(sizes, 2))
    return NULL;
  if (!fits(sizes + 1, 1))
    return tooLarge;
  ROUTINE(zheev, const char *, const char *, const int *, double *, const int *, double *, double *, const int *,
          double *, int *, size_t, size_t)
  double *real = malloc((size_t)(3 * n) * sizeof(double));
  if (!real)
    return noMemory;
  copyDoubles(vectors, buffers[0], sizes[0] * n * n * 2);
  const char *side = sizes[2] ? "U" : "L";
  zheev("V", side, &rows, vectors, &rows, values, asked, &query, real, &info, 1, 1);
  const char *why = workForElements(asked[0], 2, &work, &size);
  for (int64_t b = 0; !why && b < sizes[0]; ++b) {
    zheev("V", side, &rows, vectors + 2 * b * n * n, &rows, values + b * n, work, &size, real, &info, 1, 1);
    why = info ? noConvergence : NULL;
  }
  free(work);
  free(real);
  return why;
}

const char *lathe_host_lapack_complex_eig(void *const *buffers, const int64_t *sizes) {
  int64_t n = sizes[1];
  double *values = buffers[1], *vectors = buffers[2], asked[2], *work = NULL;
  int rows = (int)n, query = -1, size, info = 0;
  if (nothing(sizes, 2))
    return NULL;
  if (!fits(sizes + 1, 1))
    return tooLarge;
  ROUTINE(zgeev, const char *, const char *, const int *, double *, const int *, double *, double *, const int *,
          double *, const int *, double *, const int *, double *, int *, size_t, size_t)
  /* The matrix, which the routine overwrites, and behind it its room for real numbers. */
  double *matrix = malloc((size_t)(2 * n * n + 2 * n) * sizeof(double)), *real = matrix + 2 * n * n;
  if (!matrix)
    return noMemory;
  zgeev("N", "V", &rows, matrix, &rows, values, NULL, &rows, vectors, &rows, asked, &query, real, &info, 1, 1);
  const char *why = workForElements(asked[0], 2, &work, &size);
  for (int64_t b = 0; !why && b < sizes[0]; ++b) {
    copyDoubles(matrix, (const double *)buffers[0] + 2 * b * n * n, 2 * n * n);
    zgeev("N", "V", &rows, matrix, &rows, values + 2 * b * n, NULL, &rows, vectors + 2 * b * n * n, &rows, work, &size,
          real, &info, 1, 1);
    why = info ? noConvergence : NULL;
  }
  free(work);
  free(matrix);
  return why;
}
