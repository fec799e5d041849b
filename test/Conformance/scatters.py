"""Compares updates at computed places with numpy.     usage: scatters.py [--symbolic | --folded] [--target LIST] [--lathe PATH]

One model per element type holds ScatterElements, ScatterND and TensorScatter over axes, window sizes, duplicates, indices from the end,
no updates at all, and places that many threads share out. It runs with one thread and with three: the bits are the same. Prints what
differs; exit code 1 when something does."""
import argparse
import pathlib
import sys
import tempfile

import numpy as np

from dtypes import call, same
from text_model import BF16, NAMES, TextModel, as_kind, loaded, stored
import turns
from verdict import verdict

COMBINE = {"none": lambda a, b: b, "add": lambda a, b: a + b, "mul": lambda a, b: a * b, "max": np.maximum, "min": np.minimum}
KINDS = (np.float32, np.float64, np.float16, BF16, np.int64, np.int32, np.uint8, np.int8, np.bool_)
rng = np.random.default_rng(11)


def numbers(shape, kind):
    if kind is np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if kind in (np.float32, np.float64, np.float16, BF16):
        return as_kind(rng.uniform(-2, 2, shape), kind)
    return rng.integers(0, 50, shape).astype(kind)


def combined(reduction, old, new, kind):
    with np.errstate(all="ignore"):
        return as_kind(COMBINE[reduction](old, new), kind)


def scatter_elements(data, indices, updates, axis, reduction, kind):
    out = data.copy()
    for at in np.ndindex(*indices.shape):
        to = at[:axis] + (indices[at],) + at[axis + 1:]
        out[to] = combined(reduction, out[to], updates[at], kind)
    return out


def scatter_nd(data, indices, updates, reduction, kind):
    out = data.copy()
    for at in np.ndindex(*indices.shape[:-1]):
        to = tuple(indices[at])
        out[to] = combined(reduction, out[to], updates[at], kind)
    return out


def tensor_scatter(cache, update, first, mode):
    out, size = cache.copy(), cache.shape[-2]
    for b in range(cache.shape[0]):
        for i in range(update.shape[-2]):
            row = first[b] + i
            out[b, ..., row % size if mode == "circular" else row, :] = update[b, ..., i, :]
    return out


class Cases:
    def __init__(self, kind, symbolic=False, folded=False):
        self.model, self.kind, self.symbolic, self.folded, self.count = TextModel(24), kind, symbolic, folded, 0
        self.reductions = ("none",) if kind is np.bool_ else tuple(COMBINE)

    def input(self, array, kind=None):
        self.count += 1
        if self.folded and array.size:
            return self.model.constant(f"in{self.count}", array, kind or self.kind)
        dims = [f"size{d}" if d > 1 else d for d in array.shape] if self.symbolic else array.shape
        return self.model.input(f"in{self.count}", array, kind or self.kind, dims)

    def indices(self, at):
        """With symbols the depth of an index vector is open, too: the ranks say it."""
        name = f"at{self.count}"
        dims = list(at.shape[:-1]) + ([name + "depth"] if self.symbolic else [at.shape[-1]])
        return self.model.constant(name, at, np.int64) if self.folded and at.size else self.model.input(name, at, np.int64, dims)

    def elements(self, shape, taken, axis, reduction, index=np.int64):
        """Indices of shape `taken`; with "none", duplicates too: the last one stays."""
        data, updates = numbers(shape, self.kind), numbers(taken, self.kind)
        at = rng.integers(-shape[axis], shape[axis], taken).astype(index)
        self.model.node("ScatterElements", [self.input(data), self.input(at, index), self.input(updates)], self.kind,
                        scatter_elements(data, at, updates, axis % len(shape), reduction, self.kind), axis=axis, reduction=reduction)

    def rows(self, shape, count, depth, reduction):
        data, updates = numbers(shape, self.kind), numbers(tuple(count) + shape[depth:], self.kind)
        at = np.stack([rng.integers(-shape[d], shape[d], count) for d in range(depth)], axis=-1)
        operands = [self.input(data), self.indices(at), self.input(updates)]
        self.model.node("ScatterND", operands, self.kind, scatter_nd(data, at, updates, reduction, self.kind), reduction=reduction)

    def apart(self, places, count, heads, width, reduction):
        """Rows of two axes which lie apart in the updates, a head behind the other: threads share out the places."""
        data, updates, at = numbers((places, heads, width), self.kind), numbers((heads, count, width), self.kind), rng.integers(-places, places, (count, 1))
        turned = self.model.node("Transpose", [self.input(updates)], self.kind, updates.transpose(1, 0, 2), perm=[1, 0, 2])
        self.model.node("ScatterND", [self.input(data), self.indices(at), turned], self.kind,
                        scatter_nd(data, at, updates.transpose(1, 0, 2), reduction, self.kind), reduction=reduction)

    def far(self, size, count, reduction):
        """More than caches hold: updates go through queues, of which the first one is full several times, with many for one element."""
        data, updates = numbers((size,), self.kind), numbers((count,), self.kind)
        at = np.where(rng.random(count) < 0.3, rng.integers(0, size, count), rng.integers(0, 500, count) ** 2 % 499)
        self.model.node("ScatterElements", [self.input(data), self.input(at, np.int64), self.input(updates)], self.kind,
                        scatter_elements(data, at, updates, 0, reduction, self.kind), reduction=reduction)

    def cache(self, shape, rows, mode):
        data, updates = numbers(shape, self.kind), numbers(shape[:-2] + (rows,) + shape[-1:], self.kind)
        first = rng.integers(0, shape[-2] - (rows if mode == "linear" else 0), shape[0])
        self.model.node("TensorScatter", [self.input(data), self.input(updates), self.input(first, np.int64)], self.kind,
                        tensor_scatter(data, updates, first, mode), mode=mode)

    def all(self):
        for reduction in self.reductions:
            for shape, taken, axis in (((7,), (20,), 0), ((5, 6), (9, 6), 0), ((5, 6), (5, 9), -1), ((4, 5, 6), (3, 8, 4), 1),
                                       ((3, 2000), (4, 2000), 0), ((3, 2000), (4, 1990), 0), ((70, 3), (200, 3), 0), ((1, 3), (1, 4), 1)):
                self.elements(shape, taken, axis, reduction)
            self.elements((50, 6), (50, 3), 1, reduction, np.int32)
            for shape, count, depth in (((9,), (30,), 1), ((9, 33), (4,), 1), ((9, 3), (2, 5), 1), ((4, 5, 6), (11,), 2),
                                        ((4, 5, 6), (40,), 3), ((300, 16), (500,), 1), ((2, 700), (900,), 2)):
                self.rows(shape, count, depth, reduction)
            self.apart(61, 60, 3, 80, reduction)
            if not self.symbolic:
                self.elements((4, 5), (0, 5), 0, reduction)
                self.rows((4, 5), (0,), 1, reduction)
        if self.kind in (np.float32, np.int64) and not self.folded:
            for reduction in ("add", "min"):
                self.far((8 << 20) // np.dtype(self.kind).itemsize + 1000, 70000, reduction)
        self.cache((2, 3, 8, 20), 2, "linear")
        self.cache((3, 8, 4), 3, "circular")
        return self.model


def run(folder, options, threads):
    out = folder / f"threads{threads}"
    out.mkdir()
    code, said = call([options.lathe, "run", str(folder / "m.so"), "--inputs", str(folder / "in.npz"), "--threads", str(threads), "--output-dir", str(out)])
    return code, said, out


def compare(kind, place, options):
    model = Cases(kind, options.symbolic, options.folded).all()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "model.textproto").write_text(model.text())
        np.savez(folder / "in.npz", **{name: stored(v, k) for name, (v, k) in model.feeds.items()})
        code, said = call([options.lathe, "compile", str(folder / "model.textproto"), "-o", str(folder / "m.so"), "--target", options.target, *turns.effort(place, options.turn)])
        if code:
            return 0, [f"{NAMES[kind]}: compile: {said}"]
        results = []
        for threads in (1, 3):
            code, said, out = run(folder, options, threads)
            if code:
                return 0, [f"{NAMES[kind]}: run: {said}"]
            results.append(out)
        bad, good = [], 0
        for name, k, expected in model.outputs:
            raw, other = (np.load(folder / f"{name}.npy") for folder in results)
            one = loaded(raw, k)
            if raw.tobytes() != other.tobytes():
                bad.append(f"{NAMES[kind]}: {name}: differs with the number of threads")
            elif not same(one, expected, k, 30):
                bad.append(f"{NAMES[kind]}: {name}: {one.shape}, {np.sum(one != expected)} of {expected.size} elements")
            else:
                good += 1
        return good, bad


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--symbolic", action="store_true", help="sizes have names")
    parser.add_argument("--folded", action="store_true", help="operands are constants, so that the compiler computes the results")
    parser.add_argument("--target", default="host")
    parser.add_argument("--lathe", default="lathe")
    turns.add_option(parser)
    options = parser.parse_args()
    good, bad = 0, []
    for place, kind in enumerate(KINDS):
        more, wrong = compare(kind, place, options)
        good += more
        bad += wrong
    return verdict(good, "results", bad, "numpy")


if __name__ == "__main__":
    sys.exit(main())
