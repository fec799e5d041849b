"""Convolutions of every kind against numpy in double precision: dense, groups narrower and wider than a vector, depthwise with
multipliers, transposed; one to three dimensions, strides, dilations, uneven borders, images before and behind other
convolutions, filters known and not.

Usage: convolutions.py [--target T] [--symbolic] [--threads N] [--only N] [--turn K/N]"""
import argparse
import itertools
import subprocess
import sys
import tempfile
import numpy as np
from text_model import TextModel
from turns import add_option, effort
from verdict import verdict

F32 = np.float32
rng = np.random.default_rng(17)


def values(*shape):
    return rng.standard_normal(shape).astype(F32)


def places(kernel):
    return itertools.product(*(range(k) for k in kernel))


def convolution(x, w, groups, strides, dilations, pads):
    """One tap of the filter after the other, over the padded image."""
    count, kernel, n = x.ndim - 2, w.shape[2:], x.shape[0]
    x = np.pad(x.astype(np.float64), [(0, 0), (0, 0)] + [(pads[d], pads[count + d]) for d in range(count)])
    out = [(x.shape[d + 2] - (kernel[d] - 1) * dilations[d] - 1) // strides[d] + 1 for d in range(count)]
    y = np.zeros((n, groups, w.shape[0] // groups, *out))
    filters = w.astype(np.float64).reshape(groups, -1, *w.shape[1:])
    for tap in places(kernel):
        at = [slice(t * s, t * s + (o - 1) * r + 1, r) for t, s, o, r in zip(tap, dilations, out, strides)]
        part = x[(slice(None), slice(None), *at)].reshape(n, groups, x.shape[1] // groups, *out)
        y += np.einsum("ngc...,goc->ngo...", part, filters[(Ellipsis, *tap)])
    return y.reshape(n, w.shape[0], *out)


def transposed(x, w, groups, strides, dilations, pads, extra):
    """Each element of the image adds the filter to the result."""
    count, kernel, n = x.ndim - 2, w.shape[2:], x.shape[0]
    full = [strides[d] * (x.shape[d + 2] - 1) + (kernel[d] - 1) * dilations[d] + 1 + extra[d] for d in range(count)]
    y = np.zeros((n, groups, w.shape[1], *full))
    image = x.astype(np.float64).reshape(n, groups, -1, *x.shape[2:])
    filters = w.astype(np.float64).reshape(groups, -1, *w.shape[1:])
    for tap in places(kernel):
        at = [slice(t * s, t * s + (m - 1) * r + 1, r) for t, s, m, r in zip(tap, dilations, x.shape[2:], strides)]
        y[(slice(None),) * 3 + tuple(at)] += np.einsum("ngc...,gco->ngo...", image, filters[(Ellipsis, *tap)])
    y = y.reshape(n, -1, *full)
    return y[(slice(None), slice(None), *[slice(pads[d], full[d] - pads[count + d]) for d in range(count)])]


class Models:
    def __init__(self, symbolic):
        self.symbolic, self.all = symbolic, []

    def add(self, spatial, kernel, groups, inputs, outputs, strides=None, dilations=None, pads=None, extra=None, batch=1, around=False,
            known=True, turned=False, open_batch=False):
        """`inputs` and `outputs`: channels of a group. `around`: other convolutions before and behind. `open_batch`: of sizes, that one alone."""
        count, model = len(spatial), TextModel(17)
        strides, dilations, pads = strides or [1] * count, dilations or [1] * count, pads or [0] * 2 * count
        channels = groups * inputs
        x = values(batch, channels, *spatial)
        dims = ["n", channels] + (list(spatial) if open_batch else [f"s{d}" for d in range(count)]) if self.symbolic else None
        name, image = model.input("x", x, F32, dims), x
        if around:
            first = values(channels, channels, *[1] * count)
            image = np.maximum(convolution(x, first, 1, [1] * count, [1] * count, [0] * 2 * count), 0)
            name = self.inner(model, "Conv", [name, model.constant("first", first, F32)], "a")
            name = self.inner(model, "Relu", [name], "b")
        w = values(channels, outputs, *kernel) if turned else values(groups * outputs, inputs, *kernel)
        w *= F32(1 / np.sqrt(inputs * np.prod(kernel)))
        weight = model.constant("w", w, F32) if known else model.input("w", w, F32)
        bias = values(groups * outputs)
        attributes = dict(group=groups, strides=strides, dilations=dilations, pads=pads)
        if turned:
            attributes["output_padding"] = extra or [0] * count
            y = transposed(image, w, groups, strides, dilations, pads, extra or [0] * count)
        else:
            y = convolution(image, w, groups, strides, dilations, pads)
        y = y + bias.reshape(-1, *[1] * count)
        operands, operator = [name, weight, model.constant("bias", bias, F32)], "ConvTranspose" if turned else "Conv"
        if around:
            last = values(16, groups * outputs, *[1] * count)
            name = self.inner(model, operator, operands, "c", **attributes)
            y = convolution(y, last, 1, [1] * count, [1] * count, [0] * 2 * count)
            model.node("Conv", [name, model.constant("last", last, F32)], F32, y)
        else:
            model.node(operator, operands, F32, y, **attributes)
        self.all.append(model)

    def inner(self, model, operator, operands, name, **attributes):
        before = len(model.lines)
        model.nodes(operator, operands, [(F32, np.zeros(0))], **attributes)
        made = model.outputs.pop()[0]
        del model.lines[before + 1:]
        return made


def build(symbolic):
    m = Models(symbolic)
    for groups, inputs, outputs in ((4, 8, 8), (3, 5, 7), (32, 1, 1), (17, 1, 2), (6, 2, 1), (5, 3, 3), (2, 20, 24), (9, 4, 4), (4, 1, 40), (8, 2, 6)):
        for around in (False, True):
            m.add((13, 11), (3, 3), groups, inputs, outputs, pads=[1, 1, 1, 1], around=around)
            m.add((14, 17), (3, 2), groups, inputs, outputs, strides=[2, 2], pads=[1, 0, 2, 1], around=around, batch=2)
        m.add((7, 7), (1, 1), groups, inputs, outputs)
    for kernel in (1, 2, 4, 5, 7, 11):
        for stride, dilation in ((1, 1), (2, 1), (1, 2), (3, 1), (2, 3)):
            reach = (kernel - 1) * dilation
            m.add((reach + 9, reach + 20), (kernel, kernel), 20, 1, 1, [stride] * 2, [dilation] * 2, [reach // 2] * 4, around=kernel % 2 == 0)
    # Windows of three taps, dense: by fewer products. Tiles that images end within, borders of every kind, channels of no multiple of lanes.
    for inputs, outputs in ((64, 64), (37, 53), (20, 16)):
        for spatial in ((14, 14), (13, 9), (5, 35), (1, 6), (3, 3)):
            for around in (False, True):
                m.add(spatial, (3, 3), 1, inputs, outputs, pads=[1, 1, 1, 1], around=around)
                m.add(spatial, (3, 3), 1, inputs, outputs, pads=[2, 0, 1, 3], batch=3, around=around)
        m.add((23, 18), (3, 3), 1, inputs, outputs)
        m.add((17, 18), (3, 5), 1, inputs, outputs, pads=[1, 2, 1, 2], around=True)
        m.add((17, 18), (3, 3), 1, inputs, outputs, [2, 1], pads=[1, 1, 1, 1], around=True)
        m.add((57,), (3,), 1, inputs, outputs, pads=[1, 1])
        m.add((4, 9, 10), (3, 3, 3), 1, inputs, outputs, pads=[1] * 6, around=True)
    # Few pixels: two vectors of channels at a time.
    for width, kernel, stride, channels in ((7, 5, 1, 96), (7, 3, 1, 64), (13, 5, 2, 672), (5, 3, 1, 80), (3, 7, 1, 64)):
        m.add((7, width), (kernel, kernel), channels, 1, 1, [stride] * 2, pads=[kernel // 2] * 4, around=True, batch=2)
    # Images that no second-level cache holds: kernels in a row take turns.
    for kernel, stride, dilation, pads in (((3, 3), [1, 1], [1, 1], [1] * 4), ((5, 4), [2, 1], [1, 1], [2, 0, 1, 3]), ((3, 3), [2, 3], [2, 1], [0, 2, 1, 1])):
        m.add((75, 83), kernel, 96, 1, 1, stride, dilation, pads, batch=2, around=True, open_batch=True)
        m.add((230, 30), kernel, 80, 1, 1, stride, dilation, pads, around=True)
    if not symbolic:
        m.add((6, 6), (3, 3), 1, 64, 64, batch=0)
    m.add((150,), (31,), 24, 1, 1, pads=[15, 15])
    m.add((90,), (5,), 6, 4, 4, strides=[3], dilations=[2])
    m.add((6, 9, 10), (3, 3, 3), 16, 1, 1, pads=[1] * 6)
    m.add((5, 6, 7), (2, 3, 3), 4, 3, 5, strides=[2, 1, 2], pads=[0, 1, 1, 1, 1, 0])
    m.add((3, 3), (3, 3), 24, 1, 1)
    m.add((1, 40), (1, 5), 4, 4, 4, pads=[0, 2, 0, 2])
    m.add((40, 1), (5, 1), 4, 4, 4, pads=[2, 0, 2, 0])
    m.add((12, 12), (3, 3), 4, 4, 4, pads=[1] * 4, known=False)
    m.add((12, 12), (3, 3), 16, 1, 1, pads=[1] * 4, known=False)
    for kernel, stride, dilation in (((2, 2), [2, 2], [1, 1]), ((4, 4), [2, 2], [1, 1]), ((3, 3), [2, 2], [1, 1]), ((3, 5), [3, 2], [1, 1]),
                                     ((3, 3), [1, 1], [1, 1]), ((3, 2), [2, 3], [2, 1]), ((2, 3), [4, 4], [1, 1]), ((3, 3), [2, 1], [3, 2])):
        for groups, inputs, outputs in ((1, 24, 16), (1, 5, 3), (3, 4, 5), (1, 16, 33)):
            for around in (False, True):
                m.add((9, 18), kernel, groups, inputs, outputs, stride, dilation, [1, 0, 0, 1], [s - 1 for s in stride], around=around, turned=True)
    m.add((50,), (16,), 1, 24, 20, strides=[8], pads=[4, 4], turned=True)
    m.add((31,), (5,), 2, 12, 8, strides=[3], pads=[3, 1], turned=True)
    m.add((4, 5, 6), (3, 3, 3), 1, 8, 12, strides=[2, 2, 2], pads=[1] * 6, turned=True)
    m.add((9, 9), (4, 4), 1, 8, 8, strides=[2, 2], pads=[1] * 4, turned=True, known=False)
    m.add((9, 9), (3, 9), 1, 24, 3, pads=[1, 4, 1, 4])
    return m.all


def check(model, target, flags, threads, folder):
    source, library, given = (f"{folder}/{n}" for n in ("m.textproto", "m.so", "in.npz"))
    with open(source, "w") as f:
        f.write(model.text())
    np.savez(given, **{n: a for n, (a, _) in model.feeds.items()})
    command = ["lathe", "compile", source, "-o", library] + (["--target", target] if target else []) + flags
    for step in (command, ["lathe", "run", library, "--inputs", given, "--output-dir", folder, "--threads", str(threads)]):
        done = subprocess.run(step, capture_output=True, text=True)
        if done.returncode:
            return f"{' '.join(step[:2])} exits with {done.returncode}: {done.stderr.strip()[:300]}"
    name, _, want = model.outputs[0]
    got = np.load(f"{folder}/{name}.npy")
    if got.shape != want.shape:
        return f"{name} has the shape {got.shape}, not {want.shape}"
    worst = np.max(np.abs(got - want)) if want.size else 0
    return "" if worst <= 1e-4 * (1 + np.max(np.abs(want), initial=0)) else f"{name} is off by {worst:.3g}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--target")
    parser.add_argument("--symbolic", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", type=int)
    add_option(parser)
    a = parser.parse_args()
    good, faults = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for i, model in enumerate(build(a.symbolic)):
            if a.only is not None and i != a.only:
                continue
            fault = check(model, a.target, effort(i, a.turn), a.threads, folder)
            faults += [f"{i}: {fault}"] if fault else []
            good += not fault
    return verdict(good, "results", faults, "numpy")


if __name__ == "__main__":
    sys.exit(main())
