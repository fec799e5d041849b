"""Runs the cases of a group (see cases.py) on the emulator for these architectures (75 and 90) and compares with numpy.

With --assemble it also has ptxas take them, for architectures of its own: what each case calls, for one of the architectures in turn, and for each
architecture every entry point of a kernel's once, in the first case of the group that has one of that name. With --assemble-all all of each.

Usage: emulate.py GROUP [SM ...] [--assemble [SM ...] | --assemble-all [SM ...]]"""
import argparse
import os
import subprocess
import sys
import tempfile
import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases


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


def failure(command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stderr.strip()[:600] if done.returncode else None


def run(case, command, folder, assembling):
    """On the emulator, against what is expected; `assembling`: arguments with which ptxas takes the code, too."""
    files = []
    for i, t in enumerate(case.inputs + case.expected):
        files.append(os.path.join(folder, f"{i}.bin"))
        fill = i < len(case.inputs)
        write(files[-1], t if fill else (t[0], np.full_like(np.asarray(t[1], np.float32), 77)))
    if case.launches and launches(case, command) != case.launches:
        return f"calls {launches(case, command)}, not {case.launches}"
    if fault := failure(command + ["--emit=run", *assembling] + [f"--buffer={f}" for f in files]):
        return fault
    for i, t in enumerate(case.expected):
        got = read(files[len(case.inputs) + i], t).astype(np.float64)
        want = np.asarray(t[1], np.float64)
        if not np.allclose(got, want, case.rtol, case.atol, equal_nan=True):
            worst = np.unravel_index(np.nanargmax(np.abs(got - want)), want.shape)
            return f"result {i} differs: {got[worst]} at {worst}, expected {want[worst]}; {np.mean(~np.isclose(got, want, case.rtol, case.atol)):.3f} of it"
    return None


def check(case, sm, options, number, names):
    """`names`: a folder for the names of entry points that ptxas has taken, which the group's cases share."""
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "kernel.mlir")
        with open(source, "w") as f:
            f.write(case.mlir())
        command, cubin = ["lathe-cuda", source, f"--sm={sm}"], ["-o", source + ".cubin"]
        if sm in options.assemble_all and (fault := failure(command + ["--emit=cubin", *cubin])):
            return fault
        command += told(case)
        assembling = []
        if sm in options.assemble:
            called = sm == options.assemble[number % len(options.assemble)]
            assembling = [f"--seen={names}/{sm}", f"--called={called}".lower(), *cubin]
        if sm in options.sms:
            return run(case, command, folder, assembling)
        return failure(command + ["--emit=cubin", *assembling]) if assembling else None


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("group")
    parser.add_argument("sms", nargs="*", type=int, metavar="SM")
    parser.add_argument("--assemble", nargs="*", type=int, metavar="SM")
    parser.add_argument("--assemble-all", nargs="*", type=int, metavar="SM")
    options = parser.parse_args()
    usual = [75, 90]
    options.sms = options.sms or usual
    for key in ("assemble", "assemble_all"):  # none; the usual ones; these
        asked = getattr(options, key)
        setattr(options, key, [] if asked is None else asked or usual)
    bad = 0
    with tempfile.TemporaryDirectory() as names:
        for i, make in enumerate(cases.GROUPS[options.group]):
            case = make()
            for sm in sorted({*options.sms, *options.assemble, *options.assemble_all}):
                error = check(case, sm, options, i, names)
                shapes = " ".join("x".join(map(str, t[1].shape)) for t in case.inputs)
                print(f"{'FAIL' if error else 'ok'} {case.name} sm_{sm} {shapes} {error or ''}")
                bad += bool(error)
    print(f"{bad} failures")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
