/* References for the elementwise functions: libm's long double functions, whose errors lie far below those that are measured. */
#include <math.h>
#include <stddef.h>

typedef long double real;

static real rsqrt(real x) { return 1 / sqrtl(x); }
static real sign(real x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
/* Python's remainder and quotient: by the definition, in exact steps. */
static real mod(real x, real y) {
  real r = fmodl(x, y);
  if (r == 0)
    return copysignl(0, y);
  return (r < 0) != (y < 0) ? r + y : r;
}
static real floor_div(real x, real y) {
  if (y == 0)
    return x / y;
  real r = fmodl(x, y), q = rintl((x - r) / y);
  if (r != 0 && (r < 0) != (y < 0))
    q -= 1;
  return q == 0 ? copysignl(0, x / y) : q;
}
static real maximum(real x, real y) {
  if (isnan(x) || isnan(y))
    return NAN;
  return x > y || (x == y && !signbit(x)) ? x : y;
}
static real minimum(real x, real y) { return -maximum(-x, -y); }

typedef real (*unary)(real);
typedef real (*binary)(real, real);
static const struct { const char *name; unary function; } unaries[] = {
    {"exp", expl},     {"exp2", exp2l},   {"expm1", expm1l}, {"log", logl},     {"log1p", log1pl}, {"log2", log2l},
    {"sqrt", sqrtl},   {"rsqrt", rsqrt},  {"sin", sinl},     {"cos", cosl},     {"tan", tanl},     {"asin", asinl},
    {"acos", acosl},   {"atan", atanl},   {"sinh", sinhl},   {"cosh", coshl},   {"tanh", tanhl},   {"asinh", asinhl},
    {"acosh", acoshl}, {"atanh", atanhl}, {"erf", erfl},     {"floor", floorl}, {"ceil", ceill},   {"round", rintl},
    {"trunc", truncl}, {"sign", sign},    {"abs", fabsl},
};
static const struct { const char *name; binary function; } binaries[] = {
    {"pow", powl}, {"atan2", atan2l}, {"rem", fmodl}, {"mod", mod}, {"floor_div", floor_div}, {"max", maximum}, {"min", minimum},
};

static int same(const char *a, const char *b) {
  while (*a && *a == *b)
    ++a, ++b;
  return *a == *b;
}

/* 0: there is no such function. */
int reference(const char *name, const double *x, const double *y, real *out, size_t n) {
  for (size_t f = 0; f < sizeof unaries / sizeof *unaries; ++f)
    if (!y && same(name, unaries[f].name)) {
      for (size_t i = 0; i < n; ++i)
        out[i] = unaries[f].function(x[i]);
      return 1;
    }
  for (size_t f = 0; f < sizeof binaries / sizeof *binaries; ++f)
    if (y && same(name, binaries[f].name)) {
      for (size_t i = 0; i < n; ++i)
        out[i] = binaries[f].function(x[i], y[i]);
      return 1;
    }
  return 0;
}
