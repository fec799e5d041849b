/*===- FourierLanes.h - Transforms in vectors -------------------------------===*\
|*
|* Included by Fourier.c for each type of numbers and each set of instructions, with
|*   REAL        float or double
|*   BYTES       of a vector
|*   NAME(x)     x with a suffix of its own
|*   FUNCTION    what stands before a function: static, and the instructions that it may use
|*
|* A transform of a length in lanes is one transform in each lane, in stages that leave their results in order (Stockham): whatever the
|* factors are, a stage reads and writes whole vectors. A row of n = a * b numbers becomes b of length a, a product with roots of unity, and
|* a of length b: lanes run across the columns of the first and across the results of the second, so that one row fills them, and what
|* one of them goes over fits a cache. Short rows lie in a lane each.
|*
\*===----------------------------------------------------------------------===*/

typedef REAL NAME(V) __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));
typedef struct {
  NAME(V) re, im;
} NAME(C);

#define V NAME(V)
#define C NAME(C)
#define LANES ((int64_t)(BYTES / sizeof(REAL)))

/*===-- One stage -----------------------------------------------------------===*/

FUNCTION inline void NAME(turn)(C *y, C x, const REAL *w) {
  y->re = x.re * w[0] - x.im * w[1];
  y->im = x.re * w[1] + x.im * w[0];
}

FUNCTION void NAME(stage2)(const C *x, C *y, int64_t m, int64_t s, const REAL *roots) {
  for (int64_t p = 0; p < m; ++p)
    for (int64_t q = 0; q < s; ++q) {
      C a = x[q + s * p], b = x[q + s * (p + m)], d = {a.re - b.re, a.im - b.im};
      C *to = y + q + s * 2 * p;
      to[0] = (C){a.re + b.re, a.im + b.im};
      NAME(turn)(to + s, d, roots + 2 * p * s);
    }
}

FUNCTION void NAME(stage4)(const C *x, C *y, int64_t m, int64_t s, const REAL *roots) {
  for (int64_t p = 0; p < m; ++p)
    for (int64_t q = 0; q < s; ++q) {
      const C *from = x + q + s * p;
      C a = from[0], b = from[s * m], c = from[2 * s * m], d = from[3 * s * m], *to = y + q + s * 4 * p;
      C ac = {a.re + c.re, a.im + c.im}, bd = {b.re + d.re, b.im + d.im};
      C even = {a.re - c.re, a.im - c.im}, odd = {b.im - d.im, d.re - b.re}; /* odd: -i (b - d) */
      to[0] = (C){ac.re + bd.re, ac.im + bd.im};
      NAME(turn)(to + s, (C){even.re + odd.re, even.im + odd.im}, roots + 2 * p * s);
      NAME(turn)(to + 2 * s, (C){ac.re - bd.re, ac.im - bd.im}, roots + 4 * p * s);
      NAME(turn)(to + 3 * s, (C){even.re - odd.re, even.im - odd.im}, roots + 6 * p * s);
    }
}

/* Of an odd radix: what stands at j and at r - j goes with the same cosines, and with sines that differ in their sign. */
FUNCTION inline __attribute__((always_inline)) void NAME(oddStage)(const C *x, C *y, int64_t r, int64_t m, int64_t s, const REAL *roots) {
  int64_t half = r / 2, unit = m * s;
  for (int64_t p = 0; p < m; ++p)
    for (int64_t q = 0; q < s; ++q) {
      C sum[mostRadix / 2], difference[mostRadix / 2], first = x[q + s * p], all = first, *to = y + q + s * r * p;
      for (int64_t j = 1; j <= half; ++j) {
        C a = x[q + s * (p + m * j)], b = x[q + s * (p + m * (r - j))];
        sum[j - 1] = (C){a.re + b.re, a.im + b.im};
        difference[j - 1] = (C){a.re - b.re, a.im - b.im};
        all.re += sum[j - 1].re;
        all.im += sum[j - 1].im;
      }
      to[0] = all;
      for (int64_t k = 1; k <= half; ++k) {
        C c = first, d = {c.re - c.re, c.im - c.im};
        for (int64_t j = 1, at = k; j <= half; ++j, at = at + k < r ? at + k : at + k - r) {
          const REAL *w = roots + 2 * at * unit;
          c.re += sum[j - 1].re * w[0];
          c.im += sum[j - 1].im * w[0];
          d.re -= difference[j - 1].im * w[1];
          d.im += difference[j - 1].re * w[1];
        }
        NAME(turn)(to + s * k, (C){c.re + d.re, c.im + d.im}, roots + 2 * p * k * s);
        NAME(turn)(to + s * (r - k), (C){c.re - d.re, c.im - d.im}, roots + 2 * p * (r - k) * s);
      }
    }
}

FUNCTION void NAME(stage3)(const C *x, C *y, int64_t m, int64_t s, const REAL *roots) { NAME(oddStage)(x, y, 3, m, s, roots); }
FUNCTION void NAME(stage5)(const C *x, C *y, int64_t m, int64_t s, const REAL *roots) { NAME(oddStage)(x, y, 5, m, s, roots); }
FUNCTION void NAME(stageOdd)(const C *x, C *y, int64_t r, int64_t m, int64_t s, const REAL *roots) { NAME(oddStage)(x, y, r, m, s, roots); }

/* A transform in each lane; says which of the two has the result. */
FUNCTION C *NAME(lanes)(const Factors *f, const REAL *roots, C *x, C *y) {
  int64_t rest = f->n, found = 1;
  for (int i = 0; i < f->count; ++i) {
    int64_t r = f->radix[i], m = rest / r;
    if (r == 2)
      NAME(stage2)(x, y, m, found, roots);
    else if (r == 4)
      NAME(stage4)(x, y, m, found, roots);
    else if (r == 3)
      NAME(stage3)(x, y, m, found, roots);
    else if (r == 5)
      NAME(stage5)(x, y, m, found, roots);
    else
      NAME(stageOdd)(x, y, r, m, found, roots);
    rest = m;
    found *= r;
    C *other = x;
    x = y;
    y = other;
  }
  return x;
}

/*===-- Rows and lanes ------------------------------------------------------===*/

/* Rows of a square become its columns: of each pair of rows every second element changes places, of each pair of pairs .. */
FUNCTION inline __attribute__((always_inline)) void NAME(turnSquare)(V *rows) {
#define MIX(h)                                                                                                                             \
  for (int64_t i = 0; i < LANES; ++i)                                                                                                      \
    if (!(i & (h))) {                                                                                                                      \
      V low = rows[i], high = rows[i + (h)];                                                                                               \
      rows[i] = SHUFFLED(LOW_OF, low, high, h);                                                                                                 \
      rows[i + (h)] = SHUFFLED(HIGH_OF, low, high, h);                                                                                       \
    }
  MIX(1)
#if LANES_LOG > 1
  MIX(2)
#endif
#if LANES_LOG > 2
  MIX(4)
#endif
#if LANES_LOG > 3
  MIX(8)
#endif
#undef MIX
}

FUNCTION inline V NAME(load)(const REAL *from) {
  V v;
  memcpy(&v, from, BYTES);
  return v;
}
FUNCTION inline void NAME(store)(REAL *to, V v) { memcpy(to, &v, BYTES); }

/* Where a group of lanes begins: the last one overlaps the one before it. */
FUNCTION inline int64_t NAME(group)(int64_t at, int64_t n) { return at + LANES <= n || n < LANES ? at : n - LANES; }

/* LANES rows of n numbers, a row in each lane. Up to a vector is read behind the last one. */
FUNCTION void NAME(takeRows)(const REAL *re, const REAL *im, int64_t n, C *to) {
  V a[LANES], b[LANES];
  for (int64_t j = 0; j < n; j += LANES) {
    int64_t at = NAME(group)(j, n);
    for (int64_t i = 0; i < LANES; ++i) {
      a[i] = NAME(load)(re + i * n + at);
      b[i] = NAME(load)(im + i * n + at);
    }
    NAME(turnSquare)(a);
    NAME(turnSquare)(b);
    for (int64_t i = 0; i < LANES; ++i)
      to[at + i] = (C){a[i], b[i]};
  }
}

/* The other way. Of short rows the first vectors reach into the next row, which comes later. */
FUNCTION void NAME(giveRows)(const C *from, int64_t n, REAL *re, REAL *im) {
  V a[LANES], b[LANES];
  for (int64_t j = 0; j < n; j += LANES) {
    int64_t at = NAME(group)(j, n);
    for (int64_t i = 0; i < LANES; ++i) {
      a[i] = from[at + i].re;
      b[i] = from[at + i].im;
    }
    NAME(turnSquare)(a);
    NAME(turnSquare)(b);
    for (int64_t i = 0; i < LANES; ++i) {
      NAME(store)(re + i * n + at, a[i]);
      NAME(store)(im + i * n + at, b[i]);
    }
  }
}

/*===-- Rows ----------------------------------------------------------------===*/

/* A row in each lane, in place. */
FUNCTION void NAME(rowsInLanes)(const Fourier *f, REAL *re, REAL *im) {
  C *x = f->work, *y = x + f->places;
  NAME(takeRows)(re, im, f->n, x);
  NAME(giveRows)(NAME(lanes)(&f->a, f->rootsA, x, y), f->n, re, im);
}

/* The first half of the work on one row: its columns, and their products with roots of unity. */
FUNCTION void NAME(columns)(const Fourier *f, const REAL *re, const REAL *im, REAL *outRe, REAL *outIm) {
  const REAL *cosines = f->twiddles, *sines = cosines + f->plane;
  int64_t a = f->a.n, b = f->b.n;
  C *x = f->work, *y = x + f->places;
  for (int64_t j = 0; j < b; j += LANES) {
    int64_t at = NAME(group)(j, b);
    for (int64_t i = 0; i < a; ++i)
      x[i] = (C){NAME(load)(re + i * b + at), NAME(load)(im + i * b + at)};
    const C *z = NAME(lanes)(&f->a, f->rootsA, x, y);
    for (int64_t k = 0; k < a; ++k) {
      V c = NAME(load)(cosines + k * b + at), d = NAME(load)(sines + k * b + at);
      NAME(store)(outRe + k * b + at, z[k].re * c - z[k].im * d);
      NAME(store)(outIm + k * b + at, z[k].re * d + z[k].im * c);
    }
  }
}

/* One row [a, b] in place; its results are [b, a]. */
FUNCTION void NAME(oneRow)(const Fourier *f, REAL *re, REAL *im) {
  REAL *middleRe = f->middle, *middleIm = middleRe + f->plane;
  int64_t a = f->a.n, b = f->b.n;
  C *x = f->work, *y = x + f->places;
  NAME(columns)(f, re, im, middleRe, middleIm);
  for (int64_t k = 0; k < a; k += LANES) {
    int64_t at = NAME(group)(k, a);
    NAME(takeRows)(middleRe + at * b, middleIm + at * b, b, x);
    const C *z = NAME(lanes)(&f->b, f->rootsB, x, y);
    for (int64_t l = 0; l < b; ++l) {
      NAME(store)(re + l * a + at, z[l].re);
      NAME(store)(im + l * a + at, z[l].im);
    }
  }
}

FUNCTION void NAME(times)(REAL *re, REAL *im, const REAL *cosines, const REAL *sines, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    REAL a = re[i], b = im[i];
    re[i] = a * cosines[i] - b * sines[i];
    im[i] = a * sines[i] + b * cosines[i];
  }
}

/* A convolution of a length that has small factors only (Bluestein): places * frequencies = (places^2 + frequencies^2 -
 * (frequencies - places)^2) / 2. */
FUNCTION void NAME(chirpRow)(const Fourier *f, REAL *re, REAL *im) {
  const Fourier *inner = f->inner;
  int64_t n = f->n, m = inner->n;
  const REAL *chirp = f->chirp, *filter = f->filter;
  NAME(times)(re, im, chirp, chirp + n, n);
  memset(re + n, 0, (size_t)(m - n) * sizeof(REAL));
  memset(im + n, 0, (size_t)(m - n) * sizeof(REAL));
  NAME(oneRow)(inner, re, im);
  NAME(times)(re, im, filter, filter + m, m);
  NAME(oneRow)(inner, im, re); /* backwards */
  NAME(times)(re, im, chirp, chirp + n, n);
}
