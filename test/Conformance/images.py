"""Regions of feature maps, and resized images of integers, against numpy.     usage: images.py [--symbolic] [--target LIST] [--lathe PATH]

Prints what differs; exit code 1 when something does."""
import argparse
import pathlib
import sys
import tempfile

import numpy as np

from dtypes import call
from text_model import TextModel
from verdict import verdict

rng = np.random.default_rng(3)


def sample(image, y, x):
    """What the four neighbours of a place give, [4, channels]; nothing outside of the map."""
    height, width = image.shape[1:]
    if y < -1 or y > height or x < -1 or x > width:
        return np.zeros((4, len(image)))
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    low, left = int(y), int(x)
    high, right = min(low + 1, height - 1), min(left + 1, width - 1)
    down, across = y - low, x - left
    return np.stack([(1 - down) * (1 - across) * image[:, low, left], (1 - down) * across * image[:, low, right],
                     down * (1 - across) * image[:, high, left], down * across * image[:, high, right]])


def roi_align(images, regions, places, bins, samples, scale, half_pixel, mode):
    out = np.zeros((len(regions), images.shape[1], *bins))
    for n, region in enumerate(regions.astype(np.float64) * scale - (0.5 if half_pixel else 0)):
        extent = region[2:] - region[:2] if half_pixel else np.maximum(region[2:] - region[:2], 1)
        size = extent[::-1] / bins
        counts = [samples or max(int(np.ceil(s)), 0) for s in size]
        for at in np.ndindex(*bins):
            taken = [sample(images[places[n]], *(region[1::-1] + (at + (np.array(s) + 0.5) / counts) * size)) for s in np.ndindex(*counts)]
            if taken:
                out[(n, slice(None), *at)] = np.mean([t.sum(0) for t in taken], 0) if mode == "avg" else np.max(taken, (0, 1))
    return out.astype(np.float32)


def regions(model, symbolic):
    """Larger and smaller than the map, inside, beside and outside of it, and turned around."""
    for mode in ("avg", "max"):
        for samples in (0, 1, 3):
            for transform in ("half_pixel", "output_half_pixel"):
                images = rng.standard_normal((3, 5, 11, 13)).astype(np.float32)
                corner = rng.random((9, 2)) * 30 - 4
                boxes = np.concatenate([corner, corner + rng.random((9, 2)) * 20 - 2], 1).astype(np.float32)
                places = rng.integers(0, 3, 9)
                name = f"{mode}{samples}{transform}"
                dims = lambda of, rank, *last: [f"{of}{name}{d}" for d in range(rank)] + list(last) if symbolic else None
                operands = [model.input("x" + name, images, np.float32, dims("x", 4)), model.input("r" + name, boxes, np.float32, dims("r", 1, 4)),
                            model.input("b" + name, places, np.int64, dims("r", 1))]
                model.node("RoiAlign", operands, np.float32, roi_align(images, boxes, places, (3, 2), samples, 0.5, transform == "half_pixel", mode),
                           mode=mode, sampling_ratio=samples, output_height=3, output_width=2, spatial_scale=0.5, coordinate_transformation_mode=transform)


def resized(image, axis, size, cubic, scale=None, smooth=False):
    """Along one axis, half-pixel coordinates; the kernel is stretched where the image shrinks smoothly."""
    scale = scale or size / image.shape[axis]
    at = (np.arange(size) + 0.5) / scale - 0.5
    stretch = min(scale, 1) if smooth else 1
    out, total = 0, 0
    for step in range(-int(2 / stretch) - 1, int(2 / stretch) + 3):
        place = np.floor(at) + step
        far = np.abs(place - at) * stretch
        near, beyond = 1.25 * far**3 - 2.25 * far**2 + 1, -0.75 * (far**3 - 5 * far**2 + 8 * far - 4)
        weight = np.where(far <= 1, near, np.where(far < 2, beyond, 0)) if cubic else np.maximum(1 - far, 0)
        taken = np.take(image, np.clip(place, 0, image.shape[axis] - 1).astype(int), axis)
        shape = [-1 if d == axis else 1 for d in range(image.ndim)]
        out, total = out + taken * weight.reshape(shape), total + weight.reshape(shape)
    return out / total


def smooth(model, symbolic):
    """By scales of which the sizes of open images follow only in a call, and by others."""
    for mode in ("linear", "cubic"):
        for down, right in ((1.7, 1.7), (0.4, 0.75), (0.5, 1.3), (0.03, 1.0)):
            image, name = rng.standard_normal((1, 2, 40, 33)).astype(np.float32), f"{mode}{down}by{right}"
            dims = [f"s{name}{d}" for d in range(4)] if symbolic else None
            scales = np.array([1, 1, down, right], np.float32)
            exact = image.astype(np.float64)
            for axis in (2, 3):
                exact = resized(exact, axis, int(np.float32(image.shape[axis]) * scales[axis]), mode == "cubic", float(scales[axis]), True)
            operands = [model.input("s" + name, image, np.float32, dims), "", model.constant("f" + name, scales, np.float32)]
            model.node("Resize", operands, np.float32, exact.astype(np.float32), mode=mode, antialias=1)


def integers(model, symbolic):
    """The result of each step is not rounded, the last one is: to a nearest integer that the type has."""
    for kind in (np.uint8, np.int8, np.int16, np.int32, np.int64, np.uint32):
        for mode in ("linear", "cubic"):
            limits, name = np.iinfo(kind), f"{np.dtype(kind).name}{mode}"
            image = rng.integers(max(limits.min, -300), min(limits.max, 300), (2, 2, 9, 14), endpoint=True).astype(kind)
            image[0, 0, 2:7] = 100
            dims = [f"i{name}{d}" for d in range(4)] if symbolic else None
            exact = resized(resized(image.astype(np.float64), 2, 13, mode == "cubic"), 3, 6, mode == "cubic")
            model.node("Resize", [model.input("i" + name, image, kind, dims), "", "", model.integers([2, 2, 13, 6])], kind,
                       np.clip(exact, limits.min, limits.max), mode=mode)


def agrees(got, kind, expected):
    """Numbers of the kind, of integers the nearest ones."""
    slack = 0.5 if np.issubdtype(kind, np.integer) else 0
    return (got.shape == expected.shape and got.dtype == kind and
            bool((np.abs(got.astype(np.float64) - expected) <= slack + 1e-4 + 1e-4 * np.abs(expected)).all()))


def compare(model, options):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "model.textproto").write_text(model.text())
        np.savez(folder / "in.npz", **{name: v for name, (v, _) in model.feeds.items()})
        path = lambda file: str(folder / file)
        for command in (["compile", path("model.textproto"), "-o", path("m.so"), "--target", options.target],
                        ["run", path("m.so"), "--inputs", path("in.npz"), "--output-dir", name]):
            code, said = call([options.lathe, *command])
            if code:
                return 0, [f"{command[0]}: {said}"]
        bad, good = [], 0
        for name, kind, expected in model.outputs:
            got = np.load(path(f"{name}.npy"))
            good += agrees(got, kind, expected)
            if not agrees(got, kind, expected):
                bad.append(f"{name}: {got.dtype}{got.shape} is not {np.dtype(kind)}{expected.shape}, or other numbers")
        return good, bad


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--symbolic", action="store_true", help="sizes have names")
    parser.add_argument("--target", default="host")
    parser.add_argument("--lathe", default="lathe")
    options = parser.parse_args()
    model = TextModel(19)
    regions(model, options.symbolic)
    integers(model, options.symbolic)
    smooth(model, options.symbolic)
    good, bad = compare(model, options)
    return verdict(good, "results", bad, "numpy")


if __name__ == "__main__":
    sys.exit(main())
