"""Windows that overlap along a line: pools and depthwise convolutions, with numpy references."""
import numpy as np
from case import TYPES, Case, constant, from_bf16, load, rng, store, to_bf16


def _drawn(name, shape, t):
    x = rng(name).standard_normal(shape).astype(np.float32)
    if t == "bf16":
        return from_bf16(to_bf16(x))
    return x.astype(TYPES[t])


def _places(extent, k, stride, dilation, pads):
    """The image's places that each result finds, [result][tap]; the number of results."""
    out = (extent + sum(pads) - (k - 1) * dilation - 1) // stride + 1
    return np.arange(out)[:, None] * stride + np.arange(k)[None] * dilation - pads[0], out


def _inside(index, bound, name):
    return (f'    %{name} = kernel.index "{index}"\n    %{name}0 = arith.constant 0 : i64\n    %{name}e = kernel.index "{bound}"\n'
            f"    %{name}l = arith.cmpi sge, %{name}, %{name}0 : i64\n    %{name}h = arith.cmpi slt, %{name}, %{name}e : i64\n"
            f"    %{name}in = arith.andi %{name}l, %{name}h : i1\n")


def _at(stride, dilation, pad, place, tap):
    return f"{stride}*{place} + {dilation}*{tap} - {pad}"


def _widened(name, t):
    return name if t in ("f32", "f64") else name + "w"


def _extended(name, t):
    return "" if t in ("f32", "f64") else f"    %{name}w = arith.extf %{name} : {t} to f32\n"


def _image(n, c, h, w, last):
    """Offsets of an image at a channel, a line and a pixel."""
    return (lambda y, x: f"{h}*{w}*{c}*n + ({y})*{w}*{c} + ({x})*{c} + c") if last else (lambda y, x: f"{h}*{w}*{c}*n + {h}*{w}*c + ({y})*{w} + {x}")


def window(n, c, h, w, k=(3, 3), stride=1, dilation=1, pads=((1, 1), (1, 1)), t="f32", last=False, kind="max", open=False, strip=None):
    """`kind`: the largest element, a mean with the border among the places, or a depthwise convolution."""
    name = f"window {n} {c} {h} {w} {k} {stride} {dilation} {pads} {t} {last} {kind}"
    x = _drawn(name, (n, c, h, w), t)
    f = _drawn(name + " filter", (c, *k), t)
    ys, oh = _places(h, k[0], stride, dilation, pads[0])
    xs, ow = _places(w, k[1], stride, dilation, pads[1])
    sizes = {"N": n, "H": h, "W": w} | ({} if last else {"C": c}) if open else {}
    N, C, H, W = (s if s in sizes else str(v) for s, v in (("N", n), ("C", c), ("H", h), ("W", w)))
    out = lambda e, kk, p: f"(floordiv({e} + {sum(p) - (kk - 1) * dilation - 1}, {stride}) + 1)" if open else str((int(e) + sum(p) - (kk - 1) * dilation - 1) // stride + 1)
    OH, OW = out(H, k[0], pads[0]), out(W, k[1], pads[1])
    y, xx = _at(stride, dilation, pads[0][0], "y", "i"), _at(stride, dilation, pads[1][0], "x", "j")
    fill = {"max": "0xFF800000" if t == "f32" else "0xFF80" if t == "bf16" else "0xFC00" if t == "f16" else "0xFFF0000000000000"}.get(kind, "0.0")
    total = "f64" if t == "f64" else "f32"
    body = _inside(y, H, "v") + _inside(xx, W, "u") + "    %in = arith.andi %vin, %uin : i1\n" + f"    %fill = arith.constant {fill} : {t}\n"
    body += f'    %p = kernel.load %i0["{_image(N, C, H, W, last)(y, xx)}"] if %in else %fill : !kernel.ref<{t}> else {t} -> {t}\n' + _extended("p", t)
    value = _widened("p", t)
    if kind == "depthwise":
        body += load("f", "i1", f"{C}*({k[1]}*i + j) + c" if last else f"{k[0] * k[1]}*c + {k[1]}*i + j", t) + _extended("f", t)
        body += f"    %m = arith.mulf %{value}, %{_widened('f', t)} : {total}\n"
        value = "m"
    body += f'    %s = kernel.reduce {"max" if kind == "max" else "add"} %{value} over ["i", "j"] : {total}\n'
    result = "s"
    if kind == "mean":
        body += f"    %k = arith.constant {1 / (k[0] * k[1]):.9e} : {total}\n    %r = arith.mulf %s, %k : {total}\n"
        result = "r"
    if t not in ("f32", "f64"):
        body += f"    %rounded = arith.truncf %{result} : {total} to {t}\n"
        result = "rounded"
    body += store(result, "o0", _image(N, C, OH, OW, last)("y", "x"), t)
    rows = [("n", N), ("y", OH), ("x", OW), ("c", C)] if last else [("n", N), ("c", C), ("y", OH), ("x", OW)]
    # References: the border is filled, the window's places are taken from there.
    border = -np.inf if kind == "max" else 0.0
    wide = np.full((n, c, h + 200, w + 200), float(border))
    wide[:, :, 100:100 + h, 100:100 + w] = x
    found = wide[:, :, (ys + 100)[:, :, None, None], (xs + 100)[None, None]]
    if kind == "depthwise":
        want = np.einsum("ncyixj,cij->ncyx", found, f.astype(np.float64))
    else:
        want = found.max((3, 5)) if kind == "max" else found.mean((3, 5))
    turn = (lambda a: np.ascontiguousarray(a.transpose(0, 2, 3, 1))) if last else (lambda a: a)
    filters = np.ascontiguousarray(f.transpose(1, 2, 0)) if last else f
    tol = 1e-2 if t in ("bf16", "f16") else 3e-5
    inputs = [(t, turn(x))] + ([(t, filters)] if kind == "depthwise" else [])
    case = Case("window", "reduction", rows + [("i", str(k[0])), ("j", str(k[1]))], body, sizes, inputs, [(t, turn(want))], tol, tol)
    if strip:
        taken = f"#schedule.threads<strip = {strip}>"
        some = f'#schedule.case<"0 < {N}*{C}*{H}*{W} and {N}*{C}*{H}*{W} <= 2147483647", {taken}>, #schedule.case<#schedule.threads<strip = 0>>' if open else f"#schedule.case<{taken}>"
        case.attributes = f"attributes {{schedule.cases = [{some}]}} "
    if open:
        case.dims = {0: [N, H, W, C] if last else [N, C, H, W]}
    return case.launching("row_strips") if strip else case


def stencil(n, w, t="f32", strip=4):
    """Neighbours' differences, and the place of the larger one: the window is written out in the body, and there are two results."""
    x = _drawn(f"stencil {n} {w} {t}", (n, w), t)
    body = ('    %b = kernel.index "x"\n    %zero = arith.constant 0 : i64\n    %inside = arith.cmpi sgt, %b, %zero : i64\n' + load("a", "i0", f"{w}*n + x", t) +
            f'    %l = kernel.load %i0["{w}*n + x - 1"] if %inside : !kernel.ref<{t}> -> {t}\n    %d = arith.subf %a, %l : {t}\n'
            f"    %y = arith.select %inside, %d, %a : {t}\n" + store("y", "o0", f"{w}*n + x", t) +
            f'    %more = arith.cmpf ogt, %y, %a : {t}\n    %left = kernel.index "x - 1"\n    %at = arith.select %more, %left, %b : i64\n' + store("at", "o1", f"{w}*n + x", "i64"))
    before = np.concatenate([np.zeros((n, 1)), x[:, :-1]], 1)
    y = np.where(np.arange(w) > 0, x.astype(np.float64) - before, x)
    case = Case("stencil", "loop", [("n", str(n)), ("x", str(w))], body, {}, [(t, x)], [(t, y), ("i64", np.arange(w) - (y > x))], 1e-6, 1e-6)
    case.attributes = f"attributes {{schedule.cases = [#schedule.case<#schedule.threads<strip = {strip}>>]}} "
    return case.launching("row_strips")


def sampled(n, c, pixels, count, t="f32", strip=None, open=False):
    """Between two neighbouring pixels, at places from a table, some of them outside: channels of a pixel lie side by side, those of a result apart."""
    name = f"sampled {n} {c} {pixels} {count} {t}"
    x, part = _drawn(name, (n, pixels, c), t), rng(name + " part").random((n, count)).astype(np.float32)
    places = rng(name + " places").integers(-2, pixels + 2, (n, count))
    sizes = {"N": n, "C": c, "P": pixels, "X": count} if open else {}
    N, C, P, X = (s if open else str(v) for s, v in (("N", n), ("C", c), ("P", pixels), ("X", count)))
    body = load("p", "i1", f"{X}*n + x", "i64") + load("w", "i2", f"{X}*n + x", "f32")
    body += f'    %one = arith.constant 1 : i64\n    %next = arith.addi %p, %one : i64\n    %bound = kernel.index "{P}"\n    %none = arith.constant 0 : i64\n    %zero = arith.constant 0.0 : {t}\n'
    for v, at in (("a", "p"), ("b", "next")):
        body += f"    %{v}l = arith.cmpi sge, %{at}, %none : i64\n    %{v}h = arith.cmpi slt, %{at}, %bound : i64\n    %{v}in = arith.andi %{v}l, %{v}h : i1\n"
        body += f'    %{v} = kernel.load %i0["{P}*{C}*n + {C}*$0 + c"] indirect(%{at}) if %{v}in else %zero : !kernel.ref<{t}> else {t} -> {t}\n' + _extended(v, t)
    a, b = _widened("a", t), _widened("b", t)
    wide = "f64" if t == "f64" else "f32"
    weight = "w"
    if t == "f64":
        body, weight = body + "    %w8 = arith.extf %w : f32 to f64\n", "w8"
    body += f"    %d = arith.subf %{b}, %{a} : {wide}\n    %m = arith.mulf %d, %{weight} : {wide}\n    %r = arith.addf %{a}, %m : {wide}\n"
    result = "r"
    if t not in ("f32", "f64"):
        body, result = body + f"    %rounded = arith.truncf %r : {wide} to {t}\n", "rounded"
    body += store(result, "o0", f"{C}*{X}*n + {X}*c + x", t)
    taken = lambda at: np.where(((at >= 0) & (at < pixels))[..., None], np.take_along_axis(x.astype(np.float64), np.clip(at, 0, pixels - 1)[..., None], 1), 0)
    want = taken(places) + (taken(places + 1) - taken(places)) * part[..., None]
    tol = 1e-2 if t in ("bf16", "f16") else 3e-5
    case = Case("sampled", "loop", [("n", N), ("c", C), ("x", X)], body, sizes, [(t, x), ("i64", places), ("f32", part)], [(t, np.ascontiguousarray(want.transpose(0, 2, 1)))], tol, tol)
    if strip:
        fits = " and ".join(f"0 < {count} and {count} <= 2147483647" for count in (f"{N}*{P}*{C}", f"{N}*{X}"))
        taken = f"#schedule.threads<strip = {strip}>>"
        case.attributes = f'attributes {{schedule.cases = [#schedule.case<"{fits}", {taken}, #schedule.case<#schedule.threads<strip = 0>>]}} ' if open else f"attributes {{schedule.cases = [#schedule.case<{taken}]}} "
    if open:
        case.dims = {0: [N, P, C], 1: [N, X], 2: [N, X]}
    return case if open and not strip else case.launching("row_strips")


# Every length of a strip, lines that end anywhere in one.
LINES = [lambda s=s, w=w, last=last, t=t: window(2, 3 if not last else 4, 5, w, last=last, strip=s, t=t)
         for s, w, last, t in [(1, 7, 0, "f32"), (2, 7, 0, "f32"), (2, 8, 1, "f32"), (3, 9, 0, "bf16"), (4, 12, 0, "f32"), (4, 13, 1, "f32"), (5, 11, 0, "f16"),
                               (7, 14, 0, "bf16"), (8, 16, 0, "bf16"), (8, 17, 0, "f32"), (8, 16, 0, "f64"), (8, 15, 1, "f64"), (8, 1, 0, "f32")]]
# Steps, dilations, windows of other sides, borders of one side or none.
SHAPES = [lambda a=a: window(*a[0], strip=a[1], **a[2]) for a in [
    ((1, 3, 9, 16), 4, dict(stride=2, t="bf16")), ((1, 3, 9, 24), 8, dict(stride=2, t="bf16", k=(3, 3))), ((1, 2, 11, 21), 4, dict(stride=3, k=(4, 5), pads=((1, 2), (0, 3)))),
    ((1, 2, 13, 16), 4, dict(dilation=2, pads=((2, 2), (2, 2)))), ((1, 2, 13, 20), 8, dict(dilation=3, k=(2, 4), pads=((0, 3), (4, 5)), t="f16")),
    ((1, 2, 9, 16), 4, dict(pads=((0, 0), (0, 0)), t="bf16")), ((1, 2, 9, 15), 8, dict(pads=((0, 0), (0, 0)))), ((2, 2, 1, 40), 8, dict(k=(1, 9), pads=((0, 0), (4, 4)))),
    ((1, 2, 12, 12), 4, dict(stride=2, dilation=2, pads=((2, 2), (2, 2)), kind="mean")), ((1, 2, 8, 8), 4, dict(k=(5, 5), pads=((2, 2), (2, 2)), kind="mean", t="bf16"))]]
DEPTHWISE = [lambda a=a: window(*a[0], kind="depthwise", strip=a[1], **a[2]) for a in [
    ((1, 8, 6, 12), 4, dict(last=True, t="bf16")), ((2, 16, 5, 7), 4, dict(last=True, t="bf16", k=(7, 7), pads=((3, 3), (3, 3)))),
    ((1, 8, 6, 9), 3, dict(last=True, k=(5, 5), pads=((2, 2), (2, 2)))), ((1, 6, 6, 9), 4, dict(last=True, t="f16")), ((1, 5, 6, 9), 8, dict(last=True)),
    ((1, 3, 7, 28), 8, dict(k=(7, 7), pads=((3, 3), (3, 3)), t="bf16")), ((1, 3, 7, 14), 7, dict(k=(5, 5), pads=((2, 2), (2, 2)))),
    ((1, 8, 3, 16), 4, dict(last=True, t="bf16", k=(7, 7), pads=((3, 3), (3, 3)))),
    ((1, 8, 9, 9), 4, dict(last=True, stride=2, t="bf16")), ((1, 8, 9, 9), 4, dict(last=True, dilation=2, pads=((2, 2), (2, 2))))]]
OPEN = [lambda a=a: window(*a[0], open=True, strip=a[1], **a[2]) for a in [
    ((1, 3, 6, 16), 4, dict(t="bf16")), ((2, 2, 6, 13), 8, dict()), ((1, 4, 5, 9), 2, dict(kind="depthwise", last=True)), ((1, 3, 8, 1), 8, dict(t="f16")),
    ((1, 3, 9, 11), 4, dict(stride=2, k=(2, 3), pads=((0, 1), (1, 1))))]]
# What is chosen by itself.
CHOSEN = [lambda: window(1, 8, 7, 7, kind="depthwise", last=True, t="bf16", k=(7, 7), pads=((3, 3), (3, 3))), lambda: window(1, 3, 6, 16, open=True),
          lambda: window(2, 2, 12, 32, stride=2, t="bf16"), lambda: window(1, 4, 5, 6, open=True, kind="depthwise", last=True), lambda: window(0, 4, 5, 6, open=True)]
# Windows whose places lie side by side beside results that do not: no lanes.
STENCILS = [lambda: window(2, 2, 9, 8, k=(4, 8), pads=((0, 0), (0, 0)), strip=2), lambda: stencil(3, 16), lambda: stencil(2, 17, strip=8), lambda: stencil(2, 9, "f64", 2), lambda: stencil(1, 8, strip=8)]

# Elements side by side at places that are computed: whole accesses, pieces, single ones.
SAMPLED = [lambda a=a: sampled(*a) for a in [(2, 16, 9, 40, "f32", 8), (1, 8, 5, 33, "bf16"), (2, 12, 7, 9, "f16"), (1, 5, 6, 10, "f32", 4), (1, 8, 1, 12, "f64"), (1, 9, 6, 10, "f32", 3), (1, 2, 6, 10, "f32", 8)]]
SAMPLED += [lambda a=a: sampled(*a, open=True) for a in [(2, 16, 9, 40, "f32", 8), (1, 7, 5, 12, "bf16", 4), (1, 3, 6, 10)]]

GROUPS = {"sampled": SAMPLED, "strips": LINES + SHAPES, "strips_depthwise": DEPTHWISE, "strips_open": OPEN + CHOSEN, "stencils": STENCILS}
