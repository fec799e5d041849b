/*===- FourierTypes.h - Transforms of floats and of doubles ------------------===*\
|*
|* Included by Fourier.c for each set of instructions, with BYTES of a vector and FUNCTION.
|*
\*===----------------------------------------------------------------------===*/

#define REAL float
#if BYTES == 16
#define LANES_LOG 2
#define NAME(x) x##_float_16
#define SHUFFLED(F, a, b, h) __builtin_shufflevector(a, b, LANES4(F, h, 4, 0))
#elif BYTES == 32
#define LANES_LOG 3
#define NAME(x) x##_float_32
#define SHUFFLED(F, a, b, h) __builtin_shufflevector(a, b, LANES8(F, h, 8, 0))
#else
#define LANES_LOG 4
#define NAME(x) x##_float_64
#define SHUFFLED(F, a, b, h) __builtin_shufflevector(a, b, LANES16(F, h, 16, 0))
#endif
#include "FourierLanes.h"
#include "FourierRows.h"

#define REAL double
#if BYTES == 16
#define LANES_LOG 1
#define NAME(x) x##_double_16
#define SHUFFLED(F, a, b, h) __builtin_shufflevector(a, b, LANES2(F, h, 2, 0))
#elif BYTES == 32
#define LANES_LOG 2
#define NAME(x) x##_double_32
#define SHUFFLED(F, a, b, h) __builtin_shufflevector(a, b, LANES4(F, h, 4, 0))
#else
#define LANES_LOG 3
#define NAME(x) x##_double_64
#define SHUFFLED(F, a, b, h) __builtin_shufflevector(a, b, LANES8(F, h, 8, 0))
#endif
#include "FourierLanes.h"
#include "FourierRows.h"

#undef BYTES
#undef FUNCTION
