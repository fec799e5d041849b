"""Sums of products of bytes, for the emulator and for a GPU. Results are exact: the references are numpy's integers, and what follows in f32 is
what numpy computes in f32."""
import numpy as np
from case import Case, load, rng, store


def drawn(r, shape, is_unsigned):
    """Bytes over their whole range, and what they are worth."""
    x = r.integers(0, 256, shape).astype(np.uint8) if is_unsigned else r.integers(-128, 128, shape).astype(np.int8)
    return x.view(np.int8), x.astype(np.int64)


def widened(name, is_unsigned):
    return f"    %{name}w = arith.ext{'u' if is_unsigned else 's'}i %{name} : i8 to i32\n"


def requantised(total, factor, column):
    """What QLinearMatMul does behind the sum: one factor, a rounding, a zero point of 3, the range of a byte."""
    code = (load("f", "i2", column) + f"    %s = arith.sitofp %{total} : i32 to f32\n    %t = arith.mulf %s, %f : f32\n    %r = math.roundeven %t : f32\n"
            "    %z = arith.constant 3.0 : f32\n    %q = arith.addf %r, %z : f32\n    %lo = arith.constant -128.0 : f32\n"
            "    %hi = arith.constant 127.0 : f32\n    %a = arith.maximumf %q, %lo : f32\n    %b = arith.minimumf %a, %hi : f32\n"
            "    %v = arith.fptosi %b : f32 to i8\n")
    return code, lambda y: np.clip(np.rint(y.astype(np.float32) * factor) + np.float32(3), -128, 127), "i8"


def dequantised(total, factor, column):
    code = load("f", "i2", column) + f"    %s = arith.sitofp %{total} : i32 to f32\n    %v = arith.mulf %s, %f : f32\n"
    return code, lambda y: y.astype(np.float32) * factor, "f32"


EPILOGUES = {"requantised": requantised, "dequantised": dequantised}


def bytes_gemm(m, n, k, batch=0, b_columns=False, a_transposed=False, signs="ss", epilogue=None, open=False, computed=False):
    """C = A B of bytes; `signs` of the left and of the right operand, s or u. `open`: every size is a symbol, else the row count is.
    `computed`: the left operand is quantised f32."""
    r = rng(f"bytes_gemm {m} {n} {k} {signs}")
    nb, unsigned = max(batch, 1), [c == "u" for c in signs]
    (a, x), (b, y) = drawn(r, (nb, m, k), unsigned[0]), drawn(r, (nb, k, n), unsigned[1])
    given = ("i8", a)
    if computed:
        numbers = r.standard_normal((nb, m, k)).astype(np.float32) * 9
        x = np.clip(np.rint(numbers), -128, 127).astype(np.int64)
        given = ("f32", numbers)
    total = (x.astype(np.float64) @ y.astype(np.float64)).astype(np.int64) # exact: far below 2^53
    ms, ns, ks = ("M", "N", "K") if open else ("M", str(n), str(k))
    a_off = f"{ms}*k + m" if a_transposed else f"{ks}*m + k"
    b_off = f"{ks}*n + k" if b_columns else f"{ns}*k + n"
    c_off, axes = f"{ns}*m + n", [("m", ms), ("n", ns), ("k", ks)]
    if batch:
        a_off, b_off, c_off = f"{ks}*{ms}*z + {a_off}", f"{ks}*{ns}*z + {b_off}", f"{ns}*{ms}*z + {c_off}"
        axes = [("z", "Z" if open else str(batch))] + axes
    body = load("x", "i0", a_off, given[0])
    if computed:
        body = (load("x0", "i0", a_off) + "    %x1 = math.roundeven %x0 : f32\n    %x2 = arith.constant -128.0 : f32\n    %x3 = arith.constant 127.0 : f32\n"
                "    %x4 = arith.maximumf %x1, %x2 : f32\n    %x5 = arith.minimumf %x4, %x3 : f32\n    %x = arith.fptosi %x5 : f32 to i8\n")
    body += load("y", "i1", b_off, "i8") + widened("x", unsigned[0]) + widened("y", unsigned[1])
    body += '    %p = arith.muli %xw, %yw : i32\n    %c = kernel.reduce add %p over ["k"] : i32\n'
    inputs = [(given[0], given[1].swapaxes(1, 2) if a_transposed else given[1]), ("i8", b.swapaxes(1, 2) if b_columns else b)]
    v, out, want = "c", "i32", total
    if epilogue:
        factor = (r.uniform(0.5, 1, n) * 60 / (74 * 74 * max(k, 1) ** 0.5)).astype(np.float32)
        code, apply, out = EPILOGUES[epilogue]("c", factor, "n")
        body, v, want, inputs = body + code, "v", apply(total), inputs + [("f32", factor)]
    body += store(v, "o0", c_off, out)
    sizes = {"M": m, "N": n, "K": k} | ({"Z": batch} if batch else {}) if open else {"M": m}
    return Case("bytes_gemm", "reduction", axes, body, sizes, inputs, [(out, want)], 0, 0)


def bytes_window(n, c, f, image, kernel, stride=1, pads=0, fill=0, signs="us", last=True, result_last=True, epilogue=None, groups=1, chosen=False):
    """A convolution of bytes in two dimensions, its border of `fill` by a predicate of the load or, `chosen`, by a choice behind it; channels last
    or first. The filter lies as [f][taps][c]."""
    r = rng(f"bytes_window {n} {c} {f} {image} {kernel} {stride}")
    unsigned = [s == "u" for s in signs]
    (x, xv), (w, wv) = drawn(r, (n, *image, c), unsigned[0]), drawn(r, (f, *kernel, c // groups), unsigned[1])
    border = np.int64(fill) if unsigned[0] else np.int64(np.int8(np.uint8(fill)))
    padded = np.pad(xv, [(0, 0), (pads, pads), (pads, pads), (0, 0)], constant_values=border)
    out = [(image[d] + 2 * pads - kernel[d]) // stride + 1 for d in range(2)]
    total, fg, cg = np.zeros((n, *out, f), np.int64), f // groups, c // groups
    for u, v in np.ndindex(*kernel):
        cut = padded[:, u:u + (out[0] - 1) * stride + 1:stride, v:v + (out[1] - 1) * stride + 1:stride]
        for g in range(groups):
            total[..., g * fg:(g + 1) * fg] += cut[..., g * cg:(g + 1) * cg] @ wv[g * fg:(g + 1) * fg, u, v].T
    h, wd = image
    rows, columns = f"{stride}*p0 + k0 - {pads}", f"{stride}*p1 + k1 - {pads}"
    channel = "c" if groups == 1 else f"{cg}*floordiv(f, {fg}) + c"
    place = f"{h * wd}*n + {wd}*({rows}) + {columns}"
    at = f"{c}*({place}) + {channel}" if last else f"{c * h * wd}*n + {h * wd}*({channel}) + {wd}*({rows}) + {columns}"
    body = load("x", "i0", at, "i8")
    if pads:
        body = "    %zero = arith.constant 0 : i64\n"
        for d, e in enumerate((rows, columns)):
            body += (f'    %a{d} = kernel.index "{e}"\n    %s{d} = arith.constant {image[d]} : i64\n    %l{d} = arith.cmpi sge, %a{d}, %zero : i64\n'
                     f"    %h{d} = arith.cmpi slt, %a{d}, %s{d} : i64\n    %b{d} = arith.andi %l{d}, %h{d} : i1\n")
        body += f"    %in = arith.andi %b0, %b1 : i1\n    %fill = arith.constant {int(np.int8(np.uint8(fill)))} : i8\n"
        body += (f'    %x0 = kernel.load %i0["{at}"] if %in : !kernel.ref<i8> -> i8\n    %x = arith.select %in, %x0, %fill : i8\n' if chosen else
                 f'    %x = kernel.load %i0["{at}"] if %in else %fill : !kernel.ref<i8> else i8 -> i8\n')
    body += load("y", "i1", f"{kernel[0] * kernel[1] * cg}*f + {kernel[1] * cg}*k0 + {cg}*k1 + c", "i8") + widened("x", unsigned[0]) + widened("y", unsigned[1])
    body += '    %p = arith.muli %xw, %yw : i32\n    %total = kernel.reduce add %p over ["k0", "k1", "c"] : i32\n'
    inputs = [("i8", x if last else np.ascontiguousarray(np.moveaxis(x, -1, 1))), ("i8", w)]
    value, kind, want = "total", "i32", total
    if epilogue:
        factor = (r.uniform(0.5, 1, f) * 60 / (74 * 74 * (cg * kernel[0] * kernel[1]) ** 0.5)).astype(np.float32)
        code, apply, kind = EPILOGUES[epilogue]("total", factor, "f")
        body, value, want, inputs = body + code, "v", apply(total), inputs + [("f32", factor)]
    pixels = out[0] * out[1]
    body += store(value, "o0", f"{f * pixels}*n + {out[1] * f}*p0 + {f}*p1 + f" if result_last else f"{f * pixels}*n + {pixels}*f + {out[1]}*p0 + p1", kind)
    places = [("p0", str(out[0])), ("p1", str(out[1]))]
    axes = [("n", "N")] + (places + [("f", str(f))] if result_last else [("f", str(f))] + places) + [("k0", str(kernel[0])), ("k1", str(kernel[1])), ("c", str(cg))]
    want = want if result_last else np.ascontiguousarray(np.moveaxis(want, -1, 1))
    return Case("bytes_window", "reduction", axes, body, {"N": n}, inputs, [(kind, want)], 0, 0)


_g = lambda *a, **o: (lambda: bytes_gemm(*a, **o))
_w = lambda *a, **o: (lambda: bytes_window(*a, **o))
_f = lambda *a, **o: (lambda: bytes_gemm(*a, **o).with_constant_sizes())
# Either sign of either operand, sizes off the tiles' edges, each operand's lines or depths side by side, odd ones, batches, what follows the sum.
MMA = [_g(70, 72, 80), _g(33, 50, 19, signs="us"), _g(65, 67, 33, b_columns=True, signs="su"), _g(20, 36, 48, batch=3, a_transposed=True, signs="uu"),
       _g(128, 80, 112, a_transposed=True, b_columns=True, epilogue="requantised"), _g(70, 64, 160, b_columns=True, signs="us", epilogue="dequantised"),
       _g(40, 48, 64, computed=True), _g(37, 129, 64, epilogue="requantised", signs="us"), _g(300, 272, 128, b_columns=True), _g(300, 272, 96, a_transposed=True),
       _g(64, 96, 8), _g(70, 72, 1), _g(9, 12, 5, signs="uu")]
# Few rows or few columns: words of four depths, pieces whose lines are turned, odd ones, lines that a launch in front turns, parts of the depth.
FEW = [_f(1, 80, 64, signs="us"), _f(1, 100, 1029, b_columns=True, epilogue="dequantised"), _f(3, 130, 2112, b_columns=True, signs="su"),
       _f(4, 200, 600, b_columns=True, signs="uu"), _f(2, 33, 300), _f(4, 272, 1300, epilogue="requantised"), _f(100, 3, 512, signs="us"),
       _f(70, 2, 64, b_columns=True), _f(90, 1, 704, a_transposed=True), _f(2, 48, 64, batch=3), _f(1, 1, 3000), _g(5, 64, 300), _g(3, 64, 300), _g(0, 64, 30),
       _g(2, 263, 1160, b_columns=True, open=True), _g(4, 272, 1168, open=True, signs="us"), _g(70, 3, 64, open=True), _g(1, 70, 0, open=True)]
OPEN = [_g(65, 63, 40, open=True), _g(3, 70, 0, open=True), _g(64, 80, 64, b_columns=True, open=True, signs="us"), _g(33, 20, 17, batch=2, a_transposed=True, open=True),
        _g(64, 96, 144, open=True, epilogue="dequantised"), _g(1, 1, 1, open=True), _g(17, 33, 65, b_columns=True, batch=3, open=True, signs="uu"),
        _g(40, 48, 16, batch=2, open=True, epilogue="requantised")]
# What bulk copies bring: depths side by side.
WGMMA = [_g(70, 72, 208, b_columns=True, signs="us", epilogue="requantised"), _g(200, 136, 128, b_columns=True, signs="su"),
         _g(130, 200, 400, b_columns=True, batch=2, signs="uu"), _g(5, 72, 272, b_columns=True, epilogue="dequantised"),
         lambda: bytes_gemm(70, 72, 1040, b_columns=True, signs="us").with_constants(1), _g(70, 71, 144, b_columns=True, open=True),
         # A deep product of few tiles is cut in depth.
         lambda: bytes_gemm(70, 72, 4800, b_columns=True, epilogue="requantised").launching("gemm_wgmma_64x64_parts", "gemm_sum_parts"),
         lambda: bytes_gemm(2890, 192, 192, b_columns=True, epilogue="dequantised", signs="us").on(8).launching("gemm_wgmma_128x128_by_96"),
         _f(300, 336, 256, b_columns=True, epilogue="requantised"), _f(200, 304, 256, b_columns=True, signs="uu")]
# Lines side by side are turned in front where that pays, which it does sooner on a small machine: one operand, both, odd ones, batches, parts.
TURNED = [lambda: bytes_gemm(1000, 304, 304, signs="us", epilogue="requantised").on(1).launching("gemm_align", "gemm_wgmma_128x128_by_112"),
          lambda: bytes_gemm(203, 190, 131, a_transposed=True, signs="su").on(1).launching("gemm_align", "gemm_wgmma_128x128_by_96"),
          lambda: bytes_gemm(131, 139, 99, batch=2, signs="uu").on(1).launching("gemm_align", "gemm_wgmma_128x128_by_80"),
          lambda: bytes_gemm(72, 80, 4800).launching("gemm_mma_64x64_deep"), lambda: bytes_gemm(70, 71, 9603).on(32).launching("gemm_align", "gemm_wgmma_64x64_parts", "gemm_sum_parts"),
          lambda: bytes_gemm(900, 304, 304, open=True, epilogue="dequantised").on(1).launching("gemm_align", "gemm_wgmma_128x128"),
          lambda: bytes_gemm(900, 301, 303, batch=2, open=True).on(1).launching("gemm_align", "gemm_wgmma_128x128")]
# Windows: channels in pieces of 16 bytes and not, borders of zeros and of other numbers, channels first, groups; in pieces of 128 bytes, which bulk
# copies bring.
WINDOWS = [_w(2, 32, 40, (9, 7), (3, 3), pads=1), _w(2, 32, 40, (9, 7), (3, 3), pads=1, fill=113, epilogue="requantised"),
           _w(1, 48, 24, (11, 9), (3, 3), stride=2, pads=1, fill=200, signs="ss", chosen=True), _w(2, 12, 20, (8, 7), (3, 3), pads=1, fill=7, signs="uu"),
           _w(2, 64, 72, (7, 7), (1, 1)), _w(2, 40, 24, (9, 9), (1, 1), stride=2, epilogue="dequantised"), _w(1, 3, 32, (15, 13), (7, 7), stride=2, pads=3, fill=128, last=False),
           _w(2, 24, 40, (8, 9), (3, 3), pads=1, last=False, result_last=False), _w(2, 64, 64, (7, 8), (3, 3), pads=1, fill=5, groups=4), _w(2, 16, 32, (8, 8), (1, 1), last=False, result_last=False)]
_bulk = lambda *a, **o: (lambda: bytes_window(*a, **o).with_constant_sizes())
WINDOWS_BULK = [lambda: bytes_window(2, 128, 40, (9, 7), (3, 3), pads=1, epilogue="requantised").with_constant_sizes().launching("gemm_wgmma_64x64_by_48"),
                _bulk(1, 256, 24, (11, 9), (3, 3), stride=2, pads=1, signs="ss"), _bulk(2, 96, 136, (6, 7), (3, 3), pads=1), _bulk(2, 128, 72, (7, 7), (1, 1), stride=2, epilogue="requantised"),
                # No copy makes a border of other numbers.
                lambda: bytes_window(2, 128, 40, (9, 7), (3, 3), pads=1, fill=9).with_constant_sizes().launching("gemm_mma_64x64_deep")]
# For a GPU only.
def large(m, n, k, b_columns=True, epilogue=None):
    turned = lambda b: b.transpose(1, 2) if b_columns else b
    return bytes_gemm(m, n, k, b_columns=b_columns, epilogue=epilogue).timed(2.0 * m * n * k, torch=lambda torch, x: lambda: torch._int_mm(x[0][0], turned(x[1])[0]))


SPEED = [lambda: large(4096, 4096, 4096), lambda: large(4096, 4096, 4096, b_columns=False), lambda: large(2048, 2048, 2048), lambda: large(1024, 3072, 768),
         lambda: large(1024, 768, 3072, epilogue="requantised"), lambda: large(8192, 1024, 4096, epilogue="dequantised"), lambda: large(32, 4096, 4096)]
GROUPS = {"bytes_speed": SPEED, "bytes_windows": WINDOWS, "bytes_windows_bulk": WINDOWS_BULK, "bytes_turned": TURNED, "bytes_mma": MMA, "bytes_few": FEW, "bytes_open": OPEN, "bytes_wgmma": WGMMA}
