"""FOLDER TARGET: models of DFT and STFT of many lengths, compiled and run, against numpy's transforms in f64. TARGET kernels: the kernels that GPUs get,
as the interpreter runs them."""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.append(str(pathlib.Path(__file__).parents[2] / "Conformance"))
import turns  # noqa: E402

folder, target = sys.argv[1:]
random = np.random.default_rng(3)
wrong = count = 0


def model(op, shape, element, initializers, **attributes):
    inputs = ["x"] + [i.name if i is not None else "" for i in initializers]
    graph = helper.make_graph([helper.make_node(op, inputs, ["y"], "node", **attributes)], "g",
                              [helper.make_tensor_value_info("x", element, shape)], [helper.make_tensor_value_info("y", element, None)],
                              [i for i in initializers if i is not None])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), f"{folder}/m.onnx")


def number(name, value):
    return helper.make_tensor(name, TensorProto.INT64, [], [value])


KERNELS = ["--lathe-expand-transforms=whole=true", "--lathe-simplify-graph", "--lathe-fold-constants", "--cse", "--lathe-guard-sizes", "--lathe-form-kernels",
           "--lathe-verify-accesses"]


def interpreted(dims):
    graph = subprocess.run(["lathe-import", "--generic", f"{folder}/m.onnx"], capture_output=True, text=True)
    run = f"--lathe-interpret=inputs={folder}/d.npz outputs={folder}/o.npz" + (f" dims={dims}" if dims else "")
    return graph if graph.returncode else subprocess.run(["lathe-opt", "-", *KERNELS, run, "-o", "/dev/null"], input=graph.stdout, capture_output=True, text=True)


def check_kernels(name, want, tolerance, dims):
    """Sums are those of f64 here, but numbers between two transforms are rounded."""
    global wrong
    done = interpreted(dims)
    if done.returncode:
        wrong += 1
        return print(name, done.stderr.strip()[-300:])
    got = np.load(f"{folder}/o.npz")["y"]
    if got.shape != want.shape or not np.abs(got - want).max(initial=0) <= tolerance:
        wrong += 1
        print(name, "differs by", np.abs(got - want).max(initial=0) if got.shape == want.shape else got.shape)


def check(name, x, want, flags=(), dims=""):
    global wrong, count
    count += 1
    want = np.asarray(want)
    scale = max(np.abs(want).max(), 1e-30)
    tolerance = (1e-13 if x.dtype == np.float64 else 2e-6) * scale
    np.savez(f"{folder}/d.npz", x=x, y=want.astype(x.dtype))
    if target == "kernels":
        return check_kernels(name, want, tolerance, dims)
    commands = [["lathe", "compile", f"{folder}/m.onnx", "-o", f"{folder}/m.so", *turns.effort(count, (0, 3)), "--target", target, *flags],
                ["lathe", "run", f"{folder}/m.so", "--inputs", f"{folder}/d.npz", "--expect", f"{folder}/d.npz", "--rtol", "0", "--atol", str(tolerance)]]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            wrong += 1
            print(name, done.stderr.strip()[-300:], done.stdout.strip()[-300:])
            return


def pairs(z):
    return np.stack([z.real, z.imag], -1)


def fitted(z, length, axis):
    z = np.moveaxis(z, axis, -1)[..., :length]
    pad = [(0, 0)] * (z.ndim - 1) + [(0, length - z.shape[-1])]
    return np.moveaxis(np.pad(z, pad), -1, axis)


def dft(shape, axis=-2, inverse=0, onesided=0, length=None, dtype=np.float32, names=None):
    x = random.standard_normal(shape).astype(dtype)
    z = x[..., 0].astype(np.float64) + (1j * x[..., 1] if shape[-1] == 2 else 0)
    axis %= len(shape)
    size = length or (2 * (z.shape[axis] - 1) if inverse and onesided else z.shape[axis])
    if inverse and onesided:
        want = np.fft.irfft(fitted(z, size // 2 + 1, axis), size, axis=axis)[..., None]
    else:
        want = (np.fft.ifft if inverse else np.fft.fft)(fitted(z, size, axis), axis=axis)
        want = pairs(np.take(want, range(size // 2 + 1), axis=axis) if onesided else want)
    element = TensorProto.FLOAT if dtype == np.float32 else TensorProto.DOUBLE
    model("DFT", names or shape, element, [None if length is None else number("n", length), number("axis", axis)], inverse=inverse, onesided=onesided)
    dims = ",".join(f"{name}={size}" for name, size in zip(names or shape, shape) if isinstance(name, str))
    check(f"dft {shape} axis {axis} inverse {inverse} onesided {onesided} length {length} {names or ''}", x, want, dims=dims)


# Powers, products of small primes, primes that are done directly, by convolution, and as a factor.
KINDS = [(1, 0, 0), (1, 0, 1), (2, 0, 0), (2, 1, 0), (1, 1, 0), (2, 1, 1)]
for i, n in enumerate((1, 2, 3, 16, 60, 64, 66, 67, 101, 243, 268, 512, 1000, 1021, 4096)):
    for parts, inverse, onesided in (KINDS[i % 6], KINDS[(i * 5 + 3) % 6]):
        half = inverse and onesided
        dft([3, n // 2 + 1 if half else n, parts], inverse=inverse, onesided=onesided, length=n if half else None)
for n, (parts, inverse, onesided) in zip((30, 67, 1000, 1021), KINDS[1:]):
    dft([2, n, parts], inverse=inverse, onesided=onesided, dtype=np.float64)
dft([1, 65536, 1], onesided=1)
dft([1, 65536, 2], inverse=1)
for axis in (0, 1, 2):
    dft([12, 90, 7, 2], axis=axis)
dft([2, 50, 1], length=64, onesided=1)
dft([2, 50, 2], length=40, inverse=1)
dft([2, 9, 1], onesided=1, names=[2, "n", 1])
dft([2, 40, 2], inverse=1, names=["b", "n", 2])

for size, length, step, batch in ((1000, 400, 160, 1), (333, 99, 7, 3), (90, 90, 1, 1)):
    for onesided in (0, 1):
        x, window = random.standard_normal([batch, size, 1]).astype(np.float32), np.hanning(length).astype(np.float32)
        frames = np.stack([x[:, t * step:t * step + length, 0] * window for t in range((size - length) // step + 1)], 1).astype(np.float64)
        names = ["b", size, 1] if onesided else [batch, size, 1]
        model("STFT", names, TensorProto.FLOAT, [number("step", step), helper.make_tensor("w", TensorProto.FLOAT, [length], window)], onesided=onesided)
        check(f"stft {size} {length} {step} {onesided} {names}", x, pairs((np.fft.rfft if onesided else np.fft.fft)(frames)))
    # Real numbers without the dimension of their parts, whose length is open.
    x = random.standard_normal([2, 500]).astype(np.float32)
    frames = np.stack([x[:, t:t + 64] for t in range(0, 437, 20)], 1).astype(np.float64)
    model("STFT", ["b", "n"], TensorProto.FLOAT, [number("step", 20), helper.make_tensor("w", TensorProto.FLOAT, [64], np.ones(64, np.float32))], onesided=1)
    check("stft of a matrix", x, pairs(np.fft.rfft(frames)))

# Longer than a block holds: two kernels, of real numbers one more, and a convolution of both.
if target == "kernels":
    for n, kinds in ((32768, KINDS), (16384, KINDS[3:]), (10007, KINDS[2:3]), (34, KINDS), (61, KINDS)):
        for parts, inverse, onesided in kinds:
            half = inverse and onesided
            dft([2, n // 2 + 1 if half else n, parts], inverse=inverse, onesided=onesided, length=n if half else None)
    dft([2, 8192, 2], dtype=np.float64)
    dft([9000, 3, 2], axis=0)
    dft([3, 45, 1], inverse=1, onesided=1, length=88)
    dft([4, 100, 2], names=["b", 100, 2])
    print(count, "transforms,", wrong, "wrong")
    sys.exit()

# Lengths that a run finds: one of each kind of plan (rows in lanes; columns and rows, of which one is shorter than a vector; a convolution), real and
# complex, fewer rows than lanes and more. (The runtime's unit tests
# have all lengths, and every set of instructions.)
for i, (n, batch) in enumerate(((1, 3), (2, 1), (61, 2), (96, 40), (100, 3), (122, 2), (375, 5), (1000, 1), (1021, 3), (2042, 2), (4096, 2))):
    for parts, inverse, onesided in (KINDS[i % 6], KINDS[(i * 5 + 3) % 6]):
        half = inverse and onesided
        names = ["b", "m" if half else "n", parts]
        dft([batch, n // 2 + 1 if half else n, parts], inverse=inverse, onesided=onesided, names=names, dtype=np.float64 if i % 3 == 2 else np.float32,
            length=None if n % 2 == 0 or not half else n)
dft([5, 100, 2], names=["b", 100, 2])

print(count, "transforms,", wrong, "wrong")
