"""Compares elements that lists of places say, along rows, with numpy.     usage: lists.py [--symbolic] [--target LIST] [--lathe PATH]

Where the places of a vector's lanes are near to one another, lanes pick from a few elements side by side; elsewhere they are gathered. Lists go up, down, stand
still, repeat, jump by as much as two vectors and more, and are in no order; rows have one element to a few vectors and a rest, and end with the operand, so that
nothing behind it may be read. Prints what differs; exit code 1 when something does."""
import argparse
import pathlib
import sys
import tempfile

import numpy as np

from dtypes import call, same
from text_model import NAMES, TextModel
from verdict import verdict

KINDS = (np.float32, np.int32, np.int64, np.float16)
SIZES = (1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 63, 64, 65, 100)
rng = np.random.default_rng(3)


def lists(size, count):
    """Places in a row of so many elements."""
    up = np.sort(rng.integers(0, size, count))
    steps = np.arange(count)
    yield "up", up
    yield "down", up[::-1]
    yield "enlarged", steps * size // max(count, 1)
    yield "last", np.full(count, size - 1)
    yield "stepped", np.minimum(steps * 2, size - 1)
    yield "ends", np.where(steps % 2, size - 1, 0)
    yield "far in the middle", np.where(steps % 16 == 7, size - 1, np.minimum(steps % 16, size - 1))
    yield "from behind", up - size
    yield "any", rng.integers(-size, size, count)
    for apart in (15, 16, 31, 32):  # the reach of one vector and of two
        yield f"{apart} apart", np.minimum((steps % 16 == 15) * apart, size - 1)


def model(kind, symbolic):
    m = TextModel(21)
    for size in SIZES:
        dims = (3, size)
        x = rng.integers(-100, 100, dims).astype(kind)
        data = m.input(f"x{size}", x, kind, [f"n{size}", f"s{size}"] if symbolic else None)
        for count in (1, 7, 16, 19, 35):
            for what, places in lists(size, count):
                if symbolic and what != "any":
                    name = m.input(f"{what.replace(' ', '_')}_{size}_{count}", places.astype(np.int64), np.int64, [f"c{count}"])
                else:
                    name = m.integers(places)
                m.node("Gather", [data, name], kind, np.take(x, places, axis=1), axis=1)
    return m


def resized(size, to):
    """Linear interpolation with aligned corners and with half pixels, as ONNX defines both, in f64."""
    scale = to / size
    for mode in ("align_corners", "half_pixel"):
        at = np.arange(to) * (size - 1) / max(to - 1, 1) if mode == "align_corners" else (np.arange(to) + .5) / scale - .5
        low = np.floor(at).astype(int)
        part = at - low
        yield mode, np.clip(low, 0, size - 1), np.clip(low + 1, 0, size - 1), part


def images(symbolic):
    m = TextModel(21)
    for size in (2, 5, 16, 33, 56):
        x = rng.standard_normal((2, 3, 4, size)).astype(np.float32)
        data = m.input(f"x{size}", x, np.float32, ["n", "c", "h", f"w{size}"] if symbolic else None)
        for to in sorted({1, size // 2, size + 3, 2 * size, 5 * size}):
            for mode, low, high, part in resized(size, to):
                expected = (x[..., low] * (1 - part) + x[..., high] * part).astype(np.float32)
                if symbolic and mode != "half_pixel":
                    continue  # of corners the compiler wants sizes
                if symbolic:
                    scales = m.constant(f"scales_{size}_{to}_{mode}", np.array([1, 1, 1, to / size], np.float32), np.float32)
                    operands = [data, "", scales]
                    if int(np.floor(size * np.float32(to / size))) != to:
                        continue
                else:
                    operands = [data, "", "", m.integers([2, 3, 4, to])]
                m.node("Resize", operands, np.float32, expected, mode="linear", coordinate_transformation_mode=mode)
    return m


def compare(what, kind, m, options):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "model.textproto").write_text(m.text())
        np.savez(folder / "in.npz", **{name: v for name, (v, _) in m.feeds.items()})
        code, said = call([options.lathe, "compile", str(folder / "model.textproto"), "-o", str(folder / "m.so"), "--target", options.target])
        if not code:
            code, said = call([options.lathe, "run", str(folder / "m.so"), "--inputs", str(folder / "in.npz"), "--threads", "1", "--output-dir", str(folder)])
        if code:
            return 0, [f"{what}: {said}"]
        bad = [f"{what}: {name}" for name, k, expected in m.outputs if not same(np.load(folder / f"{name}.npy"), expected, k, 200 if what == "images" else 0)]
        return len(m.outputs) - len(bad), bad


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--symbolic", action="store_true", help="sizes have names, and lists are inputs")
    parser.add_argument("--target", default="host")
    parser.add_argument("--lathe", default="lathe")
    options = parser.parse_args()
    good, bad = 0, []
    for what, kind, m in [(NAMES[k], k, model(k, options.symbolic)) for k in KINDS] + [("images", np.float32, images(options.symbolic))]:
        more, wrong = compare(what, kind, m, options)
        good += more
        bad += wrong
    return verdict(good, "results", bad, "numpy")


if __name__ == "__main__":
    sys.exit(main())
