"""What integer functions and conversions have to give, in Python's integers."""
import numpy as np

WIDTH = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "ui8": 8, "ui16": 16, "ui32": 32, "ui64": 64}
FLOATS = {"f16": (np.float16, 10), "f32": (np.float32, 23), "f64": (np.float64, 52)}


def dtype(element):
    return np.dtype(("u" if element[0] == "u" else "i") + str(WIDTH[element] // 8))


def wrap(value, element):
    width = WIDTH[element]
    value &= (1 << width) - 1
    return value - (1 << width) if element[0] != "u" and value >> (width - 1) else value


def saturated(value, element):
    """A float towards zero; NaN gives 0."""
    info = np.iinfo(dtype(element))
    if value != value:
        return 0
    if value in (float("inf"), float("-inf")):
        return info.max if value > 0 else info.min
    return max(info.min, min(info.max, int(value)))


def nearest(value, element):
    """An integer as a float, rounded once to even."""
    kind, mantissa = FLOATS[element]
    size = abs(value)
    drop = max(0, size.bit_length() - mantissa - 1)
    kept, rest = size >> drop, size & ((1 << drop) - 1)
    if drop and (rest << 1, kept & 1) > (1 << drop, 0):
        kept += 1
    whole = kept << drop
    out = kind("inf") if whole > float(np.finfo(kind).max) else kind(float(whole))
    return -out if value < 0 else out


def power(x, y, element):
    if y >= 0:
        return wrap(pow(x, y, 1 << WIDTH[element]), element)
    return {1: 1, -1: -1 if y % 2 else 1}.get(x, 0)


def divide(x, y, element):
    """Towards zero; by 0 it is 0."""
    return wrap(abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1), element) if y else 0


def remainder(x, y, element):
    return x - divide(x, y, element) * y if y and (x, y) != (np.iinfo(dtype(element)).min, -1) else 0


BINARIES = {
    "pow": power,
    "div": divide,
    "rem": remainder,
    "mod": lambda x, y, e: x % y if y else 0,
    "floor_div": lambda x, y, e: wrap(x // y, e) if y else 0,
    "max": lambda x, y, e: max(x, y),
    "min": lambda x, y, e: min(x, y),
}
UNARIES = {
    "sign": lambda x, e: (x > 0) - (x < 0),
    "abs": lambda x, e: wrap(abs(x), e),
    "neg": lambda x, e: wrap(-x, e),
}


def samples(element, rng):
    info = np.iinfo(dtype(element))
    edges = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 5, 7, 10, 63, 64, 65, 100, 127, 128, 200, 255]
    powers = [s * ((1 << i) + d) for i in range(64) for d in (-1, 0, 1) for s in (1, -1)]
    ties = [(1 << i) + (1 << (i - k)) + d for i in range(30, 64, 5) for k in (11, 24, 53) if k <= i for d in (-1, 0, 1)]
    wild = [int(v) for v in rng.integers(info.min, info.max, 200, dtype=dtype(element), endpoint=True)]
    small = [-1, -2, -3, -5, -8]
    return [v for v in dict.fromkeys(edges + powers + ties + wild + small) if info.min <= v <= info.max]
