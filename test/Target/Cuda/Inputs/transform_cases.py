"""Cases of Fourier transforms, for cases.py. References are numpy's transforms in f64."""
import numpy as np

from case import TYPES, Case, load, rng, store


def transform(rows, n, kind="c2c", t="f32", inverse=False, columns=0, wanted=None, fixed=False, planes=False, turned=0, across="both", window=False):
    """Of rows [R, n], or along the middle one of [R, n, columns]. `planes`: real parts lie in front of all imaginary ones of a row. `turned`: result k of column
    c is multiplied with a root of so many. `across`: which of operand and result has columns side by side, the other has rows. `window`: what is read is
    multiplied with a number for each place."""
    r = rng(f"{kind}{n}")
    width = columns or 1
    given = n // 2 + 1 if kind == "c2r" else n
    results = wanted or (n // 2 + 1 if kind == "r2c" else n)
    shape = (rows, given, width)
    x = r.standard_normal(shape) + (0 if kind == "r2c" else 1j * r.standard_normal(shape))
    real = TYPES[t]
    x = x.real.astype(real) if kind == "r2c" else x.real.astype(real) + 1j * x.imag.astype(real)
    w = r.standard_normal(n).astype(real) if window else np.ones(n)
    seen = x.astype(np.complex128) * (w[None, :given, None] if window else 1)
    if kind == "c2r":
        whole = np.fft.irfft(seen if inverse else seen.conj(), n, axis=1) * n
    else:
        whole = np.fft.ifft(seen, axis=1) * n if inverse else np.fft.fft(seen, axis=1)
    want = whole[:, :results]
    if turned:
        sign = 2j if inverse else -2j
        want = want * np.exp(sign * np.pi * np.arange(results)[None, :, None] * np.arange(width)[None, None, :] / turned)

    def laid(z, pairs, side):
        """In memory, and its offset without the row."""
        count = z.shape[1]
        z = z if side else z.transpose(0, 2, 1)
        parts = [z.real, z.imag] if pairs else [z.real]
        axis = 1 if planes else -1
        flat = np.stack(parts, axis)
        step, column = (width, 1) if side else (1, count)
        unit, part = (1, count * width) if planes or not pairs else (2, 1)
        text = f"{unit * step}*K" + (f" + {unit * column}*c" if columns else "") + (f" + {part}*p" if pairs else "")
        return flat, text, count * width * (2 if pairs else 1)

    reads, from_text, from_row = laid(x, kind != "r2c", across in ("both", "in"))
    made, to_text, to_row = laid(want, kind != "c2r", across in ("both", "out"))
    body = load("x", "i0", f"{from_row}*n + " + from_text.replace("K", "d"), t)
    value = "x"
    if window:
        body += load("w", "i1", "d", t) + f"    %v = arith.mulf %x, %w : {t}\n"
        value = "v"
    flags = "{inverse} " if inverse else ""
    turns = f'turned "c" of {turned} ' if turned else ""
    body += f'    %y = kernel.fft {kind} %{value} along "d" to "f" parts "p" length {n} {turns}{flags}: {t}\n'
    body += store("y", "o0", f"{to_row}*n + " + to_text.replace("K", "f"), t)
    axes = [("n", str(rows) if fixed else "N")] + ([("c", str(columns))] if columns else [])
    axes += [("f", str(results)), ("d", str(given)), ("p", "2")]
    scale = np.abs(want).max(initial=1e-30)
    tolerance = scale * (1e-13 if t == "f64" else 2e-6)
    inputs = [(t, reads.astype(real))] + ([(t, w)] if window else [])
    return Case("fft", "transform", axes, body, {} if fixed else {"N": rows}, inputs, [(t, made)], 0, tolerance)


def of(*args, **more):
    return lambda: transform(*args, **more)


LENGTHS = [2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 16, 20, 26, 32, 35, 49, 60, 64, 81, 100, 105, 121, 128, 169, 200, 210, 243, 256, 343, 400, 480, 512,
           625, 720, 1000, 1001, 1024, 1155, 1331, 2048, 2187, 3000, 4096, 5005, 6561, 8192]

TRANSFORMS = ([of(3, n) for n in LENGTHS] + [of(5, n, inverse=True) for n in (6, 15, 64, 1000, 4096)] +
              [of(3, n, "r2c") for n in (2, 3, 4, 6, 7, 13, 15, 16, 22, 30, 64, 105, 128, 400, 441, 512, 1000, 1001, 2048, 4096, 8192, 16384)] +
              [of(3, n, "c2r", inverse=True) for n in (2, 3, 4, 6, 7, 13, 15, 16, 22, 30, 64, 105, 128, 400, 441, 512, 1000, 1001, 2048, 4096, 8192, 16384)] +
              # The other sign, all frequencies of real numbers, or few of them.
              [of(2, 100, "c2r"), of(2, 45, "c2r"), of(2, 100, "r2c", inverse=True), of(3, 90, "r2c", wanted=90), of(3, 45, "r2c", wanted=45),
               of(2, 1024, "r2c", wanted=1024), of(2, 64, wanted=10), of(2, 1000, wanted=501), of(2, 128, "r2c", wanted=5)] +
              # Many rows, whose number is known or not, and none.
              [of(1, 256), of(1000, 16), of(1000, 7), of(333, 64, fixed=True), of(64, 64, fixed=True), of(17, 1000), of(0, 64), of(300, 8, "r2c"),
               of(129, 30, "c2r", inverse=True)] +
              # Along an axis that is not the innermost.
              [of(2, n, columns=c) for n, c in ((4, 5), (16, 33), (64, 64), (100, 9), (256, 40), (1024, 8), (2048, 5), (8192, 3), (13, 1))] +
              [of(2, 64, "r2c", columns=40), of(2, 100, "r2c", columns=7), of(2, 35, "r2c", columns=12), of(2, 64, "c2r", inverse=True, columns=40),
               of(2, 45, "c2r", inverse=True, columns=11), of(0, 64, columns=8)] +
              # Neighbours lie along one axis in the operand and along another one in the result.
              [of(2, n, columns=c, across=a) for n, c in ((8, 40), (64, 30), (1000, 12)) for a in ("in", "out", "none")] +
              [of(3, 128, columns=64, turned=128 * 64), of(3, 128, columns=64, turned=128 * 64, inverse=True), of(1, 1024, columns=16, turned=1 << 20, across="out")] +
              # Planes, something computed before.
              [of(4, 256, planes=True), of(4, 100, "r2c", planes=True), of(4, 100, "c2r", inverse=True, planes=True), of(5, 400, "r2c", window=True),
               of(5, 100, window=True)] +
              [of(3, n, k, t="f64", inverse=k == "c2r") for n in (8, 13, 100, 1000, 1024, 4096) for k in ("c2c", "r2c", "c2r")] +
              [of(2, 8192, "r2c", t="f64"), of(2, 64, t="f64", columns=24), of(2, 64, t="f64", columns=64, turned=4096, across="out")])

GROUPS = {"transforms": TRANSFORMS}
