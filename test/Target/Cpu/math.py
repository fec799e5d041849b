"""Accuracy of the math functions against numpy in extended precision: units in the last place, and special values."""
import math, sys
import numpy as np
from kernels import Kernel, variants

INF, NAN = np.inf, np.nan
erf = np.vectorize(lambda x: np.longdouble(math.erf(float(x))))
CASES = [  # op, numpy, ranges, ulps allowed in f32, in f64
    ('math.exp', np.exp, [(-104, 89), (-1, 1), (-750, 720)], 2, 4),
    ('math.exp2', np.exp2, [(-150, 128), (-1, 1)], 2, 4),
    ('math.expm1', np.expm1, [(-20, 88), (-0.1, 0.1)], 3, 6),
    ('math.log', np.log, [(1e-40, 1e-3), (0.5, 2), (1, 1e38)], 3, 4),
    ('math.log2', np.log2, [(1e-40, 1e-3), (0.5, 2), (1, 1e38)], 1, 6),
    ('math.log10', np.log10, [(1e-40, 1e-3), (0.5, 2), (1, 1e38)], 1, 6),
    ('math.log1p', np.log1p, [(-0.999, 3), (-1e-5, 1e-5), (0, 1e30)], 4, 6),
    ('math.tanh', np.tanh, [(-10, 10), (-0.01, 0.01)], 4, 6),
    ('math.erf', erf, [(-4, 4), (-0.01, 0.01)], 5, 1000),
    ('math.sin', np.sin, [(-4, 4), (-1e4, 1e4)], 1, 4),
    ('math.cos', np.cos, [(-4, 4), (-1e4, 1e4)], 1, 4),
    ('math.tan', np.tan, [(-1.5, 1.5), (-1e3, 1e3)], 1, 8),
    ('math.asin', np.arcsin, [(-1, 1)], 1, 6),
    ('math.acos', np.arccos, [(-1, 1)], 1, 8),
    ('math.atan', np.arctan, [(-3, 3), (-1e5, 1e5)], 1, 4),
    ('math.sinh', np.sinh, [(-88, 88), (-0.1, 0.1)], 1, 100),
    ('math.cosh', np.cosh, [(-88, 88)], 1, 100),
    ('math.asinh', np.arcsinh, [(-100, 100), (-1e-3, 1e-3)], 1, 8),
    ('math.acosh', np.arccosh, [(1, 1.1), (1, 1e6)], 1, 8),
    ('math.atanh', np.arctanh, [(-0.999, 0.999)], 1, 8),
    ('math.rsqrt', lambda x: 1 / np.sqrt(x), [(1e-30, 1e30)], 2, 2),
    ('math.cbrt', np.cbrt, [(-1000, 1000)], 1, 4),
    ('math.floor', np.floor, [(-5, 5), (-1e10, 1e10)], 0, 0),
    ('math.ceil', np.ceil, [(-5, 5), (-1e10, 1e10)], 0, 0),
    ('math.trunc', np.trunc, [(-5, 5), (-1e10, 1e10)], 0, 0),
    ('math.roundeven', np.rint, [(-5, 5), (-1e10, 1e10)], 0, 0),
    ('math.round', lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), [(-5, 5), (-1e6, 1e6)], 0, 0),
]
BINARY = [
    ('math.powf', np.power, [(0, 10), (-5, 5)], 1, 4000),
    ('math.atan2', np.arctan2, [(-3, 3), (-3, 3)], 1, 4),
    ('arith.remf', np.fmod, [(-100, 100), (-7, 7)], 0, 0),
]
SPECIAL = np.array([0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, INF, -INF, NAN, 1e-45, -1e-45, 1e30, -1e30, 0.49999997])


def unary(op, t, variant):
    return Kernel(f'loop @f axes(i = "N") {{ %x = kernel.load %in0["i"] : !kernel.ref<{t}> -> {t}\n%y = {op} %x : {t}\n'
                  f'kernel.store %y, %out0["i"] : {t}, !kernel.ref<{t}> }}', [t], [t], variant)


def binary(op, t, variant):
    return Kernel(f'loop @f axes(i = "N") {{ %x = kernel.load %in0["i"] : !kernel.ref<{t}> -> {t}\n'
                  f'%z = kernel.load %in1["i"] : !kernel.ref<{t}> -> {t}\n%y = {op} %x, %z : {t}\n'
                  f'kernel.store %y, %out0["i"] : {t}, !kernel.ref<{t}> }}', [t, t], [t], variant)


def ulps(got, want, dtype):
    """Distance in units in the last place of the rounded reference; results that are not finite must be the same."""
    rounded = want.astype(dtype)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    finite = np.isfinite(got) & np.isfinite(rounded)
    unit = np.spacing(np.abs(np.where(finite, rounded, 1)))
    d = np.abs(got.astype(np.longdouble) - np.where(finite, want, 0)) / unit
    return np.where(same, 0, np.where(finite, d, INF))


def check(op, t, variant, got, want, xs, dtype, allowed, special):
    global failed
    d = ulps(got, want, dtype)
    i = int(np.argmax(d))
    if d[i] > allowed + (0.5 if allowed else 0):
        failed += 1
        print(f'FAIL {variant} {op} {t}{" special" if special else ""}: {d[i]} ulp at {[x[i] for x in xs]}: '
              f'{got[i]!r}, expected {want[i]!r}')
    elif '-v' in sys.argv:
        print(f'{variant} {op} {t} {float(d[i]):.2f} ulp')


failed = 0
rng = np.random.default_rng(1)
np.seterr(all='ignore')
for variant in variants():
    for t, dtype in (('f32', np.float32), ('f64', np.float64)):
        for op, ref, ranges, ulp32, ulp64 in CASES:
            allowed = ulp32 if t == 'f32' else ulp64
            k = unary(op, t, variant)
            for special, x in [(False, rng.uniform(a, b, 20011)) for a, b in ranges] + [(True, SPECIAL)]:
                x = x.astype(dtype)
                y = np.zeros_like(x)
                k([x, y], [len(x)])
                want = ref(x.astype(np.longdouble))
                if special and op in ('math.sin', 'math.cos', 'math.tan'):
                    keep = ~(np.abs(x) > 1e8)
                    x, y, want = x[keep], y[keep], want[keep]
                check(op, t, variant, y, want, [x], dtype, allowed, special)
        for op, ref, (rx, ry), ulp32, ulp64 in BINARY:
            k = binary(op, t, variant)
            x, z = (rng.uniform(*r, 20011).astype(dtype) for r in (rx, ry))
            sx, sz = (a.ravel().astype(dtype) for a in np.meshgrid(SPECIAL[:12], SPECIAL[:12]))
            for special, x, z in ((False, x, z), (True, sx, sz)):
                y = np.zeros_like(x)
                k([x, z, y], [len(x)])
                check(op, t, variant, y, ref(x.astype(np.longdouble), z.astype(np.longdouble)), [x, z], dtype,
                      ulp32 if t == 'f32' else ulp64, special)
print('failed', failed) if failed else print('passed')
sys.exit(1 if failed else 0)
