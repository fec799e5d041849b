/*===- Fourier.c - Fourier transforms of lengths that a run finds -----------===*\
|*
|* Transforms of constant length are kernels of the graph. What a length's factors are, and with them which stages there are, no kernel of
|* open size knows: so they are made here. The work grows with n log n, whatever n is.
|*
|* FourierLanes.h has the transforms themselves, FourierRows.h what they read and write; this file plans them. The tables of a plan take about
|* as long as one row.
|*
\*===----------------------------------------------------------------------===*/
#include "Cpu/Features.h"
#include "Runtime.h"

enum { mostRadix = 61, mostStages = 48 }; /* a prime factor beyond that makes a convolution of the transform */
enum { allOfThem, halfOfThem, realNumbers }; /* results, see FourierResult */
/* Up to `alwaysShort` a row lies in a lane, and up to `shortRow` where there are rows enough: several of them stay in the first cache then. */
enum { alwaysShort = 64, shortRow = 256 };

typedef struct {
  int64_t n;
  int count;
  unsigned char radix[mostStages];
} Factors;

/* How a row of n complex numbers is transformed. Tables and memory have elements of the numbers' type. */
typedef struct Fourier {
  int64_t n;
  bool isShort;                /* a row in a lane; the length is a.n */
  Factors a, b;                /* otherwise n = a * b */
  const struct Fourier *inner; /* or a convolution of this length */
  void *rootsA, *rootsB;       /* of 1, pairs */
  void *twiddles, *middle;     /* [2, plane] */
  void *chirp, *filter;        /* [2, n], [2, inner's n] */
  void *halves;                /* roots for real numbers that are packed in pairs; NULL where they are not */
  void *row;                   /* [2, rowPlane]: what is transformed in place */
  void *work;                  /* of vectors: [2, places] */
  int64_t plane, rowPlane, places;
} Fourier;

typedef struct {
  int64_t batch, n, parts; /* parts: 1 of real numbers, 2 of complex ones */
  int result;
  bool inverse;
  int64_t taken, given; /* elements of a row */
} Wanted;

/*===-- Roots of unity ------------------------------------------------------===*/

typedef struct {
  double re, im;
} Number;

/* e^(-2 pi i t / n), 0 <= t < n. The angle is reduced to an eighth of a turn in integers; series of so many terms are exact there. */
static inline Number rootOf(int64_t t, int64_t n) {
  int64_t quarter = (int64_t)(4.0 * (double)t / (double)n + 0.5);
  double x = (double)(4 * t - quarter * n) * (1.57079632679489661923 / (double)n), z = x * x;
  double sine = 1 / 355687428096000.0, cosine = 1 / 20922789888000.0 - z / 6402373705728000.0;
  static const double sines[] = {-1 / 1307674368000.0, 1 / 6227020800.0, -1 / 39916800.0, 1 / 362880.0, -1 / 5040.0, 1 / 120.0, -1 / 6.0};
  static const double cosines[] = {-1 / 87178291200.0, 1 / 479001600.0, -1 / 3628800.0, 1 / 40320.0, -1 / 720.0, 1 / 24.0, -1 / 2.0};
  for (size_t i = 0; i < sizeof sines / sizeof *sines; ++i) {
    sine = sine * z + sines[i];
    cosine = cosine * z + cosines[i];
  }
  sine = x + x * z * sine;
  cosine = 1 + z * cosine;
  switch (quarter & 3) {
  case 0:
    return (Number){cosine, -sine};
  case 1:
    return (Number){-sine, -cosine};
  case 2:
    return (Number){-cosine, sine};
  }
  return (Number){sine, cosine};
}

/*===-- Plans ---------------------------------------------------------------===*/

/* Fours, a two, then odd primes; false where one of these is too large. */
static bool factorsOf(Factors *f, int64_t n) {
  f->n = n;
  f->count = 0;
  for (int64_t p = 4; n > 1;) {
    if (p > mostRadix)
      return false;
    if (n % p == 0) {
      f->radix[f->count++] = (unsigned char)p;
      n /= p;
    } else {
      p = p == 4 ? 2 : p == 2 ? 3 : p + 2;
    }
  }
  return true;
}

/* The largest factor up to the square root. */
static int64_t nearRoot(int64_t n) {
  int64_t best = 1;
  for (int64_t a = 2; a * a <= n; ++a)
    if (n % a == 0)
      best = a;
  return best;
}

/* The least length from `least` on that is a power of two, or one times 3, 5, 9 or 15. */
static int64_t roundLength(int64_t least) {
  static const unsigned char odd[] = {3, 5, 9, 15};
  int64_t best = 1;
  while (best < least)
    best *= 2;
  for (size_t i = 0; i < sizeof odd; ++i) {
    int64_t length = odd[i];
    while (length < least)
      length *= 2;
    best = length < best ? length : best;
  }
  return best;
}

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* Chooses how; memory is given out later. */
static void chooseWay(Fourier *f, Fourier *inner, int64_t n, int64_t batch, int64_t lanes) {
  *f = (Fourier){.n = n};
  if (!factorsOf(&f->a, n)) {
    chooseWay(inner, NULL, roundLength(2 * n - 1), 1, lanes);
    f->inner = inner;
    f->rowPlane = inner->n + lanes;
    return;
  }
  f->isShort = inner && n <= (batch >= lanes ? shortRow : alwaysShort);
  if (!f->isShort) {
    int64_t a = nearRoot(n);
    factorsOf(&f->a, a);
    factorsOf(&f->b, n / a);
  }
  f->places = most(most(f->a.n, f->b.n), lanes);
  f->plane = f->isShort ? 0 : n + lanes * (f->b.n + 1);
  f->rowPlane = (f->isShort ? lanes * n : n) + lanes;
}

/* The next bytes of the memory; of none yet, how many are wanted so far. */
static void *part(char *memory, int64_t *used, int64_t bytes) {
  int64_t at = *used;
  *used += (bytes + 63) / 64 * 64;
  return memory ? memory + at : NULL;
}

static void giveMemory(Fourier *f, char *memory, int64_t *used, int64_t bytes, int64_t lanes) {
  f->row = part(memory, used, 2 * f->rowPlane * bytes);
  if (f->inner) {
    f->chirp = part(memory, used, 2 * f->n * bytes);
    f->filter = part(memory, used, 2 * f->inner->n * bytes);
    return;
  }
  f->rootsA = part(memory, used, 2 * f->a.n * bytes);
  f->rootsB = part(memory, used, 2 * f->b.n * bytes);
  f->twiddles = part(memory, used, 2 * f->plane * bytes);
  f->middle = part(memory, used, 2 * f->plane * bytes);
  f->work = part(memory, used, 4 * f->places * lanes * bytes);
}

/* Lanes that have no row are computed, too, and are slow where memory happens to hold tiny numbers. */
static void clearIdleLanes(const Fourier *f, int64_t bytes, int64_t lanes) {
  if (f->isShort)
    memset(f->row, 0, (size_t)(2 * f->rowPlane * bytes));
  else if (f->a.n < lanes && f->plane)
    memset(f->middle, 0, (size_t)(2 * f->plane * bytes));
}

/* Chooses how and allocates; gives the memory. */
static void *planned(Fourier *f, Fourier *inner, const Wanted *w, int64_t bytes, int64_t lanes) {
  bool isPacked = w->n % 2 == 0 && (w->result == realNumbers || w->parts == 1);
  chooseWay(f, inner, isPacked ? w->n / 2 : w->n, w->batch, lanes);
  char *memory = NULL;
  for (int pass = 0; pass < 2; ++pass) {
    int64_t used = 0;
    giveMemory(f, memory, &used, bytes, lanes);
    if (f->inner)
      giveMemory(inner, memory, &used, bytes, lanes);
    f->halves = isPacked ? part(memory, &used, 2 * w->n * bytes) : NULL;
    if (!memory && !(memory = aligned_alloc(64, (size_t)used)))
      return NULL;
  }
  clearIdleLanes(f, bytes, lanes);
  if (f->inner)
    clearIdleLanes(inner, bytes, lanes);
  return memory;
}

/*===-- Vectors of all machines ---------------------------------------------===*/

#define LOW_OF(l, h, n) (((l) & (h)) ? (n) + (l) - (h) : (l))
#define HIGH_OF(l, h, n) (((l) & (h)) ? (n) + (l) : (l) + (h))
#define LANES2(F, h, n, at) F(at, h, n), F(at + 1, h, n)
#define LANES4(F, h, n, at) LANES2(F, h, n, at), LANES2(F, h, n, at + 2)
#define LANES8(F, h, n, at) LANES4(F, h, n, at), LANES4(F, h, n, at + 4)
#define LANES16(F, h, n, at) LANES8(F, h, n, at), LANES8(F, h, n, at + 8)

#define BYTES 16
#define FUNCTION static
#include "FourierTypes.h"

#if defined(__x86_64__)
#define BYTES 32
#define FUNCTION static __attribute__((target("avx2,fma")))
#include "FourierTypes.h"
#define BYTES 64
#define FUNCTION static __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")))
#include "FourierTypes.h"
#endif

typedef bool (*Transform)(const Wanted *w, const void *x, void *out);

static Transform transformFor(uint32_t level, bool isDouble) {
#if defined(__x86_64__)
  switch (level & 0xff) {
  case LATHE_LEVEL_AVX512:
    return isDouble ? transform_double_64 : transform_float_64;
  case LATHE_LEVEL_AVX2:
    return isDouble ? transform_double_32 : transform_float_32;
  }
#else
  (void)level;
#endif
  return isDouble ? transform_double_16 : transform_float_16;
}

const char *latheFourierAt(uint32_t level, void *const *buffers, const int64_t *sizes) {
  Wanted w = {.batch = sizes[0], .n = sizes[1], .parts = sizes[2], .result = (int)sizes[3], .inverse = sizes[4] != 0};
  int64_t half = w.n / 2 + 1;
  w.taken = w.parts * (w.result == realNumbers ? half : w.n);
  w.given = w.result == realNumbers ? w.n : 2 * (w.result == halfOfThem ? half : w.n);
  if (w.n < 1)
    return LATHE_HOST_INVALID "a Fourier transform has no elements";
  if (w.batch < 1)
    return NULL;
  return transformFor(level, sizes[5] != 0)(&w, buffers[0], buffers[1]) ? NULL : LATHE_HOST_NO_MEMORY "out of memory for a Fourier transform";
}

const char *lathe_host_fourier(void *const *buffers, const int64_t *sizes) {
  static uint32_t found; /* the machine's level and 1: asking a virtual machine takes as long as a short transform */
  uint32_t level = __atomic_load_n(&found, __ATOMIC_RELAXED);
  if (!level)
    __atomic_store_n(&found, level = latheMachineLevel() + 1, __ATOMIC_RELAXED);
  return latheFourierAt(level - 1, buffers, sizes);
}
