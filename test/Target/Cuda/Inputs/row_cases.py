"""Loops and reductions along rows and columns, with numpy references."""
import numpy as np
from case import Case, from_bf16, load, rng, store, to_bf16


def softmax(n, c, fixed=False):
    r = rng("softmax")
    N, C = (str(n), str(c)) if fixed else ("N", "C")
    x = r.standard_normal((n, c)).astype(np.float32) * 3
    body = (load("x", "i0", f"{C}*n + c") + '    %m = kernel.reduce max %x over ["c"] : f32\n    %d = arith.subf %x, %m : f32\n'
            '    %e = math.exp %d : f32\n    %s = kernel.reduce add %e over ["c"] : f32\n    %y = arith.divf %e, %s : f32\n' +
            store("y", "o0", f"{C}*n + c"))
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return Case("softmax", "reduction", [("n", N), ("c", C)], body, {} if fixed else {"N": n, "C": c}, [("f32", x)],
                [("f32", e / e.sum(1, keepdims=True))])


def open_rows(n, c, t="bf16"):
    """The root mean square of rows, and the rows by it: both sizes open."""
    x = rng(f"open_rows {n} {c}").standard_normal((n, c)).astype(np.float32)
    if t == "bf16":
        x = from_bf16(to_bf16(x))
    ext, tr = ("    %x = arith.extf %x0 : bf16 to f32\n", "    %y = arith.truncf %y0 : f32 to bf16\n") if t == "bf16" else ("", "")
    raw, y = ("x0", "y0") if t == "bf16" else ("x", "y")
    body = (load(raw, "i0", "C*n + c", t) + ext + '    %q = arith.mulf %x, %x : f32\n    %s = kernel.reduce add %q over ["c"] : f32\n'
            f"    %r = math.sqrt %s : f32\n    %{y} = arith.divf %x, %r : f32\n" + tr + store("y", "o0", "C*n + c", t) + store("r", "o1", "n"))
    norm = np.sqrt((x.astype(np.float64) ** 2).sum(1))
    tol = 1e-2 if t == "bf16" else 3e-5
    return Case("open_rows", "reduction", [("n", "N"), ("c", "C")], body, {"N": n, "C": c}, [(t, x)],
                [(t, x / np.maximum(norm, 1e-30)[:, None]), ("f32", norm)], tol, tol)


def open_loop(n, c, t="bf16"):
    """A sum of what lies side by side and of a row: the latter keeps the axes apart."""
    r = rng("open_loop")
    x, b = r.standard_normal((n, c)).astype(np.float32), r.standard_normal(c).astype(np.float32)
    if t == "bf16":
        x, b = from_bf16(to_bf16(x)), from_bf16(to_bf16(b))
    body = load("x", "i0", "C*n + c", t) + load("b", "i1", "c", t) + f"    %y = arith.addf %x, %b : {t}\n" + store("y", "o0", "C*n + c", t)
    tol = 1e-2 if t == "bf16" else 1e-6
    return Case("open_loop", "loop", [("n", "N"), ("c", "C")], body, {"N": n, "C": c}, [(t, x), (t, b)],
                [(t, x.astype(np.float64) + b)], tol, tol)


def open_concat(n, b, t="bf16"):
    """Two matrices side by side, as wide as they are: accesses may lie in one of them or across the border."""
    x, y = (from_bf16(to_bf16(rng(f"open_concat {n} {b} {i}").standard_normal((n, b)))) for i in range(2))
    side = lambda name, ok: f'    %{name} = arith.cmpi {ok}, %i, %b : i64\n'
    body = ('    %i = kernel.index "c"\n    %b = kernel.index "B"\n' + side("first", "slt") + side("second", "sge") +
            f'    %x = kernel.load %i0["B*n + c"] if %first : !kernel.ref<{t}> -> {t}\n'
            f'    %y = kernel.load %i1["B*n + c - B"] if %second : !kernel.ref<{t}> -> {t}\n'
            f"    %z = arith.select %second, %y, %x : {t}\n" + store("z", "o0", "2*B*n + c", t))
    return Case("open_concat", "loop", [("n", "N"), ("c", "2*B")], body, {"N": n, "B": b}, [(t, x), (t, y)],
                [(t, np.concatenate([x, y], 1))], 0, 0)


def open_line(n, t="f32"):
    """A loop along one axis of open length; what is read from the other end keeps no access narrow."""
    x = rng(f"open_line {n}").standard_normal(n).astype(np.float32)
    if t == "bf16":
        x = from_bf16(to_bf16(x))
    body = load("x", "i0", "i", t) + load("z", "i0", "N - i - 1", t) + f"    %y = arith.subf %x, %z : {t}\n" + store("y", "o0", "i", t) + store("x", "o1", "i", t)
    return Case("open_line", "loop", [("i", "N")], body, {"N": n}, [(t, x)], [(t, x - x[::-1]), (t, x)], 1e-2, 1e-2)


def same_in_all_columns(n, c):
    """A value that does not depend on the reduced axis counts as often as the axis is long."""
    x = rng("same").standard_normal(n).astype(np.float32)
    body = (load("x", "i0", "n") + '    %s = kernel.reduce add %x over ["c"] : f32\n    %y = arith.divf %x, %s : f32\n' +
            store("y", "o0", f"{c}*n + c"))
    return Case("same", "reduction", [("n", "N"), ("c", str(c))], body, {"N": n}, [("f32", x)],
                [("f32", np.full((n, c), 1.0 / c))])


def layer_norm(n, c, t="f32"):
    r = rng("layer_norm")
    x = r.standard_normal((n, c)).astype(np.float32) * 2 + 1
    if t == "bf16":
        x = from_bf16(to_bf16(x))
    g = r.standard_normal(c).astype(np.float32)
    ext = "    %x = arith.extf %x0 : bf16 to f32\n" if t == "bf16" else ""
    tr = "    %y = arith.truncf %y0 : f32 to bf16\n" if t == "bf16" else ""
    y = "y0" if t == "bf16" else "y"
    body = (load("x0" if t == "bf16" else "x", "i0", f"{c}*n + c", t) + ext +
            f'    %k = arith.constant {1.0 / c:.9e} : f32\n    %s = kernel.reduce add %x over ["c"] : f32\n'
            '    %mean = arith.mulf %s, %k : f32\n    %d = arith.subf %x, %mean : f32\n    %d2 = arith.mulf %d, %d : f32\n'
            '    %v = kernel.reduce add %d2 over ["c"] : f32\n    %v1 = arith.mulf %v, %k : f32\n'
            '    %eps = arith.constant 1.0e-5 : f32\n    %v2 = arith.addf %v1, %eps : f32\n    %sd = math.sqrt %v2 : f32\n' +
            f'    %z = arith.divf %d, %sd : f32\n' + load("g", "i1", "c") + f"    %{y} = arith.mulf %z, %g : f32\n" + tr +
            store("y", "o0", f"{c}*n + c", t) + store("mean", "o1", "n"))
    xd = x.astype(np.float64)
    mu = xd.mean(1, keepdims=True)
    want = (xd - mu) / np.sqrt(((xd - mu) ** 2).mean(1, keepdims=True) + 1e-5) * g
    tol = 1e-2 if t == "bf16" else 3e-5
    return Case("layer_norm", "reduction", [("n", "N"), ("c", str(c))], body, {"N": n}, [(t, x), ("f32", g)],
                [(t, want), ("f32", mu[:, 0])], tol, tol)


def column_sum(n, c, open=False):
    r = rng("column_sum")
    C = "C" if open else str(c)
    x = r.standard_normal((n, c)).astype(np.float32)
    body = load("x", "i0", f"{C}*r + c") + '    %s = kernel.reduce add %x over ["r"] : f32\n' + store("s", "o0", "c")
    return Case("column_sum", "reduction", [("c", C), ("r", "R")], body, {"R": n, "C": c} if open else {"R": n}, [("f32", x)],
                [("f32", x.astype(np.float64).sum(0))], 1e-4, 1e-4)


def place_of_extremum(n, c, kind="max", t="f32", along="c", ties=False, nans=(), open=True):
    """The first place of a row's, or a column's, largest or smallest element; of a number that is none where there is one."""
    x = rng(f"place {n} {c}").standard_normal((n, c)).astype(np.float32)
    if t == "i64" or ties:
        x = np.trunc(x * 3)
    x = from_bf16(to_bf16(x)) if t == "bf16" else x.astype(np.int64) if t == "i64" else x
    for i in nans:
        x.flat[i] = np.nan
    N, C = ("N", "C") if open else (str(n), str(c))
    size, other = (C, "n") if along == "c" else (N, "c")
    body = load("x" if t != "bf16" else "x0", "i0", f"{C}*n + c", t) + ("    %x = arith.extf %x0 : bf16 to f32\n" if t == "bf16" else "")
    w = "i64" if t == "i64" else "f32"
    body += f'    %m = kernel.reduce {kind} %x over ["{along}"] : {w}\n'
    if t == "i64":
        body += "    %p = arith.cmpi eq, %x, %m : i64\n"
    else:
        narrow = "    %m0 = arith.truncf %m : f32 to bf16\n    %e = arith.cmpf oeq, %x0, %m0 : bf16\n" if t == "bf16" else "    %e = arith.cmpf oeq, %x, %m : f32\n"
        body += narrow + "    %u = arith.cmpf une, %x, %x : f32\n    %p = arith.ori %e, %u : i1\n"
    body += (f'    %at = kernel.index "{along}"\n    %end = kernel.index "{size}"\n    %k = arith.select %p, %at, %end : i64\n'
             f'    %first = kernel.reduce min %k over ["{along}"] : i64\n' + store("first", "o0", other, "i64"))
    axis = 1 if along == "c" else 0
    want = (np.argmax if kind == "max" else np.argmin)(x, axis)
    axes = [("n", N), ("c", C)] if along == "c" else [("c", C), ("n", N)]
    return Case("place", "reduction", axes, body, {"N": n, "C": c} if open else {}, [(t, x)], [("i64", want)], 0, 0)


def row_sum(n, c):
    x = rng(f"row_sum {n} {c}").standard_normal((n, c)).astype(np.float32)
    body = load("x", "i0", "C*n + c") + '    %s = kernel.reduce add %x over ["c"] : f32\n' + store("s", "o0", "n")
    return Case("row_sum", "reduction", [("n", "N"), ("c", "C")], body, {"N": n, "C": c}, [("f32", x)], [("f32", x.astype(np.float64).sum(1))], 1e-4, 1e-3)


def kept_columns(z, l, c, t="f32", fixed=False):
    """Softmax and its largest value along the middle axis."""
    x = rng(f"kept_columns {z} {l} {c}").standard_normal((z, l, c)).astype(np.float32) * 3
    if t == "bf16":
        x = from_bf16(to_bf16(x))
    L, C = (str(l), str(c)) if fixed else ("L", "C")
    at = f"{L}*{C}*z + {C}*l + c"
    ext, tr = ("    %x = arith.extf %x0 : bf16 to f32\n", "    %y = arith.truncf %y0 : f32 to bf16\n") if t == "bf16" else ("", "")
    raw, y = ("x0", "y0") if t == "bf16" else ("x", "y")
    body = (load(raw, "i0", at, t) + ext + '    %m = kernel.reduce max %x over ["l"] : f32\n    %d = arith.subf %x, %m : f32\n'
            '    %e = math.exp %d : f32\n    %s = kernel.reduce add %e over ["l"] : f32\n' + f"    %{y} = arith.divf %e, %s : f32\n" + tr +
            store("y", "o0", at, t) + store("m", "o1", f"{C}*z + c"))
    xd = x.astype(np.float64)
    m = xd.max(1, keepdims=True) if l else np.full((z, 1, c), -np.inf)
    e = np.exp(xd - m)
    tol = 1e-2 if t == "bf16" else 3e-5
    return Case("kept_columns", "reduction", [("z", "Z"), ("c", C), ("l", L)], body, {"Z": z} if fixed else {"Z": z, "L": l, "C": c}, [(t, x)],
                [(t, e / e.sum(1, keepdims=True)), ("f32", m[:, 0])], tol, tol)


def projection(n, h, p, d):
    """Rows y(n, h, p) minus their projection on a normalised vector per (n, h): reductions at two depths."""
    r = rng("projection")
    y = r.standard_normal((n, h, p, d)).astype(np.float32)
    v = r.standard_normal((n, h, d)).astype(np.float32)
    row, vec = f"{d}*(p + {p}*(h + {h}*n)) + d", f"{d}*(h + {h}*n) + d"
    body = (load("y", "i0", row) + load("v", "i1", vec) + "    %vv = arith.mulf %v, %v : f32\n"
            '    %nv = kernel.reduce add %vv over ["d"] : f32\n    %sq = math.sqrt %nv : f32\n    %vn = arith.divf %v, %sq : f32\n'
            "    %yv = arith.mulf %y, %vn : f32\n" '    %dot = kernel.reduce add %yv over ["d"] : f32\n'
            "    %pr = arith.mulf %dot, %vn : f32\n    %o = arith.subf %y, %pr : f32\n    %a = math.absf %dot : f32\n" +
            store("o", "o0", row) + store("a", "o1", f"p + {p}*(h + {h}*n)") + store("sq", "o2", f"h + {h}*n"))
    yd, vd = y.astype(np.float64), v.astype(np.float64)
    norm = np.sqrt((vd * vd).sum(-1))
    vn = (vd / norm[..., None])[:, :, None, :]
    dot = (yd * vn).sum(-1)
    return Case("projection", "reduction", [("n", "N"), ("h", str(h)), ("p", str(p)), ("d", str(d))], body, {"N": n},
                [("f32", y), ("f32", v)], [("f32", yd - dot[..., None] * vn), ("f32", abs(dot)), ("f32", norm)])


def group_norm(n, g, k, s):
    """Reductions over two axes, then over one of them at each of the other."""
    r = rng("group_norm")
    x = r.standard_normal((n, g, k, s)).astype(np.float32)
    at = f"s + {s}*(k + {k}*(g + {g}*n))"
    body = (load("x", "i0", at) + f'    %c = arith.constant {1.0 / (k * s):.9e} : f32\n'
            '    %t = kernel.reduce add %x over ["k", "s"] : f32\n    %mu = arith.mulf %t, %c : f32\n    %d = arith.subf %x, %mu : f32\n'
            '    %m = kernel.reduce max %d over ["s"] : f32\n    %y = arith.divf %d, %m : f32\n' + store("y", "o0", at))
    xd = x.astype(np.float64)
    d = xd - xd.mean((2, 3), keepdims=True)
    return Case("group_norm", "reduction", [("n", "N"), ("g", str(g)), ("k", str(k)), ("s", str(s))], body, {"N": n},
                [("f32", x)], [("f32", d / d.max(3, keepdims=True))], 1e-4, 1e-4)


def gelu_add(n, c, t="f32"):
    r = rng("gelu_add")
    x, b = r.standard_normal((n, c)).astype(np.float32), r.standard_normal(c).astype(np.float32)
    body = (load("x", "i0", f"{c}*n + c") + load("b", "i1", "c") + "    %s = arith.addf %x, %b : f32\n"
            "    %k = arith.constant 0.707106769 : f32\n    %h = arith.constant 0.5 : f32\n    %one = arith.constant 1.0 : f32\n"
            "    %u = arith.mulf %s, %k : f32\n    %e = math.erf %u : f32\n    %e1 = arith.addf %e, %one : f32\n"
            "    %hs = arith.mulf %s, %h : f32\n    %y = arith.mulf %hs, %e1 : f32\n" + store("y", "o0", f"{c}*n + c") +
            store("b", "o1", "c"))
    from math import erf
    s = x.astype(np.float64) + b
    return Case("gelu_add", "loop", [("n", "N"), ("c", str(c))], body, {"N": n}, [("f32", x), ("f32", b)],
                [("f32", 0.5 * s * (1 + np.vectorize(erf)(s * 0.707106769))), ("f32", b)])


def embedding_sum(n, count, rows, c):
    """Sums of rows at computed places: what varies along a sum may do so through its place."""
    r = rng("embedding_sum")
    ids, w = r.integers(0, rows, (n, count)), r.standard_normal((rows, c)).astype(np.float32)
    body = (load("i", "i0", f"{count}*n + s", "i64") + f'    %w = kernel.load %i1["{c}*$0 + c"] indirect(%i) : !kernel.ref<f32> -> f32\n'
            '    %y = kernel.reduce add %w over ["s"] : f32\n' + store("y", "o0", f"{c}*n + c"))
    return Case("embedding_sum", "reduction", [("n", str(n)), ("c", str(c)), ("s", str(count))], body, {}, [("i64", ids), ("f32", w)],
                [("f32", w.astype(np.float64)[ids].sum(1))])


def weighted_rows(n, count, rows, c):
    """Rows of an image at places of a table, by weights of it: neither says along which axis threads lie side by side."""
    r = rng("weighted_rows")
    ids, x, w = r.integers(0, rows, (count, n)), r.standard_normal((rows, c)).astype(np.float32), r.standard_normal((count, n)).astype(np.float32)
    body = (load("i", "i0", f"{n}*s + n", "i64") + f'    %x = kernel.load %i1["{c}*$0 + c"] indirect(%i) : !kernel.ref<f32> -> f32\n' +
            load("w", "i2", f"{n}*s + n") + '    %p = arith.mulf %x, %w : f32\n    %y = kernel.reduce add %p over ["s"] : f32\n' + store("y", "o0", f"{c}*n + c"))
    return Case("weighted_rows", "reduction", [("n", str(n)), ("c", str(c)), ("s", str(count))], body, {}, [("i64", ids), ("f32", x), ("f32", w)],
                [("f32", (x.astype(np.float64)[ids] * w[..., None]).sum(0))], 1e-4, 1e-4)
