"""Products of floats of 8 bits, and conversions from and to them, for the emulator and for a GPU. The references are numpy's: a format's numbers are
made from its bits, and a number becomes the nearest one's code by a search among all."""
import numpy as np
from case import Case, load, rng, store

TYPES = {"e4m3": "f8E4M3FN", "e5m2": "f8E5M2"}
LARGEST = {"e4m3": 448.0, "e5m2": 57344.0}


def numbers(format):
    """What the 256 codes stand for."""
    mantissa, bias = (3, 7) if format == "e4m3" else (2, 15)
    code = np.arange(256)
    exponent, fraction = (code & 0x7F) >> mantissa, code & ((1 << mantissa) - 1)
    size = np.where(exponent > 0, np.ldexp(1.0 + fraction / (1 << mantissa), exponent - bias), np.ldexp(fraction / (1 << mantissa), 1 - bias))
    if format == "e4m3":
        size[(code & 0x7F) == 0x7F] = np.nan
    else:
        size[(code & 0x7F) == 0x7C], size[(code & 0x7F) > 0x7C] = np.inf, np.nan
    return np.where(code & 0x80, -size, size)


def nearest(x, format, saturates):
    """The codes of numbers, ties to the even one. Out of range is NaN or infinity, or the largest number."""
    x = np.asarray(x, np.float64)
    values = numbers(format)[:128]
    count = np.count_nonzero(np.isfinite(values))
    step = values[count - 1] - values[count - 2]
    grid = np.append(values[:count], values[count - 1] + step)  # one more, of an even code in e5m2 and an odd one in e4m3
    size = np.abs(np.where(np.isnan(x), 0, x))
    above = np.clip(np.searchsorted(grid, size), 1, count)
    low, high = size - grid[above - 1], grid[above] - size
    code = np.where((low < high) | ((low == high) & ((above - 1) % 2 == 0)), above - 1, above)
    code = np.where(size >= grid[count], count, code)
    code = np.where(code >= count, count - 1 if saturates else count, code)
    code = np.where(np.isnan(x), 0x7F, code | np.where(np.signbit(x), 0x80, 0))
    return code.astype(np.uint8).view(np.int8)


def drawn(r, shape, format, special=False):
    """Codes of numbers around 1; `special`: of any."""
    codes = nearest(r.standard_normal(shape), format, True)
    if special:
        codes = np.where(r.random(shape) < 0.02, r.integers(0, 256, shape), codes.view(np.uint8)).astype(np.uint8).view(np.int8)
    return codes, numbers(format)[codes.view(np.uint8)]


def widened(name, format):
    return (f"    %{name}n = arith.bitcast %{name} : i8 to {TYPES[format]}\n    %{name}h = arith.extf %{name}n : {TYPES[format]} to f16\n"
            f"    %{name}w = arith.extf %{name}h : f16 to f32\n")


def rounded(value, format, saturates):
    """The code of %value, as %v."""
    code = ""
    if saturates:
        most = LARGEST[format]
        code = (f"    %lo = arith.constant {-most} : f32\n    %hi = arith.constant {most} : f32\n    %ma = arith.maximumf %{value}, %lo : f32\n"
                "    %mi = arith.minimumf %ma, %hi : f32\n")
        value = "mi"
    return code + f"    %vn = arith.truncf %{value} : f32 to {TYPES[format]}\n    %v = arith.bitcast %vn : {TYPES[format]} to i8\n"


def float8_gemm(m, n, k, batch=0, b_columns=True, a_transposed=False, formats=("e4m3", "e4m3"), epilogue=None, open=False, computed=False, special=False):
    """C = A B. `epilogue`: "scaled" by a number for each column, "rounded" to 8 bits behind that. `computed`: the left operand is quantised f32."""
    r = rng(f"float8_gemm {m} {n} {k} {formats}")
    nb = max(batch, 1)
    (a, x), (b, y) = drawn(r, (nb, m, k), formats[0], special), drawn(r, (nb, k, n), formats[1], special)
    given = ("i8", a)
    if computed:
        given = ("f32", r.standard_normal((nb, m, k)).astype(np.float32))
        x = numbers(formats[0])[nearest(given[1], formats[0], True).view(np.uint8)]
    with np.errstate(invalid="ignore"):
        total = x @ y
    ms, ns, ks = ("M", "N", "K") if open else ("M", str(n), str(k))
    a_off = f"{ms}*k + m" if a_transposed else f"{ks}*m + k"
    b_off = f"{ks}*n + k" if b_columns else f"{ns}*k + n"
    c_off, axes = f"{ns}*m + n", [("m", ms), ("n", ns), ("k", ks)]
    if batch:
        a_off, b_off, c_off = f"{ks}*{ms}*z + {a_off}", f"{ks}*{ns}*z + {b_off}", f"{ns}*{ms}*z + {c_off}"
        axes = [("z", "Z" if open else str(batch))] + axes
    body = load("x", "i0", a_off, "i8")
    if computed:
        body = load("x0", "i0", a_off) + rounded("x0", formats[0], True).replace("%v", "%x").replace("%xn", "%xr")
    body += load("y", "i1", b_off, "i8") + widened("x", formats[0]) + widened("y", formats[1])
    body += '    %p = arith.mulf %xw, %yw : f32\n    %c = kernel.reduce add %p over ["k"] : f32\n'
    inputs = [(given[0], given[1].swapaxes(1, 2) if a_transposed else given[1]), ("i8", b.swapaxes(1, 2) if b_columns else b)]
    value, out, want, rtol, atol = "c", "f32", total, 1e-5, 1e-5 * max(k, 1) ** 0.5
    if epilogue:
        factor = (r.uniform(0.5, 1, n) / max(k, 1) ** 0.5).astype(np.float32)
        body += load("f", "i2", "n") + "    %s = arith.mulf %c, %f : f32\n"
        value, want, inputs = "s", total * factor, inputs + [("f32", factor)]
        if epilogue == "rounded":
            body += rounded("s", "e4m3", True)
            value, out, want, atol = "v", "i8", nearest(want.astype(np.float32), "e4m3", True), 1
    body += store(value, "o0", c_off, out)
    sizes = {"M": m, "N": n, "K": k} | ({"Z": batch} if batch else {}) if open else {"M": m}
    return Case("float8_gemm", "reduction", axes, body, sizes, inputs, [(out, want)], rtol, atol)


def float8_window(n, c, f, image, kernel, stride=1, pads=0, formats=("e4m3", "e4m3")):
    """A convolution in two dimensions, channels last, its border of zeros by a predicate of the load. The filter lies as [f][taps][c]."""
    r = rng(f"float8_window {n} {c} {f} {image} {kernel} {stride}")
    (x, xv), (w, wv) = drawn(r, (n, *image, c), formats[0]), drawn(r, (f, *kernel, c), formats[1])
    padded = np.pad(xv, [(0, 0), (pads, pads), (pads, pads), (0, 0)])
    out = [(image[d] + 2 * pads - kernel[d]) // stride + 1 for d in range(2)]
    total = np.zeros((n, *out, f))
    for u, v in np.ndindex(*kernel):
        total += padded[:, u:u + (out[0] - 1) * stride + 1:stride, v:v + (out[1] - 1) * stride + 1:stride] @ wv[:, u, v].T
    h, wd = image
    rows, columns = f"{stride}*p0 + k0 - {pads}", f"{stride}*p1 + k1 - {pads}"
    at = f"{c}*({h * wd}*n + {wd}*({rows}) + {columns}) + c"
    body = load("x", "i0", at, "i8")
    if pads:
        body = "    %zero = arith.constant 0 : i64\n"
        for d, e in enumerate((rows, columns)):
            body += (f'    %a{d} = kernel.index "{e}"\n    %s{d} = arith.constant {image[d]} : i64\n    %l{d} = arith.cmpi sge, %a{d}, %zero : i64\n'
                     f"    %h{d} = arith.cmpi slt, %a{d}, %s{d} : i64\n    %b{d} = arith.andi %l{d}, %h{d} : i1\n")
        body += "    %in = arith.andi %b0, %b1 : i1\n    %fill = arith.constant 0 : i8\n"
        body += f'    %x = kernel.load %i0["{at}"] if %in else %fill : !kernel.ref<i8> else i8 -> i8\n'
    body += load("y", "i1", f"{kernel[0] * kernel[1] * c}*f + {kernel[1] * c}*k0 + {c}*k1 + c", "i8") + widened("x", formats[0]) + widened("y", formats[1])
    body += '    %p = arith.mulf %xw, %yw : f32\n    %total = kernel.reduce add %p over ["k0", "k1", "c"] : f32\n'
    body += store("total", "o0", f"{f * out[0] * out[1]}*n + {out[1] * f}*p0 + {f}*p1 + f")
    axes = [("n", str(n)), ("p0", str(out[0])), ("p1", str(out[1])), ("f", str(f)), ("k0", str(kernel[0])), ("k1", str(kernel[1])), ("c", str(c))]
    return Case("float8_window", "reduction", axes, body, {}, [("i8", x), ("i8", w)], [("f32", total)], 1e-5, 1e-4)


def edges(format):
    """Every number of the format, the middles between neighbours and what lies beside these, what is out of range, NaN."""
    values = numbers(format)[:128]
    values = values[np.isfinite(values)].astype(np.float32)
    middles = (values[1:] + values[:-1]) / 2
    step = values[-1] - values[-2]
    beyond = np.float32([values[-1] + step / 2, values[-1] + step, values[-1] * 2, 3e38, np.inf, 1e-30])
    beside = [np.nextafter(x, np.float32(to)) for x in (middles, beyond[:2]) for to in (0, np.inf)]
    all = np.concatenate([values, middles, beyond, *beside])
    return np.concatenate([all, -all, [np.nan]]).astype(np.float32)


def to_float8(format, saturates, extra=0):
    x = np.concatenate([edges(format), rng("to_float8").standard_normal(extra).astype(np.float32)])
    body = load("x", "i0", "i") + rounded("x", format, saturates) + store("v", "o0", "i", "i8")
    codes = nearest(x, format, saturates)
    case = Case("to_float8", "loop", [("i", "I")], body, {"I": len(x)}, [("f32", x)], [("i8", codes)], 0, 0)
    case.codes_of = format
    return case


def from_float8(format, to):
    codes = np.arange(256).astype(np.uint8).view(np.int8)
    body = load("x", "i0", "i", "i8") + widened("x", format)
    value = {"f32": "xw", "f16": "xh"}[to]
    return Case("from_float8", "loop", [("i", "256")], body + store(value, "o0", "i", to), {}, [("i8", codes)], [(to, numbers(format))], 0, 0)


_g = lambda *a, **o: (lambda: float8_gemm(*a, **o))
_f = lambda *a, **o: (lambda: float8_gemm(*a, **o).with_constant_sizes())
_w = lambda *a, **o: (lambda: float8_window(*a, **o))
MIXED, COARSE = ("e5m2", "e4m3"), ("e5m2", "e5m2")
# By warps: either format of either operand, sizes off the tiles' edges, each operand's lines or depths side by side, odd ones, batches, NaN, infinity.
MMA = [_g(70, 72, 80), _g(33, 50, 19, b_columns=False, formats=MIXED), _g(65, 67, 33, formats=("e4m3", "e5m2")),
       _g(20, 36, 48, batch=3, a_transposed=True, b_columns=False, formats=COARSE), _g(128, 80, 112, a_transposed=True, epilogue="rounded"),
       _g(70, 64, 160, epilogue="scaled", special=True), _g(40, 48, 64, b_columns=False, computed=True), _g(300, 272, 128, b_columns=False),
       _g(64, 96, 8), _g(70, 72, 1), _g(0, 32, 64)]
FEW = [_f(1, 80, 64, formats=MIXED), _f(1, 100, 1029, epilogue="scaled"), _f(3, 130, 2112), _f(4, 200, 608, special=True), _f(2, 33, 300, b_columns=False),
       _f(4, 272, 1300, b_columns=False, epilogue="rounded"), _f(100, 3, 512, b_columns=False, formats=COARSE), _f(90, 1, 704, a_transposed=True),
       _g(2, 263, 1160, open=True), _g(3, 64, 300, b_columns=False), _g(1, 70, 0, open=True)]
OPEN = [_g(65, 63, 40, b_columns=False, open=True), _g(3, 70, 0, open=True), _g(64, 80, 64, open=True, formats=MIXED), _g(64, 96, 144, open=True, epilogue="scaled"),
        _g(17, 33, 65, batch=3, open=True), _g(40, 48, 16, batch=2, b_columns=False, open=True, epilogue="rounded")]
# What bulk copies bring: depths side by side as they lie, or turned by a launch in front; shared tiles, those that take turns, parts of a depth.
WGMMA = [_g(70, 72, 208, epilogue="rounded"), _g(200, 136, 128, formats=MIXED), _g(130, 200, 400, batch=2, formats=("e4m3", "e5m2")), _g(5, 72, 272, epilogue="scaled"),
         lambda: float8_gemm(70, 72, 1040, formats=COARSE).with_constants(1), _g(70, 71, 144, open=True, special=True),
         lambda: float8_gemm(70, 72, 4800, epilogue="scaled").launching("gemm_wgmma_64x64_parts", "gemm_sum_parts"),
         lambda: float8_gemm(1090, 1024, 144, epilogue="scaled").on(8).launching("gemm_wgmma_128x128"),
         lambda: float8_gemm(2890, 192, 64, epilogue="rounded").on(8).launching("gemm_wgmma_128x192"),
         lambda: float8_gemm(1000, 304, 304, b_columns=False).on(1).launching("gemm_align", "gemm_wgmma_128x192_by_160")]
WINDOWS = [_w(2, 32, 40, (9, 7), (3, 3), pads=1), _w(1, 48, 24, (11, 9), (3, 3), stride=2, pads=1, formats=MIXED), _w(2, 12, 20, (8, 7), (3, 3), pads=1),
           _w(2, 64, 72, (7, 7), (1, 1)), _w(2, 128, 40, (9, 7), (3, 3), pads=1)]
CASTS = [lambda f=f, s=s, e=e: to_float8(f, s, e) for f in TYPES for s in (False, True) for e in (0, 1000)]
CASTS += [lambda f=f, t=t: from_float8(f, t) for f in TYPES for t in ("f32", "f16")]
GROUPS = {"float8_mma": MMA, "float8_few": FEW, "float8_open": OPEN, "float8_wgmma": WGMMA, "float8_windows": WINDOWS, "float8_casts": CASTS}
