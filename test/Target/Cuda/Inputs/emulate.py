"""Runs the cases of a group (see cases.py) on the emulator for both architectures and compares with numpy.

With --assemble it only has ptxas take them: what each case calls, for one of the architectures in turn, and for each architecture every entry point
of a kernel's once, in the first case of the group that has one of that name. With --assemble-all all of each.

Usage: emulate.py [--assemble | --assemble-all] GROUP [SM ...]"""
import os
import subprocess
import sys
import tempfile
import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases


HOW = sys.argv.pop(1) if sys.argv[1].startswith("--assemble") else None


def write(path, t):
    kind, a = t
    a = cases.to_bf16(a) if kind == "bf16" else np.ascontiguousarray(a, cases.TYPES[kind])
    a.tofile(path)


def read(path, t):
    kind, a = t
    raw = np.fromfile(path, np.uint16 if kind == "bf16" else cases.TYPES[kind])
    return (cases.from_bf16(raw) if kind == "bf16" else raw).reshape(a.shape)


def launches(case, args):
    """The entry points that the case's plan calls, as the words of LATHE_CUDA_* in Format.h say."""
    ask = lambda what: subprocess.run(args + [f"--emit={what}"], capture_output=True, text=True).stdout.split()
    entries, words = ask("entries"), [int(w) for w in ask("plan")]
    following = [words[208 + 4 * i:] for i in range(words[11])]
    return [entries[words[0]]] + [entries[w[0]] for w in following if w[1]]


def told(case):
    """What plans are made for."""
    return [f"--size={k}={v}" for k, v in case.sizes.items()] + ([f"--processors={case.processors}"] if case.processors else [])


def assemble(case, source, sm, folder, called):
    """`folder`: of names that the group's cases share."""
    args = []
    if HOW == "--assemble":
        args = [f"--seen={folder}/{sm}", f"--called={called}".lower(), *told(case)]
    done = subprocess.run(["lathe-cuda", source, "--emit=cubin", f"--sm={sm}", "-o", source + ".cubin", *args], capture_output=True, text=True)
    return done.stderr.strip()[:600] if done.returncode else None


def run(case, sm, folder, names, called):
    source = os.path.join(folder, "kernel.mlir")
    with open(source, "w") as f:
        f.write(case.mlir())
    if HOW:
        return assemble(case, source, sm, names, called)
    files = []
    for i, t in enumerate(case.inputs + case.expected):
        files.append(os.path.join(folder, f"{i}.bin"))
        fill = i < len(case.inputs)
        write(files[-1], t if fill else (t[0], np.full_like(np.asarray(t[1], np.float32), 77)))
    args = ["lathe-cuda", source, f"--sm={sm}", *told(case)]
    if case.launches and launches(case, args) != case.launches:
        return f"calls {launches(case, args)}, not {case.launches}"
    done = subprocess.run(args + ["--emit=run"] + [f"--buffer={f}" for f in files], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip()[:600]
    for i, t in enumerate(case.expected):
        got = read(files[len(case.inputs) + i], t).astype(np.float64)
        want = np.asarray(t[1], np.float64)
        if not np.allclose(got, want, case.rtol, case.atol, equal_nan=True):
            worst = np.unravel_index(np.nanargmax(np.abs(got - want)), want.shape)
            return f"result {i} differs: {got[worst]} at {worst}, expected {want[worst]}; {np.mean(~np.isclose(got, want, case.rtol, case.atol)):.3f} of it"
    return None


def main():
    sms = [int(a) for a in sys.argv[2:]] or [75, 90]
    bad = 0
    with tempfile.TemporaryDirectory() as names:
        for i, make in enumerate(cases.GROUPS[sys.argv[1]]):
            case = make()
            for sm in sms:
                with tempfile.TemporaryDirectory() as folder:
                    error = run(case, sm, folder, names, sm == sms[i % len(sms)])
                shapes = " ".join("x".join(map(str, t[1].shape)) for t in case.inputs)
                print(f"{'FAIL' if error else 'ok'} {case.name} sm_{sm} {shapes} {error or ''}")
                bad += bool(error)
    print(f"{bad} failures")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
