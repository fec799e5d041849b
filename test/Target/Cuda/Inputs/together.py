"""Kernels that share a launch, on the emulator and compared with numpy: sums of rows, norms and loops of different sizes.

Usage: together.py [--assemble | --text fixed|open]"""
import os
import subprocess
import sys
import tempfile
import numpy as np

rng = np.random.default_rng(3)


def types(n, c, is_open, k):
    full = f'tensor<?x?xf32, #lathe.dims<"n{k}", "c{k}">>' if is_open else f"tensor<{n}x{c}xf32>"
    return full, (f'tensor<?xf32, #lathe.dims<"n{k}">>' if is_open else f"tensor<{n}xf32>")


def kernel(kind, k, n, c, is_open):
    N, C = (f"n{k}", f"c{k}") if is_open else (n, c)
    full, rows = types(n, c, is_open, k)
    x = rng.standard_normal((n, c)).astype(np.float32)
    load = f'      %x = kernel.load %a["{C}*i + j"] : !kernel.ref<f32> -> f32\n'
    if kind == "double":
        body, out, cls, want = load + f'      %y = arith.addf %x, %x : f32\n      kernel.store %y, %o["{C}*i + j"] : f32, !kernel.ref<f32>\n', full, "loop", x * 2.0
    elif kind == "sum":
        body = load + '      %y = kernel.reduce add %x over ["j"] : f32\n      kernel.store %y, %o["i"] : f32, !kernel.ref<f32>\n'
        out, cls, want = rows, "reduction", x.astype(np.float64).sum(1)
    else:  # each row by its root mean square, without the mean
        body = (load + '      %q = arith.mulf %x, %x : f32\n      %s = kernel.reduce add %q over ["j"] : f32\n      %r = math.sqrt %s : f32\n'
                f'      %y = arith.divf %x, %r : f32\n      kernel.store %y, %o["{C}*i + j"] : f32, !kernel.ref<f32>\n')
        out, cls, want = full, "reduction", x / np.sqrt((x.astype(np.float64) ** 2).sum(1, keepdims=True)) if x.size else x
    text = (f'    %y{k} = kernel.generic {cls} @{kind} axes(i = "{N}", j = "{C}") ins(%x{k} : {full}) outs({out}) {{\n'
            f"    ^bb0(%a: !kernel.ref<f32>, %o: !kernel.ref<f32>):\n{body}    }}\n")
    return f"%x{k}: {full}", text, x, want


def module(parts, is_open):
    made = [kernel(kind, k, n, c, is_open) for k, (kind, n, c) in enumerate(parts)]
    symbols = "".join(f'  lathe.symbol "n{k}" range[0, -1]\n  lathe.symbol "c{k}" range[0, -1]\n' for k in range(len(parts))) if is_open else ""
    text = f"module {{\n{symbols}  func.func @main({', '.join(m[0] for m in made)}) {{\n{''.join(m[1] for m in made)}    return\n  }}\n}}\n"
    sizes = {f"{s}{k}": v for k, (_, n, c) in enumerate(parts) for s, v in (("n", n), ("c", c))} if is_open else {}
    return text, sizes, [m[2] for m in made], [m[3] for m in made]


PARTS = [[("double", 5, 64), ("norm", 3, 100), ("sum", 7, 1030), ("double", 1, 7), ("norm", 2, 2048)],
         [("sum", 130, 3), ("norm", 9, 64), ("double", 33, 40)], [("double", 0, 5), ("sum", 4, 33)]]


def run(parts, is_open, sm, folder, assemble):
    text, sizes, inputs, want = module(parts, is_open)
    source = os.path.join(folder, "kernels.mlir")
    with open(source, "w") as f:
        f.write(text)
    if assemble:
        done = subprocess.run(["lathe-cuda", source, "--together", "--emit=cubin", f"--sm={sm}", "-o", source + ".cubin"], capture_output=True, text=True)
        return done.stderr.strip()[:500] if done.returncode else None
    files = []
    for i, a in enumerate(inputs + [np.full(w.shape, 77) for w in want]):
        files.append(os.path.join(folder, f"{i}.bin"))
        np.ascontiguousarray(a, np.float32).tofile(files[-1])
    args = ["lathe-cuda", source, "--together", "--emit=run", f"--sm={sm}"] + [f"--size={k}={v}" for k, v in sizes.items()]
    done = subprocess.run(args + [f"--buffer={f}" for f in files], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip()[:500]
    for k, w in enumerate(want):
        got = np.fromfile(files[len(inputs) + k], np.float32).reshape(w.shape)
        if not np.allclose(got, w, 1e-4, 1e-4):
            return f"kernel {k} ({parts[k]}) differs by {np.abs(got - w).max()}"
    return None


def main():
    if "--text" in sys.argv:
        print(module(PARTS[0], sys.argv[-1] == "open")[0])
        return 0
    bad = 0
    for parts in PARTS:
        for is_open in (False, True):
            for sm in (75, 90):
                with tempfile.TemporaryDirectory() as folder:
                    error = run(parts, is_open, sm, folder, "--assemble" in sys.argv)
                print(f"{'FAIL' if error else 'ok'} {len(parts)} kernels, {'open' if is_open else 'fixed'}, sm_{sm} {error or ''}", flush=True)
                bad += bool(error)
    print(f"{bad} failures")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
