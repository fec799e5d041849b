"""The functions, and how far each may be from the exact result, in units in the last place (0.5: rounded right)."""

UNARIES = {  # f32, f64; half types are computed in f32, and have 0.51 everywhere
    "exp": (1.1, 1.1),
    "exp2": (1.1, 1.1),
    "expm1": (1.6, 2.0),
    "log": (0.9, 0.9),
    "log1p": (1.7, 1.7),
    "log2": (1.3, 1.6),
    "sqrt": (0.5, 0.5),
    "rsqrt": (1.51, 1.51),
    "sin": (0.51, 2.5),
    "cos": (0.51, 2.5),
    "tan": (0.51, 3.6),
    "asin": (1.7, 3.2),
    "acos": (1.4, 3.0),
    "atan": (1.4, 2.0),
    "sinh": (2.2, 2.5),
    "cosh": (1.6, 1.6),
    "tanh": (5.0, 2.8),
    "asinh": (1.8, 2.0),
    "acosh": (1.9, 1.8),
    "atanh": (2.3, 2.0),
    "erf": (5.5, 11),
    "floor": (0, 0),
    "ceil": (0, 0),
    "round": (0, 0),
    "trunc": (0, 0),
    "sign": (0, 0),
    "abs": (0, 0),
}
BINARIES = {
    "pow": (0.51, 1.5),
    "atan2": (1.6, 3.0),
    "rem": (0, 0),
    "mod": (0.51, 0.51),
    "floor_div": (0.51, 2.1),
    "max": (0, 0),
    "min": (0, 0),
}
HALF = 0.51  # one more rounding, of an f32 that is not exact itself


def allowed(table, name, element):
    single, double = table[name]
    if element == "f64":
        return double
    return single if element == "f32" or single == 0 else HALF

CUDA = {  # libdevice, as NVIDIA's programming guide states it, and half a unit for the rounding of what it is compared with
    "exp": (2.5, 1.5), "exp2": (2.5, 1.5), "expm1": (1.5, 1.5), "log": (1.5, 1.5), "log1p": (1.5, 1.5), "log2": (1.5, 1.5),
    "rsqrt": (2.5, 1.5), "sin": (2.5, 2.5), "cos": (2.5, 2.5), "tan": (4.5, 2.5), "asin": (2.5, 2.5), "acos": (2.5, 2.5),
    "atan": (2.5, 2.5), "sinh": (3.5, 2.5), "cosh": (2.5, 1.5), "tanh": (2.5, 1.5), "asinh": (3.5, 3.5), "acosh": (4.5, 3.5),
    "atanh": (3.5, 2.5), "erf": (2.5, 2.5), "pow": (4.5, 2.5), "atan2": (3.5, 2.5),
}


def allowed_on_cuda(table, name, element):
    if name not in CUDA or element not in ("f32", "f64"):
        return allowed(table, name, element)
    return CUDA[name][element == "f64"]
