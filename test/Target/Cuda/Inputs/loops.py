"""Loops that are one launch, on the emulator and compared with numpy: recurrences with their products, and bodies without any.

Usage: loops.py [--assemble] [SM ...]
       loops.py --text CASE            (prints the case's module)"""
import os
import subprocess
import sys
import tempfile
import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases
from case import dims_of

rng = np.random.default_rng(11)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def half(a, t):
    return cases.from_bf16(cases.to_bf16(a)) if t == "bf16" else np.asarray(a, np.float32)


def tensor(shape, t):
    return f"tensor<{dims_of(shape)}{t}>"


class Loop:
    """One lathe.loop: `body` is the function's text behind its arguments %arg0, %arg1, ... (carried, then captured)."""

    def __init__(self, steps, carried, captured, results, body, constants=()):
        self.steps, self.carried, self.captured, self.results, self.body, self.constants = steps, carried, captured, results, body, constants

    def text(self, n, first):
        """The function, and the op on %xFIRST and so on; dims of open tensors are given as types."""
        arguments = self.carried + self.captured
        types = [a[0] for a in arguments]
        outs = [r[0] for r in self.results]
        inner = [r[1] for r in self.results]
        params = ", ".join(f"%arg{i}: {t}" for i, t in enumerate(types))
        made = "".join(f"    %w{i} = lathe.constant dense<0.0> : {t}\n" for i, (t, _) in enumerate(self.constants))
        function = f"  func.func @steps{n}({params}) -> ({', '.join(inner)}) {{\n{made}{self.body.replace('COUNTER', f'c{n}')}  }}\n"
        names = [f"%x{first + i}" for i in range(len(types))]
        op = (f"    %r{n}:{len(outs)} = lathe.loop @steps{n} carried({', '.join(names[:len(self.carried)])}) captured({', '.join(names[len(self.carried):])}) "
              f'{{count = "", counter = "c{n}", finals = [], initial = [], limit = "{self.steps}", next = [], symbols = []}} : '
              f"({', '.join(types)}) -> ({', '.join(outs)})\n")
        return function, op


def module(loops, symbols=()):
    head = "".join(f'  lathe.symbol "{s}" range[0, -1]\n' for s in symbols)
    head += "".join(f'  lathe.symbol "c{n}" range[0, -1]\n' for n in range(len(loops)))
    functions, ops, params, first = "", "", [], 0
    for n, loop in enumerate(loops):
        function, op = loop.text(n, first)
        functions, ops = functions + function, ops + op
        params += [f"%x{first + i}: {a[0]}" for i, a in enumerate(loop.carried + loop.captured)]
        first += len(loop.carried) + len(loop.captured)
    return f"module {{\n{head}  func.func @main({', '.join(params)}) {{\n{ops}    return\n  }}\n{functions}}}\n"


def product(rows, columns, depth, t, extra=""):
    """%p = the carried rows times the constant, then what `extra` makes of it (it ends in a value %y)."""
    return (f'    %p = kernel.generic contraction @product axes(i = "{rows}", j = "{columns}", k = "{depth}") ins(%arg0, %w0 : H, {tensor((columns, depth), t)}) outs(P) {{\n'
            f'    ^bb0(%h: !kernel.ref<{t}>, %w: !kernel.ref<{t}>, %o: !kernel.ref<{t}>):\n'
            f'      %s = kernel.contract %h["{depth}*i + k"], %w["{depth}*j + k"] over ["k"] : (!kernel.ref<{t}>, !kernel.ref<{t}>) -> f32\n'
            + extra + f'      kernel.store %y, %o["{columns}*i + j"] : {t}, !kernel.ref<{t}>\n    }}\n')


def gate(name, load, kind="sigmoid"):
    if kind == "tanh":
        return f"      %{name} = math.tanh %{load} : f32\n"
    return (f"      %{name}n = arith.negf %{load} : f32\n      %{name}e = math.exp %{name}n : f32\n      %{name}o = arith.addf %{name}e, %one : f32\n"
            f"      %{name} = arith.divf %one, %{name}o : f32\n")


def lstm(rows, hidden, steps, t="f32", open_rows=False):
    """Gates in the order input, forget, cell, output; x holds the operand's part. Results: h, c, all h."""
    B = "B" if open_rows else str(rows)
    H = f'tensor<?x{hidden}x{t}, #lathe.dims<"B", "{hidden}">>' if open_rows else tensor((rows, hidden), t)
    P = f'tensor<?x{4 * hidden}x{t}, #lathe.dims<"B", "{4 * hidden}">>' if open_rows else tensor((rows, 4 * hidden), t)
    X = f'tensor<{steps}x?x{4 * hidden}x{t}, #lathe.dims<"{steps}", "B", "{4 * hidden}">>' if open_rows else tensor((steps, rows, 4 * hidden), t)
    Y = f'tensor<{steps}x?x{hidden}x{t}, #lathe.dims<"{steps}", "B", "{hidden}">>' if open_rows else tensor((steps, rows, hidden), t)
    G, narrow = 4 * hidden, t == "bf16"
    to = lambda v, w: f"      %{v} = arith.extf %{w} : bf16 to f32\n" if narrow else ""
    ld = lambda v, ref, off: f'      %{v}{"h" if narrow else ""} = kernel.load %{ref}["{off}"] : !kernel.ref<{t}> -> {t}\n' + to(v, v + "h")
    st = lambda v, ref, off: (f"      %{v}t = arith.truncf %{v} : f32 to bf16\n" if narrow else "") + f'      kernel.store %{v}{"t" if narrow else ""}, %{ref}["{off}"] : {t}, !kernel.ref<{t}>\n'
    extra = ld("xv", "x", f"{G}*B*COUNTER + {G}*i + j" if open_rows else f"{G * rows}*COUNTER + {G}*i + j") + "      %yf = arith.addf %s, %xv : f32\n"
    extra += "      %y = arith.truncf %yf : f32 to bf16\n" if narrow else ""
    extra = extra.replace("%yf", "%y") if not narrow else extra
    body = product(B, G, hidden, t, extra).replace("ins(%arg0, %w0 : H,", "ins(%arg0, %w0, %arg2 : H,").replace(f"{tensor((G, hidden), t)})", f"{tensor((G, hidden), t)}, X)")
    body = body.replace("%w: !kernel.ref<" + t + ">,", "%w: !kernel.ref<" + t + ">, %x: !kernel.ref<" + t + ">,")
    body += (f'    %n:2 = kernel.generic loop @gates axes(i = "{B}", j = "{hidden}") ins(%p, %arg1 : P, H) outs(H, H) {{\n'
             f"    ^bb0(%g: !kernel.ref<{t}>, %c: !kernel.ref<{t}>, %oh: !kernel.ref<{t}>, %oc: !kernel.ref<{t}>):\n"
             "      %one = arith.constant 1.0 : f32\n" + ld("a", "g", f"{G}*i + j") + ld("b", "g", f"{G}*i + j + {hidden}") +
             ld("d", "g", f"{G}*i + j + {2 * hidden}") + ld("e", "g", f"{G}*i + j + {3 * hidden}") + ld("old", "c", f"{hidden}*i + j") +
             gate("ig", "a") + gate("fg", "b") + gate("cg", "d", "tanh") + gate("og", "e") +
             "      %kept = arith.mulf %fg, %old : f32\n      %new = arith.mulf %ig, %cg : f32\n      %cell = arith.addf %kept, %new : f32\n" +
             st("cell", "oc", f"{hidden}*i + j") + "      %sq = math.tanh %cell : f32\n      %hid = arith.mulf %og, %sq : f32\n" + st("hid", "oh", f"{hidden}*i + j") +
             "    }\n    return %n#0, %n#1, %n#0 : H, H, H\n")
    body = body.replace("B*COUNTER", "B*COUNTER")
    for name, v in (("H", H), ("P", P), ("X", X)):
        body = __import__("re").sub(rf"(?<![A-Za-z0-9_]){name}(?![A-Za-z0-9_\"*])", lambda _: v, body)
    h, c = half(rng.standard_normal((rows, hidden)), t), half(rng.standard_normal((rows, hidden)), t)
    x, w = half(rng.standard_normal((steps, rows, G)), t), half(rng.standard_normal((G, hidden)) / hidden ** 0.5, t)
    ys, hh, cc = [], h.astype(np.float64), c.astype(np.float64)
    for s in range(steps):
        g = half(hh @ w.T.astype(np.float64) + x[s], t).astype(np.float64)
        i, f, a, o = np.split(g, 4, 1)
        full = sigmoid(f) * cc + sigmoid(i) * np.tanh(a)
        hh, cc = half(sigmoid(o) * np.tanh(full), t).astype(np.float64), half(full, t).astype(np.float64)
        ys.append(hh)
    y = np.stack(ys) if ys else np.zeros((0, rows, hidden))
    loop = Loop(steps, [(H, h), (H, c)], [(X, x)], [(H, H), (H, H), (Y, H)], body, [(tensor((G, hidden), t), w)])
    return loop, [(t, h), (t, c), (t, x), (t, w)], [(t, hh), (t, cc), (t, y)]


def rnn(rows, hidden, steps, collect=True):
    """h = tanh(h w + x): one kernel, whose value is carried and may be collected, too."""
    H, X, Y = tensor((rows, hidden), "f32"), tensor((steps, rows, hidden), "f32"), tensor((steps, rows, hidden), "f32")
    extra = (f'      %xv = kernel.load %x["{rows * hidden}*COUNTER + {hidden}*i + j"] : !kernel.ref<f32> -> f32\n'
             "      %z = arith.addf %s, %xv : f32\n      %y = math.tanh %z : f32\n")
    body = product(rows, hidden, hidden, "f32", extra).replace("outs(P)", "outs(H)").replace("ins(%arg0, %w0 : H,", "ins(%arg0, %w0, %arg1 : H,")
    body = body.replace(f"{tensor((hidden, hidden), 'f32')}) outs", f"{tensor((hidden, hidden), 'f32')}, {X}) outs")
    body = body.replace("%w: !kernel.ref<f32>,", "%w: !kernel.ref<f32>, %x: !kernel.ref<f32>,")
    body += "    return %p" + (", %p : H, H\n" if collect else " : H\n")
    body = __import__("re").sub(r"(?<![A-Za-z0-9_])H(?![A-Za-z0-9_])", lambda _: H, body)
    h, x = rng.standard_normal((rows, hidden)).astype(np.float32), rng.standard_normal((steps, rows, hidden)).astype(np.float32)
    w = (rng.standard_normal((hidden, hidden)) / hidden ** 0.5).astype(np.float32)
    ys, hh = [], h.astype(np.float64)
    for s in range(steps):
        hh = np.tanh(hh @ w.T.astype(np.float64) + x[s])
        ys.append(hh)
    results, want = [(H, H)], [("f32", hh)]
    if collect:
        results.append((Y, H))
        want.append(("f32", np.stack(ys)))
    return Loop(steps, [(H, h)], [(X, x)], results, body, [(tensor((hidden, hidden), "f32"), w)]), [("f32", h), ("f32", x), ("f32", w)], want


def mixed(rows, hidden, steps):
    """A product whose result the next kernel reads in other columns than its own: the blocks wait for one another in between."""
    loop, inputs, _ = rnn(rows, hidden, steps, False)
    H = tensor((rows, hidden), "f32")
    loop.body = loop.body.rsplit("    return", 1)[0] + (
        f'    %q = kernel.generic loop @turned axes(i = "{rows}", j = "{hidden}") ins(%p, %arg0 : {H}, {H}) outs({H}) {{\n'
        "    ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %o: !kernel.ref<f32>):\n"
        f'      %u = kernel.load %a["{hidden}*i - j + {hidden - 1}"] : !kernel.ref<f32> -> f32\n'
        f'      %v = kernel.load %b["{hidden}*i + j"] : !kernel.ref<f32> -> f32\n      %y = arith.addf %u, %v : f32\n'
        f'      kernel.store %y, %o["{hidden}*i + j"] : f32, !kernel.ref<f32>\n    }}\n    return %q : {H}\n')
    h, x, w = (a for _, a in inputs)
    hh = h.astype(np.float64)
    for s in range(steps):
        hh = np.tanh(hh @ w.T.astype(np.float64) + x[s])[:, ::-1] + hh
    return loop, inputs, [("f32", hh)]


def plain(n, steps):
    """No product: each element is its own sum, collected."""
    H, X = tensor((n,), "f32"), tensor((steps, n), "f32")
    body = (f'    %q = kernel.generic loop @sum axes(i = "{n}") ins(%arg0, %arg1 : {H}, {X}) outs({H}) {{\n'
            "    ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %o: !kernel.ref<f32>):\n"
            '      %u = kernel.load %a["i"] : !kernel.ref<f32> -> f32\n'
            f'      %v = kernel.load %b["{n}*COUNTER + i"] : !kernel.ref<f32> -> f32\n      %y = arith.addf %u, %v : f32\n'
            f'      kernel.store %y, %o["i"] : f32, !kernel.ref<f32>\n    }}\n    return %q, %q : {H}, {H}\n')
    h, x = rng.standard_normal(n).astype(np.float32), rng.standard_normal((steps, n)).astype(np.float32)
    y = h + np.cumsum(x.astype(np.float64), 0)
    return Loop(steps, [(H, h)], [(X, x)], [(H, H), (X, H)], body), [("f32", h), ("f32", x)], [("f32", y[-1] if steps else h), ("f32", y)]


CASES = {
    "lstm": lambda: ([lstm(3, 24, 4)], {}, 1e-4),
    "lstm_one_row": lambda: ([lstm(1, 8, 3)], {}, 1e-4),
    "lstm_bf16": lambda: ([lstm(8, 32, 3, "bf16")], {}, 2e-2),
    "lstm_odd": lambda: ([lstm(5, 13, 3)], {}, 1e-4),
    "lstm_few_blocks": lambda: ([lstm(2, 136, 2)], {}, 1e-4),
    "lstm_no_step": lambda: ([lstm(2, 8, 0)], {}, 1e-4),
    "lstm_many_rows": lambda: ([lstm(19, 20, 2)], {}, 1e-4),
    "lstm_open_rows": lambda: ([lstm(11, 16, 3, open_rows=True)], {"B": 11}, 1e-4),
    "lstm_open_rows_bf16": lambda: ([lstm(9, 16, 2, "bf16", open_rows=True)], {"B": 9}, 2e-2),
    "rnn": lambda: ([rnn(4, 40, 5)], {}, 1e-4),
    "rnn_odd": lambda: ([rnn(3, 37, 4)], {}, 1e-4),
    "rnn_last": lambda: ([rnn(2, 16, 5, False)], {}, 1e-4),
    "two_directions": lambda: ([rnn(3, 16, 4), lstm(2, 8, 6)], {}, 1e-4),
    "mixed": lambda: ([mixed(2, 34, 3)], {}, 1e-4),
    "plain": lambda: ([plain(700, 5)], {}, 1e-5),
    "plain_once": lambda: ([plain(3, 1)], {}, 1e-5),
}

# Too large for the emulator: for a look at the code.
TEXTS = {"lstm_deep": lambda: ([lstm(8, 256, 2, "bf16")], {}, 0)}


def parts(name):
    made, sizes, tolerance = {**CASES, **TEXTS}[name]()
    loops = [m[0] for m in made]
    return module(loops, sizes), sizes, [t for m in made for t in m[1]], [t for m in made for t in m[2]], tolerance


def write(path, t):
    kind, a = t
    (cases.to_bf16(a) if kind == "bf16" else np.ascontiguousarray(a, cases.TYPES[kind])).tofile(path)


def read(path, t):
    kind, a = t
    raw = np.fromfile(path, np.uint16 if kind == "bf16" else cases.TYPES[kind])
    return (cases.from_bf16(raw) if kind == "bf16" else raw).reshape(np.asarray(a).shape)


def run(name, sm, folder, assemble, processors):
    text, sizes, inputs, want, tolerance = parts(name)
    source = os.path.join(folder, "loop.mlir")
    with open(source, "w") as f:
        f.write(text)
    if assemble:
        done = subprocess.run(["lathe-cuda", source, "--emit=cubin", f"--sm={sm}", "-o", source + ".cubin"], capture_output=True, text=True)
        return done.stderr.strip()[:600] if done.returncode else None
    files = []
    for i, t in enumerate(inputs + want):
        files.append(os.path.join(folder, f"{i}.bin"))
        write(files[-1], t if i < len(inputs) else (t[0], np.full_like(np.asarray(t[1], np.float32), 77)))
    args = ["lathe-cuda", source, "--emit=run", f"--sm={sm}", f"--processors={processors}"] + [f"--size={k}={v}" for k, v in sizes.items()]
    done = subprocess.run(args + [f"--buffer={f}" for f in files], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip()[:600]
    for i, t in enumerate(want):
        got, expected = read(files[len(inputs) + i], t).astype(np.float64), np.asarray(t[1], np.float64)
        if not np.allclose(got, expected, tolerance, tolerance):
            worst = np.unravel_index(np.nanargmax(np.abs(got - expected)), expected.shape)
            return f"result {i} differs: {got[worst]} at {worst}, expected {expected[worst]}"
    return None


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("-")]
    if "--text" in sys.argv:
        print(parts(arguments[0])[0])
        return 0
    names = [a for a in arguments if a in CASES] or list(CASES)
    bad = 0
    for name in names:
        for sm, processors in ((75, 8), (90, 132)):
            with tempfile.TemporaryDirectory() as folder:
                error = run(name, sm, folder, "--assemble" in sys.argv, processors)
            print(f"{'FAIL' if error else 'ok'} {name} sm_{sm} {error or ''}", flush=True)
            bad += bool(error)
    print(f"{bad} failures")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
