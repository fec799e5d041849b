"""Scans, sorts and selections against numpy: types, axes, ties, NaN, infinities, sizes around vectors and blocks, open sizes.

Usage: order.py [--target T] [--symbolic] [--only N] [--turn K/N]"""
import argparse
import subprocess
import sys
import tempfile
import numpy as np
from text_model import BF16, NAMES, TextModel, as_kind, loaded, stored
from turns import add_option, effort
from verdict import verdict

FLOATS = [np.float32, np.float64, np.float16, BF16]
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
rng = np.random.default_rng(11)


def values(kind, shape, ties):
    """With ties few different numbers; floats with NaN, infinities and both zeros."""
    if kind not in FLOATS:
        info = np.iinfo(kind)
        low, high = (0 if info.min == 0 else -3, 4) if ties else (info.min, info.max)
        return rng.integers(low, high, shape, dtype=kind, endpoint=True)
    x = rng.integers(-3, 4, shape) if ties else rng.standard_normal(shape) * 9
    x = np.asarray(x, np.float64)
    special = rng.random(shape)
    for i, v in enumerate([np.nan, np.inf, -np.inf, 0.0, -0.0]):
        x = np.where((special > i * 0.02) & (special < (i + 1) * 0.02), v, x)
    return as_kind(x, kind)


def order(x, axis, descending):
    """Stable; NaN is the largest."""
    rank = np.unique(x, return_inverse=True)[1].reshape(x.shape).astype(np.int64)  # numpy has NaN last and once
    return np.argsort(-rank if descending else rank, axis, kind="stable")


def scan(x, kind, axis, product, exclusive, reverse):
    wide = np.float64 if kind in FLOATS else kind
    y = np.flip(x, axis) if reverse else x
    with np.errstate(all="ignore"):
        y = (np.cumprod if product else np.cumsum)(y.astype(wide), axis, dtype=wide)
    if exclusive:
        first = np.full_like(np.take(y, [0], axis), 1 if product else 0) if y.shape[axis] else y
        y = np.concatenate([first, np.delete(y, -1, axis)], axis) if y.shape[axis] else y
    return np.flip(y, axis) if reverse else y


class Models:
    def __init__(self, symbolic):
        self.symbolic, self.all = symbolic, []

    def dims(self, shape):
        return [f"d{i}" for i in range(len(shape))] if self.symbolic else None

    def one(self, opset, x, kind):
        model = TextModel(opset)
        self.all.append(model)
        return model, model.input("x", x, kind, self.dims(x.shape))

    def scans(self, kind, shape, axis, **flags):
        integers = kind not in FLOATS
        x = values(kind, shape, True) if integers else as_kind(rng.standard_normal(shape), kind)
        model, name = self.one(14, x, kind)
        for exclusive in (0, 1):
            for reverse in (0, 1):
                y = scan(x, kind, axis, False, exclusive, reverse)
                model.node("CumSum", [name, model.integers(axis)], kind, y, exclusive=exclusive, reverse=reverse)
        self.tolerance(model, shape[axis])

    def products(self, kind, shape, axis):
        x = as_kind(1 + rng.random(shape) / 16, kind) if kind in FLOATS else values(kind, shape, True)
        model, name = self.one(26, x, kind)
        model.node("CumProd", [name, model.integers(axis)], kind, scan(x, kind, axis, True, 0, 1), reverse=1)
        self.tolerance(model, shape[axis])

    def tolerance(self, model, steps):
        model.roundings = {name: steps + 2 for name, _, _ in model.outputs}

    def tops(self, kind, shape, axis, counts, ties=True, rising=False):
        x = values(kind, shape, ties)
        if rising:  # each element is wanted when it comes, or none
            x = np.take_along_axis(x, order(x, axis, False), axis)
        model, name = self.one(11, x, kind)
        for count in counts:
            for largest in (0, 1):
                at = np.take(order(x, axis, largest), range(count), axis)
                results = [(kind, np.take_along_axis(x, at, axis)), (np.int64, at)]
                model.nodes("TopK", [name, model.integers([count])], results, axis=axis, largest=largest)

    def uniques(self, kind, shape, axis):
        x = np.asarray(rng.integers(0, 5, shape), np.float64)
        x = as_kind(x, kind) if kind in FLOATS or np.iinfo(kind).min == 0 else (x - 2).astype(kind)
        model, name = self.one(11, x, kind)
        for ordered in (1, 0):
            y, first, inverse, count = np.unique(x, True, True, True, axis=axis)
            inverse = inverse.ravel()
            if not ordered:
                again = np.argsort(first)
                place = np.argsort(again)
                y, first, inverse, count = np.take(y, again, axis or 0), first[again], place[inverse], count[again]
            extra = {} if axis is None else {"axis": axis}
            model.nodes("Unique", [name], [(kind, y)] + [(np.int64, v) for v in (first, inverse, count)], sorted=ordered, **extra)


def build(symbolic):
    m = Models(symbolic)
    some = [np.float16, np.int64]  # open sizes change no element's code
    for kind in some if symbolic else FLOATS + [np.int32, np.int64, np.uint32, np.uint64]:
        m.scans(kind, (3, 37), 1)
        m.scans(kind, (5, 9, 21), 1)
    for n in (1, 2, 15, 16, 17, 31, 33, 64, 257, 1023, 1025, 5000):
        m.scans(np.float32, (3, n), 1)
        m.scans(np.int64, (n, 3), 0)
    for n in (1, 7, 16, 17, 63, 64, 65, 130):
        m.scans(np.float32, (4, 5, n), 1)
    for n in (257, 512, 513, 1100):
        m.scans(np.float32, (6, n), 0)
    m.products(np.float32, (4, 70), 1)
    m.products(np.int32, (70, 20), 0)
    m.scans(np.float32, (1, 1, 1), 2)
    for kind in some if symbolic else FLOATS + INTEGERS:
        for ties in (True, False):
            m.tops(kind, (3, 70), 1, [1, 5, 35, 70], ties)
        m.tops(kind, (33, 5), 0, [33])
    for n in (1, 2, 17, 40, 41, 64, 300, 4095, 4096, 4097, 9000):
        m.tops(np.float32, (2, n), 1, sorted({1, n // 2, n} - {0}), n % 2 == 1)
        m.tops(np.int64, (2, n), 1, [n])
    m.tops(np.float32, (3, 4, 5), 1, [3])
    for kind in (np.float32, np.int64, np.float16):
        m.tops(kind, (50, 37), 0, [1, 2, 4, 5, 50])
        m.tops(kind, (20, 45), 0, [1, 3, 20])
        m.tops(kind, (4, 37), 0, [1, 3, 4])
        m.tops(kind, (5, 70, 1), 1, [1, 5, 70])  # as many sequences side by side as turn out: one
        m.scans(kind, (5, 70, 1), 1)
    m.tops(np.float16, (3, 1030), 1, [1], False)
    m.tops(np.float32, (2, 60000), 1, [1, 50, 2000, 3751, 59000])
    for kind in (np.float32, np.int64):  # few are kept in a heap, more are collected: up to 64, an eighth and a sixteenth of a row
        for n, counts in ((511, [63, 64]), (512, [64, 65]), (1040, [65, 66]), (9000, [64, 65, 562, 563, 4500])):
            m.tops(kind, (2, n), 1, counts, False, True)
            m.tops(kind, (2, n), 1, counts, True)
    if not symbolic:  # sizes that are open are at least 1
        m.tops(np.float32, (3, 0), 1, [0])
        for kind in FLOATS + INTEGERS:
            m.uniques(kind, (90,), None)
            m.uniques(kind, (12, 2), 0)
        m.uniques(np.float32, (4, 5, 6), None)
        m.uniques(np.int64, (3, 40), 1)
        m.uniques(np.int64, (3000,), None)
        m.uniques(np.uint64, (1,), None)
        m.uniques(np.float32, (40, 1), 0)
    return m.all


def agrees(got, kind, want, steps):
    """Sums of floats are rounded at each step, what is moved is the same; a NaN is a NaN."""
    if got.shape != np.shape(want):
        return False
    if kind not in FLOATS:
        return np.array_equal(got, want)
    got, want = got.astype(np.float64), np.asarray(want, np.float64)
    if not steps:
        signs = np.isnan(want) | (np.signbit(got) == np.signbit(want))  # -0 and 0 tie, and each stays what it is
        return np.array_equal(got, want, equal_nan=True) and bool(np.all(signs))
    epsilon = {np.float32: 2**-24, np.float64: 2**-53, np.float16: 2**-11, BF16: 2**-8}[kind]
    sums = 2**-24 if kind in (np.float16, BF16) else epsilon  # they add in f32
    bound = (sums * steps * 4 + 2 * epsilon) * (1 + np.abs(want)) + sums * steps * 4 * np.sqrt(steps)
    return bool(np.all(np.abs(got - want) <= bound))


def check(model, target, flags, folder):
    source, library, given = (f"{folder}/{n}" for n in ("m.textproto", "m.so", "in.npz"))
    with open(source, "w") as f:
        f.write(model.text())
    np.savez(given, **{n: stored(a, kind) for n, (a, kind) in model.feeds.items()})
    command = ["lathe", "compile", source, "-o", library] + (["--target", target] if target else []) + flags
    for step in (command, ["lathe", "run", library, "--inputs", given, "--output-dir", folder]):
        done = subprocess.run(step, capture_output=True, text=True)
        if done.returncode:
            return [f"{' '.join(step[:2])} exits with {done.returncode}: {done.stderr.strip()[:300]}"]
    faults = []
    for name, kind, want in model.outputs:
        if not agrees(loaded(np.load(f"{folder}/{name}.npy"), kind), kind, want, model.roundings.get(name, 0)):
            shapes = [a.shape for a, _ in model.feeds.values()]
            faults.append(f"{name} of {NAMES[kind]} {shapes} differs")
    return faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--target")
    parser.add_argument("--symbolic", action="store_true")
    parser.add_argument("--only", type=int)
    add_option(parser)
    a = parser.parse_args()
    good, faults = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for i, model in enumerate(build(a.symbolic)):
            if a.only is not None and i != a.only:
                continue
            found = [f"{i}: {fault}" for fault in check(model, a.target, effort(i, a.turn), folder)]
            faults += found
            good += max(0, len(model.outputs) - len(found))
    return verdict(good, "results", faults, "numpy")


if __name__ == "__main__":
    sys.exit(main())
