"""Compares operators with numpy in every element type.     usage: dtypes.py [--kind NAME ...] [--only OPERATOR] [--folded | --symbolic] [--target LIST] [--lathe PATH]

One model per element type holds every operator of dtype_cases.py that the ONNX text allows for it, over operands that fill vectors and
not, of rank 0, empty, and broadcast in each way. Prints what differs; exit code 1 when something does."""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from dtype_cases import cases
from text_model import BF16, NAMES, NUMBERS, TextModel, loaded, stored
from verdict import verdict

OPSET = 22
TOLERANCE = {np.float64: 1e-11, np.float32: 2e-6, np.float16: 1.1e-3, BF16: 8e-3}


class Filtered(TextModel):
    only, folded, symbolic = None, False, False

    def input(self, name, array, kind, dims=None):
        if self.folded:
            return self.constant(name, array, kind)
        # Equal sizes have the same name, as in a model that an exporter wrote.
        return super().input(name, array, kind, [f"size{d}" if d > 1 else d for d in array.shape] if self.symbolic and dims is None else dims)

    def nodes(self, operator, operands, results, **attributes):
        return super().nodes(operator, operands, results, **attributes) if self.only in (None, operator) else [None] * len(results)


def call(command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stderr.strip() or done.stdout.strip()


def same(got, expected, kind, roundings=1):
    if got.shape != expected.shape:
        return False
    if kind not in TOLERANCE:
        return got.dtype == expected.dtype and np.array_equal(got, expected)
    got, expected = got.astype(np.float64), expected.astype(np.float64)
    rtol = TOLERANCE[kind] * roundings
    return np.allclose(got, expected, rtol=rtol, atol=rtol, equal_nan=True)


def compare(kind, options):
    model = Filtered(OPSET)
    model.only, model.folded, model.symbolic = options.only, options.folded, options.symbolic
    cases(model, kind)
    if not model.outputs:
        return 0, []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "model.textproto").write_text(model.text())
        np.savez(folder / "in.npz", **{name: stored(v, k) for name, (v, k) in model.feeds.items()})
        code, said = call([options.lathe, "compile", str(folder / "model.textproto"), "-o", str(folder / "m.so"), "--target", options.target])
        if code:
            return 0, [f"{NAMES[kind]}: compile: exit {code}: {line}" for line in said.splitlines()]
        feeds = ["--inputs", str(folder / "in.npz")] if model.feeds else []
        code, said = call([options.lathe, "run", str(folder / "m.so"), *feeds, "--output-dir", str(folder)])
        if code:
            return 0, [f"{NAMES[kind]}: run: exit {code}: {said}"]
        wrong = []
        for result, result_kind, expected in model.outputs:
            got = loaded(np.load(folder / f"{result}.npy"), result_kind)
            if not same(got, expected, result_kind, model.roundings.get(result, 1)):
                line = next(line for line in model.lines if f'output: "{result}"' in line and "node {" in line).strip()
                wrong.append(f"{NAMES[kind]}: {line[:200]}: {got.shape} {got.ravel()[:12]}, expected {expected.shape} {expected.ravel()[:12]}")
        return len(model.outputs) - len(wrong), wrong


def main():
    names = {name: kind for kind, name in NAMES.items()}
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--kind", nargs="*", choices=sorted(names), default=sorted(names))
    parser.add_argument("--only")
    parser.add_argument("--lathe", default="lathe")
    parser.add_argument("--target", default="host")
    parser.add_argument("--folded", action="store_true", help="operands are constants, so that the compiler computes the results")
    parser.add_argument("--symbolic", action="store_true", help="sizes are symbols")
    options = parser.parse_args()
    total, faults = 0, []
    for name in options.kind:
        right, wrong = compare(names[name], options)
        total += right
        faults += wrong
    return verdict(total, "results", faults, "numpy")


if __name__ == "__main__":
    sys.exit(main())
