"""Kernels with inputs and numpy references, for the emulator here and for a GPU (test/Device).

References are computed in float64."""
import numpy as np
import byte_cases
import coded_cases
import float8_cases
import ordered_cases
import strip_cases
import transform_cases
from case import TYPES, Case, constant, from_bf16, load, rng, store, to_bf16
from row_cases import (softmax, open_rows, open_loop, open_concat, open_line, same_in_all_columns, layer_norm,
                       column_sum, place_of_extremum, row_sum, kept_columns, projection, group_norm, gelu_add, embedding_sum, weighted_rows)


def transpose(a, b):
    r = rng("transpose")
    x = r.standard_normal((a, b)).astype(np.float32)
    body = load("x", "i0", "B*a + b") + store("x", "o0", "A*b + a")
    return Case("transpose", "loop", [("a", "A"), ("b", "B")], body, {"A": a, "B": b}, [("f32", x)], [("f32", x.T)])


def permuted(n, a, b, t="f32", fixed=False, add=False):
    """Each of n matrices transposed, and another operand added in the order of the result."""
    r = rng("permuted")
    kind = TYPES.get(t, np.float32)
    x, y = (r.integers(-99, 99, s).astype(kind) for s in ((n, a, b), (b, a)))
    sizes = {"N": n, "A": a, "B": b}
    name = (lambda s: str(sizes[s])) if fixed else (lambda s: s)
    A, B = name("A"), name("B")
    op = "arith.addi" if t.startswith("i") else "arith.addf"
    body = load("x", "i0", f"{A}*{B}*n + {B}*a + b", t)
    if add:
        body += load("y", "i1", f"{A}*b + a", t) + f"    %z = {op} %x, %y : {t}\n"
    body += store("z" if add else "x", "o0", f"{A}*{B}*n + {A}*b + a", t)
    turned = x.transpose(0, 2, 1)
    return Case("permuted", "loop", [("n", name("N")), ("b", B), ("a", A)], body, {} if fixed else sizes,
                [(t, x), (t, y)][:2 if add else 1], [(t, turned + y if add else turned)], 1e-2 if t == "bf16" else 0, 0)


def embedding(n, rows, c):
    r = rng("embedding")
    ids = r.integers(0, rows, n).astype(np.int64)
    table = r.standard_normal((rows, c)).astype(np.float32)
    body = (load("i", "i0", "n", "i64") +
            f'    %x = kernel.load %i1["{c}*$0 + c"] indirect(%i) : !kernel.ref<f32> -> f32\n' + store("x", "o0", f"{c}*n + c"))
    return Case("embedding", "loop", [("n", "N"), ("c", str(c))], body, {"N": n}, [("i64", ids), ("f32", table)],
                [("f32", table[ids])])


def causal_mask(n):
    """Index values, booleans in memory, a predicated load."""
    r = rng("mask")
    x = r.standard_normal((n, n)).astype(np.float32)
    keep = r.integers(0, 2, n).astype(np.bool_)
    body = ('    %i = kernel.index "i"\n    %j = kernel.index "j"\n    %p = arith.cmpi sle, %j, %i : i64\n' + load("k", "i1", "j", "i1") +
            "    %q = arith.andi %p, %k : i1\n    %z = arith.constant -1.0 : f32\n"
            '    %x = kernel.load %i0["N*i + j"] if %p else %z : !kernel.ref<f32> else f32 -> f32\n' + store("x", "o0", "N*i + j") +
            store("q", "o1", "N*i + j", "i1"))
    low = np.tril(np.ones((n, n), bool))
    return Case("causal_mask", "loop", [("i", "N"), ("j", "N")], body, {"N": n}, [("f32", x), ("i1", keep)],
                [("f32", np.where(low, x, -1)), ("i1", low & keep[None, :])])



EPILOGUES = {
    "none": (lambda c: "", lambda y, b: y),
    "bias_relu": (lambda c: load("bias", "i2", c) + "    %t = arith.addf %y, %bias : f32\n    %zero = arith.constant 0.0 : f32\n"
                  "    %v = arith.maximumf %t, %zero : f32\n", lambda y, b: np.maximum(y + b, 0)),
    "residual": (lambda c: load("other", "i2", c) + "    %v = arith.addf %y, %other : f32\n", lambda y, b: y + b),
}


def _sum_of(t):
    return "f64" if t == "f64" else "f32"


def _drawn(t):
    return np.float64 if t == "f64" else np.float32


def gemm(m, n, k, batch=0, b_columns=False, a_transposed=False, epilogue="none", t="f32", out="f32", packed=False, fixed_m=False):
    """C = A B (+ epilogue); `b_columns`: B lies as [n][k]. The row count is a symbol."""
    r = rng("gemm")
    nb = max(batch, 1)
    a, b = (r.standard_normal((nb, m, k)).astype(_drawn(t)), r.standard_normal((nb, k, n)).astype(_drawn(t)) / np.sqrt(k))
    if t == "bf16":
        a, b = from_bf16(to_bf16(a)), from_bf16(to_bf16(b))
    if t == "f16":
        a, b = a.astype(np.float16).astype(np.float32), b.astype(np.float16).astype(np.float32)
    bias = r.standard_normal(n).astype(np.float32)
    want = a.astype(np.float64) @ b.astype(np.float64)
    ms = str(m) if fixed_m else "M"
    a_off = f"{ms}*k + m" if a_transposed else f"{k}*m + k"
    b_off = f"{k}*n + k" if b_columns else f"{n}*k + n"
    c_off, axes = f"{n}*m + n", [("m", ms), ("n", str(n)), ("k", str(k))]
    if batch:
        a_off, b_off, c_off = f"{k}*{ms}*z + {a_off}", f"{k * n}*z + {b_off}", f"{n}*{ms}*z + {c_off}"
        axes = [("z", str(batch))] + axes
    residual = epilogue == "residual" # what is added at every row and column
    if residual:
        bias = r.standard_normal((nb, m, n)).astype(np.float32)
    code, apply = EPILOGUES[epilogue]
    body = (f'    %y = kernel.contract %i0["{a_off}"], %i1["{b_off}"] over ["k"]{" packed {n_panel = 0}" if packed else ""} : '
            f"(!kernel.ref<{t}>, !kernel.ref<{t}>) -> {_sum_of(t)}\n" + code(c_off if residual else "n"))
    v = "v" if epilogue != "none" else "y"
    if out != _sum_of(t):
        body += f"    %w = arith.truncf %{v} : f32 to {out}\n"
        v = "w"
    body += store(v, "o0", c_off, out)
    aa, bb = (a.swapaxes(1, 2) if a_transposed else a), (b.swapaxes(1, 2) if b_columns else b)
    inputs = [(t, aa), (t, bb)] + ([("f32", bias)] if epilogue != "none" else [])
    tol = {"f32": 2e-5, "f64": 1e-12}.get(t, 1e-2) if out == t else 1e-2
    return Case("gemm", "contraction", axes, body, {} if fixed_m else {"M": m}, inputs, [(out, apply(want, bias))], tol, tol)


def open_gemm(m, n, k, batch=0, b_columns=False, a_transposed=False, t="f32", out="f32", relu=False):
    """The same with every size a symbol."""
    r = rng(f"open_gemm {m} {n} {k}")
    nb = max(batch, 1)
    a, b = r.standard_normal((nb, m, k)).astype(_drawn(t)), r.standard_normal((nb, k, n)).astype(_drawn(t)) / max(k, 1)**0.5
    if t == "bf16":
        a, b = from_bf16(to_bf16(a)), from_bf16(to_bf16(b))
    if t == "f16":
        a, b = a.astype(np.float16).astype(np.float32), b.astype(np.float16).astype(np.float32)
    want = a.astype(np.float64) @ b.astype(np.float64)
    z = ("K*M*z + ", "K*N*z + ", "M*N*z + ") if batch else ("", "", "")
    body = (f'    %y = kernel.contract %i0["{z[0]}{"M*k + m" if a_transposed else "K*m + k"}"], '
            f'%i1["{z[1]}{"K*n + k" if b_columns else "N*k + n"}"] over ["k"] : (!kernel.ref<{t}>, !kernel.ref<{t}>) -> {_sum_of(t)}\n')
    v = "y"
    if relu:
        body += "    %zero = arith.constant 0.0 : f32\n    %v = arith.maximumf %y, %zero : f32\n"
        v, want = "v", np.maximum(want, 0)
    if out != _sum_of(t):
        body += f"    %w = arith.truncf %{v} : f32 to {out}\n"
        v = "w"
    body += store(v, "o0", z[2] + "N*m + n", out)
    axes = ([("z", "Z")] if batch else []) + [("m", "M"), ("n", "N"), ("k", "K")]
    sizes = {"M": m, "N": n, "K": k} | ({"Z": batch} if batch else {})
    inputs = [(t, a.swapaxes(1, 2) if a_transposed else a), (t, b.swapaxes(1, 2) if b_columns else b)]
    tol = {"f32": 2e-5, "f64": 1e-12}.get(t, 1e-2) if out == t else 1e-2
    return Case("open_gemm", "contraction", axes, body, sizes, inputs, [(out, want)], tol, tol)


def window(n, c, f, image, kernel, stride=1, dilation=1, pads=0, groups=1, t="f32", bias=False, open=False,
           last=False, result_last=None, fixed=False):
    """A convolution as Fuse writes it: channels first, borders by a predicate; `pads` in front and behind, one pair for all.
    With `last` the channels lie last, as between kernels; the result's may differ (`result_last`). The number of images is open unless `fixed`."""
    r = rng(f"window {n} {c} {f} {image} {kernel} {stride}")
    rank = len(image)
    per = lambda v: list(v) if isinstance(v, (list, tuple)) else [v] * rank
    stride, dilation = per(stride), per(dilation)
    before, behind = pads if isinstance(pads, tuple) else (pads, pads)
    x, w = r.standard_normal((n, c, *image)).astype(np.float32), r.standard_normal((f, c // groups, *kernel)).astype(np.float32)
    w /= np.sqrt(w[0].size)
    b = r.standard_normal(f).astype(np.float32)
    if t != "f32":
        x, w = (from_bf16(to_bf16(v)) if t == "bf16" else v.astype(np.float16).astype(np.float32) for v in (x, w))
    out = [(i + before + behind - dilation[d] * (kernel[d] - 1) - 1) // stride[d] + 1 for d, i in enumerate(image)]
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0)] + [(before, behind)] * rank)
    want = np.zeros((n, f, *out))
    fg, cg = f // groups, c // groups
    for at in np.ndindex(*kernel):
        cut = tuple(slice(a * dilation[d], a * dilation[d] + (out[d] - 1) * stride[d] + 1, stride[d]) for d, a in enumerate(at))
        for g in range(groups):
            want[:, g * fg:(g + 1) * fg] += np.einsum("nc...,fc->nf...", padded[(slice(None), slice(g * cg, (g + 1) * cg)) + cut],
                                                      w[(slice(g * fg, (g + 1) * fg), slice(None)) + at].astype(np.float64))
    if bias:
        want += b.reshape(1, f, *[1] * rank)
    sizes = [f"I{d}" for d in range(rank)] if open else [str(i) for i in image]
    extents = [f"O{d}" for d in range(rank)] if open else [str(i) for i in out]
    flat = lambda terms, dims: " + ".join("*".join([f"({e})"] + [str(x) for x in dims[i + 1:]]) for i, e in enumerate(terms))
    pixel = [f"{stride[d]}*p{d} + {dilation[d]}*k{d} - {before}" for d in range(rank)]
    channel = "c" if groups == 1 else f"{cg}*floordiv(f, {fg}) + c"
    ext, code, inside = t != "f32", "", None
    for d in range(rank):
        code += (f'    %a{d} = kernel.index "{pixel[d]}"\n    %s{d} = kernel.index "{sizes[d]}"\n    %z{d} = arith.constant 0 : i64\n'
                 f"    %l{d} = arith.cmpi sge, %a{d}, %z{d} : i64\n    %h{d} = arith.cmpi slt, %a{d}, %s{d} : i64\n"
                 f"    %b{d} = arith.andi %l{d}, %h{d} : i1\n")
        if inside:
            code += f"    %c{d} = arith.andi %{inside}, %b{d} : i1\n"
        inside = f"c{d}" if inside else f"b{d}"
    behind_pixels = lambda v: [v[0]] + v[2:] + [v[1]]
    result_last = last if result_last is None else result_last
    turn, turn_result = ((behind_pixels if l else lambda v: v) for l in (last, result_last))
    images = str(n) if fixed else "N"
    at = flat(turn(["n", channel] + pixel), turn([images, c] + sizes))
    if before or behind:
        code += (f"    %fill = arith.constant 0.0 : {t}\n"
                 f'    %x = kernel.load %i0["{at}"] if %{inside} else %fill : !kernel.ref<{t}> else {t} -> {t}\n')
    else:
        code = load("x", "i0", at, t)
    code += load("w", "i1", flat(turn(["f", "c"] + [f"k{d}" for d in range(rank)]), turn([f, cg, *kernel])), t)
    code += f"    %p = arith.mulf %x, %w : {t}\n" + (f"    %q = arith.extf %p : {t} to f32\n" if ext else "")
    over = ", ".join(f'"{a}"' for a in ["c"] + [f"k{d}" for d in range(rank)])
    code += f'    %y = kernel.reduce add %{"q" if ext else "p"} over [{over}] : f32\n'
    v = "y"
    if bias:
        code += load("bias", "i2", "f") + "    %v = arith.addf %y, %bias : f32\n"
        v = "v"
    if ext:
        code += f"    %r = arith.truncf %{v} : f32 to {t}\n"
        v = "r"
    code += store(v, "o0", flat(turn_result(["n", "f"] + [f"p{d}" for d in range(rank)]), turn_result([images, f] + extents)), t)
    pixels, taps = [(f"p{d}", e) for d, e in enumerate(extents)], [(f"k{d}", str(k)) for d, k in enumerate(kernel)]
    axes = turn_result([("n", images), ("f", str(f))] + pixels) + (taps + [("c", str(cg))] if last else [("c", str(cg))] + taps)
    given = ({} if fixed else {"N": n}) | ({f"I{d}": i for d, i in enumerate(image)} | {f"O{d}": o for d, o in enumerate(out)} if open else {})
    given = {k: v for k, v in given.items() if open or k == "N"}
    move = lambda v, l: np.ascontiguousarray(np.moveaxis(v, 1, -1)) if l else v
    x, w, want = move(x, last), move(w, last), move(want, result_last)
    tol = 2e-5 if t == "f32" else 2e-2
    return Case("window", "reduction", axes, code, given, [(t, x), (t, w)] + ([("f32", b)] if bias else []), [(t, want)], tol, tol)


def convolution(n, h, w, c, f, stride):
    """3x3, no padding, NHWC, weights [kh][kw][c][f]."""
    r = rng("convolution")
    x = r.standard_normal((n, h, w, c)).astype(np.float32)
    wt = r.standard_normal((3, 3, c, f)).astype(np.float32) / np.sqrt(9 * c)
    oh, ow = (h - 3) // stride + 1, (w - 3) // stride + 1
    want = np.zeros((n, oh, ow, f))
    for i in range(3):
        for j in range(3):
            want += x[:, i:i + oh * stride:stride, j:j + ow * stride:stride].astype(np.float64) @ wt[i, j].astype(np.float64)
    a_off = f"{c}*({stride}*ow + kw) + {c * w}*({stride}*oh + kh) + {c * w * h}*b + c"
    b_off = f"{f}*c + {f * c}*kw + {3 * f * c}*kh + f"
    body = (f'    %y = kernel.contract %i0["{a_off}"], %i1["{b_off}"] over ["kh", "kw", "c"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32\n' +
            store("y", "o0", f"{f}*ow + {f * ow}*oh + {f * ow * oh}*b + f"))
    axes = [("b", "N"), ("oh", str(oh)), ("ow", str(ow)), ("f", str(f)), ("kh", "3"), ("kw", "3"), ("c", str(c))]
    return Case("convolution", "contraction", axes, body, {"N": n}, [("f32", x), ("f32", wt)], [("f32", want)])


ROWS = [lambda: same_in_all_columns(6, 4), lambda: same_in_all_columns(5, 96), lambda: same_in_all_columns(3, 1000), lambda: softmax(5, 100), lambda: softmax(3, 3000), lambda: softmax(70, 1), lambda: layer_norm(7, 768),
        lambda: layer_norm(3, 4096), lambda: layer_norm(9, 64), lambda: layer_norm(2, 1000), lambda: layer_norm(5, 7),
        lambda: layer_norm(6, 1024, "bf16"), lambda: column_sum(300, 40), lambda: column_sum(70, 33), lambda: projection(3, 2, 4, 64),
        lambda: group_norm(2, 3, 4, 20), lambda: gelu_add(9, 52), lambda: transpose(37, 50), lambda: embedding(11, 30, 24),
        lambda: causal_mask(13),
        # Sums over places of a table, of which a row lies side by side.
        lambda: embedding_sum(7, 20, 50, 64), lambda: embedding_sum(3, 70, 50, 36), lambda: weighted_rows(24, 10, 40, 96),
        # Rows of constant length that blocks of a cluster share.
        lambda: softmax(3, 8196, fixed=True), lambda: softmax(2, 33000, fixed=True), lambda: softmax(20, 40000, fixed=True)]
# Rows that wait in shared memory, on few multiprocessors, whose blocks (or clusters of them) have several each, one of them maybe one less: of one and several blocks, open and
# fixed, whole accesses and odd ones, and of elements too narrow to come by themselves.
ROWS_IN_TURN = [lambda: softmax(7, 33000, fixed=True).on(4), lambda: softmax(5, 16600, fixed=True).on(2), lambda: layer_norm(8, 20000, "bf16").on(1),
                lambda: layer_norm(6, 33000, "bf16").on(2), lambda: open_rows(7, 32776).on(4), lambda: open_rows(9, 131080).on(12), lambda: softmax(5, 9001, fixed=True).on(1),
                lambda: layer_norm(4, 17001, "bf16").on(1), lambda: group_norm(3, 3, 4, 5000).on(2), lambda: open_rows(10, 20000).on(1), lambda: softmax(0, 33000).on(1)]
# Rows of open length: around those that each entry point takes, with wide accesses and without.
OPEN_ROWS = ([lambda c=c: open_rows(3, c) for c in (1, 8, 9, 16, 17, 63, 64, 65, 72, 128, 136, 256, 264, 1024, 1032, 1023, 1025, 2047, 2051, 4096, 4104, 16384, 16392, 32768, 32776, 131080, 262152)] +
             [lambda c=c: open_rows(5, c, "f32") for c in (4, 32, 36, 100, 128, 132, 2052)] + [lambda: open_rows(2, 0)] +
             [lambda: softmax(3, 512), lambda: open_loop(5, 64), lambda: open_loop(5, 63), lambda: open_loop(7, 8), lambda: open_loop(3, 20, "f32"),
              lambda: open_loop(0, 8), lambda: open_loop(40, 63), lambda: open_loop(300, 7, "f32")] +
             [lambda b=b: open_concat(3, b) for b in (0, 1, 4, 7, 8, 12, 64)] + [lambda n=n: open_line(n) for n in (0, 1, 3, 4, 7, 1026, 1027)] + [lambda n=n: open_line(n, "bf16") for n in (1, 8, 13, 2051)])
def forced(case, schedule, when=""):
    """The case by one schedule, where the condition holds, and the general one elsewhere."""
    general = "#schedule.case<#schedule.threads<>>"
    one = f"#schedule.case<{repr(when).replace(chr(39), chr(34)) + ', ' if when else ''}#schedule.threads<{schedule}>>"
    case.attributes = f"attributes {{schedule.cases = [{one + ', ' + general if when else one}]}} "
    return case


# Rows side by side that wait in shared memory: of each number of threads, of blocks of a cluster, of widths, and longer than there is room for.
KEPT_COLUMNS = ([lambda l=l, c=c, t=t: kept_columns(2, l, c, t, fixed=True) for l, c, t in
                 ((64, 40, "f32"), (129, 256, "bf16"), (300, 33, "f32"), (700, 36, "bf16"), (1100, 24, "bf16"), (2500, 20, "f32"), (5000, 9, "bf16"))] +
                [lambda l=l, c=c, t=t: kept_columns(3, l, c, t) for l, c, t in
                 ((1, 8, "bf16"), (65, 256, "bf16"), (140, 12, "f32"), (260, 7, "f32"), (513, 40, "bf16"), (1030, 5, "bf16"), (2100, 8, "bf16"), (9000, 8, "bf16"))])
# Each schedule of a row at lengths that fill it, that do not, and that it is not for.
FORCED_ROWS = ([lambda c=c, s=s: forced(open_rows(3, c), s) for c in (1, 63, 136, 2056) for s in ("row = 8, persist = 0", "row = 32, persist = 0", "row = 256, persist = 0")] +
               [lambda c=c: forced(open_rows(3, c), "row = 32, persist = 3", "mod(C, 8) = 0 and 0 < C and C <= 768") for c in (8, 512, 768, 776, 765)] +
               [lambda c=c: forced(open_rows(3, c), "row = 128, persist = 2", "mod(C, 8) = 0 and C = 2048") for c in (2048, 2040)] +
               [lambda c=c: forced(open_rows(3, c, "f32"), "keep = 1", "0 < C and C <= 8192") for c in (1, 515, 8192, 8193)])
GEMMS = [lambda: gemm(70, 72, 40), lambda: gemm(33, 50, 19), lambda: gemm(65, 64, 33, b_columns=True, epilogue="bias_relu"),
         lambda: gemm(20, 36, 24, batch=3, a_transposed=True), lambda: gemm(128, 68, 16, epilogue="bias_relu", t="bf16", out="bf16"),
         lambda: gemm(3, 8, 40), lambda: gemm(2, 50, 300, fixed_m=True), lambda: gemm(40, 1, 64, b_columns=True),
         lambda: gemm(1300, 1024, 8), lambda: gemm(70, 72, 40, packed=True, b_columns=True),
         lambda: convolution(2, 9, 8, 5, 6, 1), lambda: convolution(1, 11, 11, 4, 8, 2)]
# Few tiles of a long depth, in f32 by threads: parts of the depth, of which the last one may be empty.
_parts = ("gemm_simt_64x64_parts", "gemm_sum_parts")
GEMM_PARTS = [lambda: gemm(70, 72, 1000).on(132).launching(*_parts), lambda: gemm(65, 64, 1033, b_columns=True, epilogue="bias_relu").on(132).launching(*_parts), lambda: gemm(33, 50, 700).on(16),
              lambda: gemm(20, 36, 900, batch=3, a_transposed=True).on(132), lambda: gemm(64, 63, 520, epilogue="residual").on(9),
              lambda: open_gemm(70, 72, 1000).on(132).launching(*_parts), lambda: open_gemm(70, 71, 999, batch=2, relu=True).on(132).launching("gemm_simt_64x64_any"), lambda: open_gemm(65, 66, 40).on(132).launching("gemm_simt_64x64_any"),
              lambda: open_gemm(40, 40, 5000, b_columns=True, out="f16").on(132)]
# Few rows or few columns: 1, fewer than there are sums for, odd ones; depths that warps share and that blocks share; batches.
FEW_LINES = [lambda: gemm(1, 72, 40, fixed_m=True), lambda: gemm(1, 100, 1029, fixed_m=True, b_columns=True, epilogue="bias_relu"),
             lambda: gemm(3, 130, 2100, fixed_m=True, b_columns=True), lambda: gemm(16, 200, 600, fixed_m=True, b_columns=True),
             lambda: gemm(11, 260, 1300, fixed_m=True, epilogue="bias_relu"), lambda: gemm(2, 33, 300, fixed_m=True),
             lambda: gemm(100, 16, 520, fixed_m=True), lambda: gemm(70, 5, 64, b_columns=True), lambda: gemm(90, 1, 700, a_transposed=True),
             lambda: gemm(2, 40, 64, batch=3, fixed_m=True, b_columns=True), lambda: gemm(4, 136, 1000, batch=2, fixed_m=True),
             lambda: gemm(1, 1, 3000, fixed_m=True), lambda: gemm(5, 64, 300), lambda: gemm(1, 64, 300, b_columns=True), lambda: gemm(0, 64, 30),
             lambda: open_gemm(3, 70, 0), lambda: open_gemm(1, 264, 1160), lambda: open_gemm(2, 263, 1160, b_columns=True, relu=True),
             lambda: open_gemm(13, 132, 516, b_columns=True), lambda: open_gemm(16, 70, 17, batch=2), lambda: open_gemm(17, 70, 40)]
# All sizes open, and the columns few.
FEW_COLUMNS = [lambda: open_gemm(70, 5, 40), lambda: open_gemm(40, 16, 132), lambda: open_gemm(33, 3, 65), lambda: open_gemm(20, 4, 0), lambda: open_gemm(19, 2, 72, batch=2),
               lambda: open_gemm(50, 3, 136, b_columns=True), lambda: open_gemm(21, 16, 33, a_transposed=True)]
FEW_LINES_HALVES = [lambda: gemm(300, 3, 264, t="bf16", fixed_m=True), lambda: open_gemm(5, 40, 2400, t="bf16"), lambda: open_gemm(12, 41, 2400, t="bf16"),
                    lambda: gemm(1, 300, 1200, t="bf16", out="bf16", fixed_m=True, b_columns=True), lambda: gemm(4, 264, 1200, t="bf16", fixed_m=True),
                    lambda: gemm(3, 65, 129, t="bf16", fixed_m=True), lambda: gemm(200, 2, 264, t="bf16", b_columns=True),
                    lambda: open_gemm(1, 72, 200, t="bf16", out="bf16"), lambda: open_gemm(4, 71, 200, t="bf16", b_columns=True),
                    lambda: open_gemm(5, 72, 200, t="bf16", b_columns=True), lambda: open_gemm(0, 72, 200, t="bf16")]
GEMMS_F64 = [lambda: gemm(70, 72, 40, t="f64", out="f64"), lambda: gemm(65, 67, 33, t="f64", out="f64", b_columns=True), lambda: gemm(20, 36, 24, batch=3, a_transposed=True, t="f64", out="f64"),
             lambda: open_gemm(130, 66, 18, t="f64", out="f64"), lambda: open_gemm(33, 20, 17, batch=2, a_transposed=True, t="f64", out="f64"), lambda: open_gemm(3, 70, 0, t="f64", out="f64")]
WGMMA = [lambda: gemm(70, 72, 200, t="bf16", b_columns=True, epilogue="residual"),
         lambda: gemm(100, 136, 64, batch=3, t="f16", out="f16", epilogue="residual"), lambda: gemm(5, 72, 200, t="bf16", b_columns=True, epilogue="bias_relu"), lambda: gemm(12, 16, 136, batch=2, t="f16", b_columns=True),
         lambda: gemm(200, 136, 128, t="bf16", b_columns=True), lambda: gemm(70, 64, 200, t="f16", out="f16", epilogue="bias_relu"),
         lambda: gemm(100, 72, 64, batch=3, t="bf16", out="bf16"), lambda: gemm(300, 200, 64, batch=2, t="f16", b_columns=True),
         lambda: gemm(70, 72, 200, t="bf16", b_columns=True, epilogue="bias_relu").with_constants(1),
         lambda: gemm(70, 72, 1100, t="bf16").with_constants(1),
         # Rows that lie side by side, on either side of a tile's border, and beside either form of the right operand.
         lambda: gemm(72, 72, 200, a_transposed=True, t="bf16", epilogue="bias_relu"), lambda: gemm(136, 70, 64, batch=2, a_transposed=True, t="f16", b_columns=True, out="f16"),
         lambda: gemm(2888, 190, 64, a_transposed=True, t="bf16", b_columns=True, out="bf16").with_constants(1),
         # Lines that begin anywhere are copied where that pays, which it does sooner on a small machine: one operand, both, in either
         # order, as batches, in parts of the depth.
         lambda: gemm(200, 190, 131, t="bf16", epilogue="bias_relu").on(1).launching("gemm_align", "gemm_wgmma_128x192"),
         lambda: gemm(130, 72, 203, t="f16", b_columns=True, out="f16").on(1).launching("gemm_align", "gemm_wgmma_128x128_by_80"),
         lambda: gemm(203, 136, 96, batch=2, a_transposed=True, t="bf16", out="bf16").on(1).launching("gemm_align", "gemm_wgmma_128x192_by_144"),
         lambda: gemm(70, 72, 4200, a_transposed=True, t="bf16").on(16).launching("gemm_align", "gemm_wgmma_64x64_parts", "gemm_sum_parts"),
         lambda: open_gemm(200, 191, 133, t="bf16", out="bf16").on(1).launching("gemm_align", "gemm_wgmma_128x192"),
         lambda: open_gemm(150, 180, 97, batch=2, t="f16", b_columns=True, relu=True).on(1).launching("gemm_align", "gemm_wgmma_128x192"),
         lambda: open_gemm(199, 200, 129, a_transposed=True, t="bf16", out="bf16").on(1).launching("gemm_align", "gemm_wgmma_128x128"),
         lambda: open_gemm(200, 191, 133, t="bf16").launching("gemm_mma_64x64"),
         # Blocks of two rows of tiles bring the right operand together, in either order of it; of three rows each brings its own.
         lambda: open_gemm(256, 256, 1112, t="bf16", out="bf16").on(2).launching("gemm_wgmma_128x256"),
         lambda: open_gemm(200, 512, 1104, t="f16", b_columns=True, relu=True).on(2).launching("gemm_wgmma_128x256"),
         lambda: open_gemm(300, 248, 1112, t="bf16", b_columns=True).on(1).launching("gemm_wgmma_128x256"),
         # Known columns that are no multiple of a tile's are tiles of equal parts, by columns and by lines, stored in 64, 32 and 16 columns.
         lambda: gemm(256, 784, 72, batch=2, t="bf16", out="bf16").with_constant_sizes().on(4).launching("gemm_wgmma_128x128_by_112"),
         lambda: gemm(250, 784, 72, t="f16", b_columns=True, out="f16", epilogue="bias_relu").with_constant_sizes().on(2).launching("gemm_wgmma_128x128_by_112"),
         lambda: gemm(130, 200, 64, t="bf16").with_constant_sizes().on(2).launching("gemm_wgmma_128x128_by_112"),
         lambda: gemm(70, 136, 200, t="f16", b_columns=True).with_constant_sizes().on(4).launching("gemm_wgmma_64x96_by_80"),
         # A deep product of few tiles is cut in depth.
         lambda: gemm(70, 72, 4200, t="bf16", b_columns=True, epilogue="bias_relu").with_constants(1),
         lambda: gemm(20, 40, 2560, batch=2, t="f16", out="f16"),
         # Enough tiles for the machine to take the larger ones.
         lambda: gemm(2890, 190, 64, t="bf16", b_columns=True, out="bf16").with_constants(1),
         lambda: gemm(5830, 380, 64, t="f16", b_columns=True, out="f16", epilogue="bias_relu")]

# On 7.5 the tensor cores take f16; on 9.0 these are layouts that bulk copies cannot fetch.
MMA = [lambda: gemm(70, 72, 40, t="f16"), lambda: gemm(33, 50, 19, t="f16"), lambda: gemm(65, 67, 33, t="f16", b_columns=True, epilogue="bias_relu"),
       lambda: gemm(20, 36, 24, batch=3, a_transposed=True, t="f16", out="f16"), lambda: gemm(128, 70, 100, a_transposed=True, t="bf16", out="bf16"),
       lambda: gemm(1290, 1030, 40, t="f16", b_columns=True)]

# Tiles that have a multiprocessor for themselves, which reads ahead over the ends of steps: edges of rows, columns and depth, one step of it and fewer than stages.
MMA_WIDE = [lambda: open_gemm(250, 1000, 136, t="f16", out="f16", relu=True).on(1).launching("gemm_mma_128x256"),
            lambda: open_gemm(256, 504, 24, t="bf16", b_columns=True).on(1).launching("gemm_mma_128x256"),
            lambda: open_gemm(248, 512, 72, t="bf16", a_transposed=True).on(1).launching("gemm_mma_128x256"),
            lambda: gemm(500, 1024, 40, t="f16", out="f16", epilogue="bias_relu").on(2).launching("gemm_mma_128x256"),
            lambda: byte_cases.bytes_gemm(256, 496, 160, open=True).on(1).launching("gemm_mma_128x256"),
            lambda: window(2, 32, 512, (12, 11), (3, 3), pads=1, t="f16", bias=True, last=True, open=True).on(1).launching("gemm_mma_128x256")]

# A deep product of few tiles by warps: parts of the depth, of which the last one may be empty; as batches, with constant sizes, of bytes, a product of any sizes beside one that is cut.
_warp_parts = ("gemm_mma_64x64_parts", "gemm_sum_parts")
MMA_PARTS = [lambda: gemm(70, 72, 4200, t="f16", b_columns=True, epilogue="bias_relu").on(16).launching(*_warp_parts),
             lambda: gemm(64, 64, 4168, t="bf16", epilogue="residual").on(132).launching(*_warp_parts),
             lambda: gemm(40, 136, 5000, batch=3, t="f16", out="f16", a_transposed=True).on(40).launching(*_warp_parts),
             lambda: gemm(70, 72, 4200, t="bf16").with_constants(1).on(16).launching(*_warp_parts),
             lambda: open_gemm(72, 64, 4400, t="bf16", out="bf16", relu=True).on(16).launching(*_warp_parts),
             lambda: open_gemm(70, 71, 4400, t="f16").on(16), lambda: open_gemm(72, 64, 904, t="f16").on(16).launching("gemm_mma_64x64"),
             lambda: byte_cases.bytes_gemm(72, 80, 9600, b_columns=True, epilogue="requantised").on(16).launching(*_warp_parts)]

# Every size open: around the tiles' edges, no depth at all, rows that begin at any address or at multiples of 16 bytes.
OPEN = [lambda: open_gemm(65, 63, 40), lambda: open_gemm(3, 70, 0), lambda: open_gemm(1, 1, 1), lambda: open_gemm(64, 64, 64, b_columns=True),
        lambda: open_gemm(33, 20, 17, batch=2, a_transposed=True), lambda: open_gemm(64, 65, 16, t="f16", a_transposed=True),
        lambda: open_gemm(65, 63, 40, t="f16"), lambda: open_gemm(66, 64, 136, t="f16", out="f16"), lambda: open_gemm(5, 72, 0, t="f16"),
        lambda: open_gemm(17, 33, 65, t="f16", b_columns=True, batch=3), lambda: open_gemm(130, 72, 200, t="f16", b_columns=True, relu=True),
        lambda: open_gemm(40, 24, 8, t="f16", batch=2, out="f16")]
OPEN_BF16 = [lambda: open_gemm(70, 72, 200, t="bf16", out="bf16"), lambda: open_gemm(70, 71, 200, t="bf16"),
             lambda: open_gemm(128, 64, 64, t="bf16", b_columns=True, relu=True), lambda: open_gemm(129, 127, 31, t="bf16", b_columns=True),
             lambda: open_gemm(7, 8, 8, batch=3, t="bf16"), lambda: open_gemm(9, 16, 0, t="bf16", out="bf16"),
             lambda: open_gemm(1300, 1032, 24, t="bf16", out="bf16"), lambda: open_gemm(1300, 1031, 24, t="bf16", out="bf16")]
WINDOWS = [lambda: window(2, 5, 9, (9, 10), (3, 3), pads=1), lambda: window(1, 3, 70, (15, 13), (7, 7), stride=2, pads=3, bias=True),
           lambda: window(2, 8, 65, (9, 9), (3, 3), dilation=2, pads=2, t="f16", bias=True),
           lambda: window(2, 17, 12, (10, 8), (3, 2), stride=(1, 2), pads=(0, 2), t="f16"),
           lambda: window(3, 40, 16, (14, 14), (1, 1), t="f16"), lambda: window(2, 16, 24, (9, 8), (1, 1), stride=2, t="f16"),
           lambda: window(2, 6, 8, (50,), (5,), pads=2, t="f16", bias=True), lambda: window(1, 4, 8, (5, 6, 7), (3, 3, 3), pads=1),
           lambda: window(2, 16, 32, (9, 7), (3, 3), pads=1, groups=4, t="f16"), lambda: window(2, 32, 48, (6, 7), (1, 3), pads=(0, 2), groups=2, bias=True), lambda: window(1, 8, 8, (7, 7), (3, 3), pads=1, groups=8),
           lambda: window(2, 6, 20, (8, 11), (3, 3), pads=1, t="f16", open=True, bias=True),
           lambda: window(2, 16, 20, (12, 8), (1, 1), t="f16", open=True), lambda: window(1, 7, 9, (8, 11), (3, 3), stride=2, pads=1, open=True)]
WINDOWS_LAST = [lambda: window(2, 32, 72, (9, 7), (3, 3), pads=1, t="f16", bias=True, last=True),
                lambda: window(1, 24, 40, (11, 9), (3, 3), stride=2, pads=1, t="f16", last=True),
                lambda: window(2, 16, 136, (13, 12), (5, 3), dilation=(1, 2), pads=(2, 1), t="f16", last=True, open=True),
                lambda: window(2, 12, 20, (8, 7), (3, 3), pads=1, t="f16", last=True), lambda: window(2, 40, 24, (9, 9), (1, 1), stride=2, t="f16", last=True),
                lambda: window(1, 12, 20, (8, 7), (3, 3), pads=1, last=True), lambda: window(1, 9, 7, (8, 7), (3, 3), pads=1, last=True)]
# Channels in pieces of 128 bytes, which bulk copies bring from an image of two dimensions: borders, strides, dilations, results with
# their channels first, a depth that is cut into parts, windows whose last tile ends within the image.
_bulk = lambda *a, **k: (lambda: window(*a, last=True, fixed=True, **k))
WINDOWS_BULK = [_bulk(2, 64, 40, (9, 7), (3, 3), pads=1, t="bf16", bias=True), _bulk(1, 128, 24, (11, 9), (3, 3), stride=2, pads=1, t="f16"),
                _bulk(2, 64, 136, (13, 12), (5, 3), dilation=(1, 2), pads=(2, 1), t="f16"), _bulk(2, 64, 24, (9, 9), (1, 1), stride=2, t="f16"),
                _bulk(3, 64, 24, (10, 8), (1, 1), stride=2, t="f16"), # images of even height: steps go on from one into the next

                _bulk(1, 512, 16, (3, 3), (3, 3), pads=1, t="f16"), _bulk(2, 64, 8, (50,), (5,), pads=2, t="f16"),
                _bulk(1, 64, 8, (5, 6, 7), (3, 3, 3), pads=1, t="f16"), _bulk(3, 64, 72, (6, 5), (3, 3), pads=1, t="bf16", bias=True, result_last=False),
                _bulk(1, 192, 16, (7, 9), (2, 3), stride=(2, 3), pads=(1, 0), t="f16", result_last=False),
                # Channels that end within a piece: of each tap the rest is zeros.
                _bulk(2, 48, 40, (9, 7), (3, 3), pads=1, t="bf16", bias=True), _bulk(1, 80, 24, (11, 9), (5, 5), stride=2, pads=2, t="f16", result_last=False),
                _bulk(1, 72, 16, (3, 3), (3, 3), pads=1, t="f16"), _bulk(1, 136, 3, (30,), (3,), pads=1, t="f16"), _bulk(1, 456, 16, (3, 3), (3, 3), pads=1, t="f16"),
                # Borders of more than half of the image.
                _bulk(2, 64, 16, (6, 6), (3, 3), pads=5, dilation=(5, 5), t="f16"), _bulk(2, 64, 16, (2, 3, 3), (3, 3, 3), pads=1, t="f16"),
                _bulk(1, 64, 8, (8, 3), (3, 3), pads=(6, 2), dilation=(6, 2), t="bf16", result_last=False),
                # Pixels of the result side by side, in groups of four where a run has images of such sizes.
                _bulk(2, 64, 136, (12, 11), (3, 3), pads=1, t="bf16", bias=True, result_last=False, open=True),
                _bulk(2, 64, 136, (9, 9), (3, 3), pads=1, t="bf16", bias=True, result_last=False, open=True)]
WINDOWS_BF16 = [lambda: window(2, 32, 128, (16, 8), (1, 1), t="bf16", bias=True), lambda: window(3, 24, 70, (14, 14), (1, 1), t="bf16"),
                lambda: window(2, 24, 70, (12, 12), (3, 3), pads=1, t="bf16", bias=True),
                lambda: window(2, 24, 40, (12, 8), (1, 1), t="bf16", open=True), lambda: window(2, 24, 40, (11, 7), (1, 1), t="bf16", open=True)]


def _gemm_peer(t):
    return lambda torch, x: lambda: torch.matmul(x[0], x[1].transpose(1, 2))


def large_gemm(m, n, k, t="bf16", epilogue="none", out="bf16"):
    case = gemm(m, n, k, t=t, b_columns=True, epilogue=epilogue, out=out)
    return case.timed(2.0 * m * n * k, torch=_gemm_peer(t))


def large_layer_norm(n, c, t="bf16"):
    case = layer_norm(n, c, t)
    return case.timed(bytes=2.0 * n * c * (2 if t == "bf16" else 4),
                      torch=lambda torch, x: lambda: torch.nn.functional.layer_norm(x[0], (c,), x[1].to(x[0].dtype)))


def large_softmax(n, c):
    return softmax(n, c).timed(bytes=8.0 * n * c, torch=lambda torch, x: lambda: torch.softmax(x[0], -1))


def large_transpose(a, b):
    return transpose(a, b).timed(bytes=8.0 * a * b, torch=lambda torch, x: lambda: x[0].t().contiguous())


def attention(b, h, sq, sk, dim, dv, causal=False, bias=False, t="f32", out="f32", kv_heads=None, zero_masked=False,
              merged=False, open_head=False):
    """Heads of kv are shared by h / kv_heads query heads; layout [b][s][h][d]. Merged: q, k and v lie beside one another in a line. Open: the
    sizes of a head are known when it runs."""
    r = rng("attention")
    g = kv_heads or h
    q, k, v = (r.standard_normal((b, n, m, w)).astype(np.float32) for n, m, w in ((sq, h, dim), (sk, g, dim), (sk, g, dv)))
    if t == "bf16":
        q, k, v = (from_bf16(to_bf16(x)) for x in (q, k, v))
    mask = np.where(r.random((sq, sk)) < 0.3, -np.inf, 0).astype(np.float32)
    s = np.einsum("bqhd,bkhd->bhqk", q.astype(np.float64), np.repeat(k, h // g, 2).astype(np.float64)) / np.sqrt(dim)
    code = f"    %c = arith.constant {1 / np.sqrt(dim):.9e} : f32\n    %t = arith.mulf %s, %c : f32\n"
    y = "t"
    if causal:
        s = np.where(np.tril(np.ones((sq, sk), bool), sk - sq), s, -np.inf)
        code += ('    %qi = kernel.index "q + SK - SQ"\n    %ki = kernel.index "k"\n    %low = arith.cmpi sle, %ki, %qi : i64\n'
                 f"    %ninf = arith.constant 0xFF800000 : f32\n    %u = arith.select %low, %{y}, %ninf : f32\n")
        y = "u"
    if bias:
        if zero_masked:
            mask[0] = -np.inf
        s = s + mask
        code += load("bias", "i1" if merged else "i3", "SK*q + k") + f"    %w = arith.addf %{y}, %bias : f32\n"
        y = "w"
    with np.errstate(invalid="ignore"):
        e = np.exp(s - s.max(-1, keepdims=True))
        p = e / e.sum(-1, keepdims=True)
    if zero_masked:
        p = np.nan_to_num(p)
    want = np.einsum("bhqk,bkhd->bqhd", p, np.repeat(v, h // g, 2).astype(np.float64))
    per = h // g
    head = f"floordiv(h, {per})" if per > 1 else "h"
    flag = " {zero_masked}" if zero_masked else ""
    depth, values = ("D", "E") if open_head else (dim, dv)
    lines = [dim * h + dim * g + dv * g] * 3 if merged else [f"{h}*{depth}", f"{g}*{depth}", f"{g}*{values}"]
    inputs = [np.concatenate([x.reshape(b, sq, -1) for x in (q, k, v)], -1)] if merged else [q, k, v]
    refs = [("i0", 0), ("i0", dim * h), ("i0", dim * h + dim * g)] if merged else [("i0", 0), ("i1", 0), ("i2", 0)]
    (q0, qf), (k0, kf), (v0, vf) = refs
    body = (f'    %o = kernel.attention %{q0}["d + {depth}*h + {lines[0]}*q + {lines[0]}*SQ*b + {qf}"], '
            f'%{k0}["d + {depth}*{head} + {lines[1]}*k + {lines[1]}*SK*b + {kf}"], '
            f'%{v0}["e + {values}*{head} + {lines[2]}*k + {lines[2]}*SK*b + {vf}"] query "q" key "k" depth "d" value "e"{flag} : '
            f"(!kernel.ref<{t}>, !kernel.ref<{t}>, !kernel.ref<{t}>) -> f32 {{\n    ^bb0(%s: f32):\n{code}    kernel.yield %{y} : f32\n    }}\n")
    res = "o"
    if out != "f32":
        body += f"    %oo = arith.truncf %o : f32 to {out}\n"
        res = "oo"
    body += store(res, "o0", f"e + {values}*h + {h}*{values}*q + {h}*{values}*SQ*b", out)
    axes = [("b", str(b)), ("h", str(h)), ("q", "SQ"), ("e", str(values)), ("k", "SK"), ("d", str(depth))]
    tol = 2e-5 if t == "f32" else 2e-2
    sizes = {"SQ": sq, "SK": sk, **({"D": dim, "E": dv} if open_head else {})}
    return Case("attention", "attention", axes, body, sizes, [(t, x) for x in inputs] + ([("f32", mask)] if bias else []),
                [(out, want)], tol, tol)


def large_attention(b, h, s, dim, causal=False, t="bf16", out="bf16"):
    def peer(torch, x):
        q, k, v = (y.transpose(1, 2) for y in x[:3])
        return lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return attention(b, h, s, s, dim, dim, causal=causal, t=t, out=out).timed(4.0 * b * h * s * s * dim, torch=peer)


ATTENTION = [lambda: attention(1, 2, 70, 70, 32, 32), lambda: attention(2, 4, 5, 130, 16, 24, kv_heads=2, bias=True),
             lambda: attention(1, 2, 66, 100, 64, 64, causal=True), lambda: attention(1, 1, 40, 64, 20, 8, bias=True, zero_masked=True),
             lambda: attention(1, 2, 1, 90, 64, 64, t="bf16", out="bf16"), lambda: attention(1, 1, 3, 9, 2, 3),
             lambda: attention(1, 1, 20, 40, 160, 200), lambda: attention(1, 2, 9, 70, 33, 65, open_head=True),
             lambda: attention(1, 2, 30, 20, 64, 128, t="bf16", out="bf16", causal=True, open_head=True)]
WGMMA_ATTENTION = [lambda: attention(1, 2, 70, 200, 64, 64, t="bf16", out="bf16"),
                   lambda: attention(1, 4, 130, 130, 128, 128, t="bf16", causal=True, kv_heads=2),
                   lambda: attention(2, 1, 40, 300, 32, 40, t="bf16", bias=True),
                   lambda: attention(2, 3, 70, 70, 32, 64, t="bf16", bias=True, merged=True),
                   lambda: attention(1, 1, 70, 150, 96, 80, t="bf16", out="bf16"), lambda: attention(1, 1, 70, 150, 256, 256, t="bf16", causal=True),
                   lambda: attention(1, 1, 40, 70, 80, 192, t="bf16", bias=True)]
# Of constant sizes a bias is read for two keys at once.
WGMMA_ATTENTION += [lambda: attention(2, 2, 70, 264, 64, 64, t="bf16", bias=True).with_constant_sizes(), lambda: attention(1, 2, 40, 384, 64, 64, t="bf16", causal=True, bias=True).with_constant_sizes(),
                    lambda: attention(1, 1, 40, 261, 64, 64, t="bf16", out="bf16", bias=True).with_constant_sizes()]
# For a GPU only: too much for the emulator.
SPEED = [lambda: large_gemm(4096, 4096, 4096), lambda: large_gemm(2048, 2048, 2048), lambda: large_gemm(1024, 3072, 768),
         lambda: large_gemm(1024, 2304, 768), lambda: large_gemm(1024, 768, 768),
         lambda: large_gemm(1024, 768, 3072, epilogue="bias_relu"), lambda: large_gemm(128, 768, 768), lambda: large_gemm(128, 3072, 768),
         lambda: large_gemm(16, 4096, 4096), lambda: large_gemm(1, 4096, 4096), lambda: large_gemm(1024, 1024, 1024, t="f32", out="f32"),
         lambda: large_layer_norm(8192, 4096), lambda: large_layer_norm(16384, 1024), lambda: large_layer_norm(8192, 768, "f32"),
         lambda: large_softmax(4096, 1024), lambda: large_softmax(2048, 8192), lambda: large_transpose(4096, 4096)]
SPEED += [lambda: gemm(2048, 2048, 2048, t="f16", out="f16", a_transposed=True, epilogue="bias_relu").timed(
    2.0 * 2048 ** 3, torch=lambda torch, x: lambda: torch.matmul(x[0].transpose(1, 2), x[1]))]
SPEED += [lambda: large_attention(4, 16, 2048, 64), lambda: large_attention(2, 16, 2048, 128, causal=True),
          lambda: large_attention(8, 12, 128, 64), lambda: large_attention(1, 12, 128, 64, t="f32", out="f32")]
FEW_QUERIES = [lambda: attention(1, 12, 1, 513, 64, 64, t="bf16", kv_heads=4, bias=True), lambda: attention(2, 2, 4, 300, 128, 128, t="bf16", causal=True),
               lambda: attention(2, 2, 2, 40, 24, 136, t="bf16", out="bf16", zero_masked=True, bias=True), lambda: attention(1, 2, 4, 4, 64, 64, t="bf16", merged=True),
               # Heads share the keys that they read; parts of the keys are brought together.
               lambda: attention(2, 8, 1, 2100, 128, 128, t="bf16", out="bf16", kv_heads=2).launching("attention_few_queries", "attention_few_queries_meet"),
               lambda: attention(1, 12, 1, 1300, 64, 64, t="bf16", kv_heads=2, bias=True).launching("attention_few_queries", "attention_few_queries_meet"),
               lambda: attention(1, 2, 3, 1300, 64, 72, causal=True, bias=True, zero_masked=True).launching("attention_few_queries", "attention_few_queries_meet"),
               lambda: attention(2, 8, 1, 2100, 32, 32, kv_heads=1).on(1).launching("attention_few_queries"),
               lambda: attention(1, 2, 1, 700, 128, 64), lambda: attention(1, 3, 7, 33, 4, 8, causal=True, bias=True)]


PERMUTATIONS = [lambda: permuted(1, 64, 64), lambda: permuted(2, 37, 150), lambda: permuted(3, 16, 17, "f16"), lambda: permuted(1, 72, 136, "bf16"),
                lambda: permuted(2, 40, 33, "i64"), lambda: permuted(1, 80, 96, "f64", add=True), lambda: permuted(2, 15, 100), lambda: permuted(2, 100, 3),
                lambda: permuted(2, 72, 40, "f16", fixed=True, add=True), lambda: permuted(1, 65, 131, fixed=True, add=True), lambda: permuted(0, 20, 30),
                lambda: permuted(1, 68, 129, "i32", add=True), lambda: permuted(1, 130, 66, "f16", add=True), lambda: permuted(1, 96, 104, "i64", fixed=True),
                # Axes known to be short have long tiles.
                lambda: permuted(1, 1030, 12, fixed=True), lambda: permuted(2, 2049, 4, "f16", fixed=True, add=True), lambda: permuted(1, 515, 5, "bf16", fixed=True),
                lambda: permuted(2, 300, 24, "i32", fixed=True), lambda: permuted(1, 520, 7, "i64", fixed=True)]
# Rows too few for a device, which blocks share; the last ones run along the columns, few of them and more.
SHARED_ROWS = [lambda: softmax(1, 65601), lambda: layer_norm(1, 65600), lambda: column_sum(16500, 3), lambda: column_sum(3000, 64)] + [
               lambda c=c: column_sum(17000, c, open=True) for c in (1, 3, 8, 9, 40)] + [
               lambda: softmax(1, 65604)] + [lambda c=c: row_sum(2, c) for c in (65536, 65541, 131072, 131076)] + [lambda: row_sum(33, 100), lambda: row_sum(70, 128)]
# Rows that blocks share, that a block goes through, and columns; several elements that are the extremum, and numbers that are none.
PLACES = [lambda: place_of_extremum(1, 65600, open=False), lambda: place_of_extremum(1, 65601, "min", ties=True), lambda: place_of_extremum(200, 5000, ties=True, nans=(5007, 9000)),
          lambda: place_of_extremum(1, 66000, "max", "bf16", nans=(40000, 65000)), lambda: place_of_extremum(2, 70000, "max", "i64"), lambda: place_of_extremum(3000, 64, "max", along="n", ties=True, open=False),
          lambda: place_of_extremum(700, 40, "min", "bf16", along="n", ties=True), lambda: place_of_extremum(17000, 3, "max", "i64", along="n"), lambda: place_of_extremum(3, 100, ties=True)]
GROUPS = {"shared_rows": SHARED_ROWS,
          "places": PLACES,
          "permutations": PERMUTATIONS,
          "few_queries": FEW_QUERIES,
          "speed": SPEED,
          "attention": ATTENTION,
          "wgmma_attention": WGMMA_ATTENTION,
          "wgmma": WGMMA,
          "rows": ROWS,
          "open_rows": OPEN_ROWS,
          "kept_columns": KEPT_COLUMNS,
          "rows_in_turn": ROWS_IN_TURN,
          "forced_rows": FORCED_ROWS,
          "gemms": GEMMS,
          "gemm_parts": GEMM_PARTS,
          "few_lines": FEW_LINES,
          "few_lines_halves": FEW_LINES_HALVES,
          "few_columns": FEW_COLUMNS,
          "open": OPEN,
          "open_bf16": OPEN_BF16,
          "windows": WINDOWS,
          "windows_last": WINDOWS_LAST,
          "windows_bulk": WINDOWS_BULK,
          "windows_bf16": WINDOWS_BF16,
          "mma": MMA,
          "mma_wide": MMA_WIDE, "mma_parts": MMA_PARTS,
          "gemms_f64": GEMMS_F64}
GROUPS.update(ordered_cases.GROUPS)
GROUPS.update(byte_cases.GROUPS)
GROUPS.update(coded_cases.GROUPS)
GROUPS.update(float8_cases.GROUPS)
GROUPS.update(strip_cases.GROUPS)
GROUPS.update(transform_cases.GROUPS)
SPEED += ordered_cases.SPEED
