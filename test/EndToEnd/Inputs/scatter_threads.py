"""FOLDER: scatters that threads share out, by places of their own, by short ranges of columns, and by parts of the data of which each lists its updates, against numpy; every
number of threads gives the same bits."""
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

folder = sys.argv[1]
random = np.random.default_rng(9)
wrong = count = 0
COMBINE = {"none": lambda a, b: b, "add": lambda a, b: a + b, "max": np.maximum, "min": np.minimum, "mul": lambda a, b: a * b}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return (done.stdout + done.stderr).strip()[-300:] if done.returncode else ""


def check(operator, data, places, updates, want, opened, **attributes):
    global wrong, count
    dims = lambda name, a: [f"{name}{i}" for i in range(a.ndim - (name == "i" and operator == "ScatterND"))] + list(a.shape[a.ndim - (name == "i" and operator == "ScatterND"):]) if opened else list(a.shape)
    graph = helper.make_graph([helper.make_node(operator, ["x", "i", "u"], ["y"], **attributes)], "g",
                              [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), dims(n, a)) for n, a in (("x", data), ("i", places), ("u", updates))],
                              [onnx.ValueInfoProto(name="y")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), f"{folder}/m.onnx")
    np.savez(f"{folder}/x.npz", x=data, i=places, u=updates)
    said, first = run("lathe", "compile", f"{folder}/m.onnx", "-o", f"{folder}/m.so", "-O", "1"), None
    for threads in (1, 2, 4, 7):
        count += 1
        said = said or run("lathe", "run", f"{folder}/m.so", "--inputs", f"{folder}/x.npz", "--threads", str(threads), "--output-dir", f"{folder}/out")
        got = None if said else np.load(f"{folder}/out/{os.listdir(f'{folder}/out')[0]}")
        first = got if first is None else first
        if not said and not np.allclose(got, want, 1e-5, 1e-5):
            said = f"{np.argwhere(~np.isclose(got, want, 1e-5, 1e-5))[:3].tolist()} differ"
        elif not said and got.tobytes() != first.tobytes():
            said = "other bits than with one thread"
        if said:
            wrong += 1
            print(operator, data.shape, places.shape, data.dtype, attributes, "open" if opened else "fixed", threads, "threads:", said)
            said = ""


def numbers(shape, kind="float32"):
    return random.integers(-9, 9, shape).astype(kind) if np.dtype(kind).kind in "iu" else random.standard_normal(shape).astype(kind)


def elements(shape, updates, axis, reduction, kind="float32", opened=False):
    data, values, places = numbers(shape, kind), numbers(updates, kind), random.integers(-shape[axis], shape[axis], updates)
    want = data.copy()
    at = np.meshgrid(*[np.arange(n) for n in updates], indexing="ij")
    flat = [a.ravel() for a in at]
    flat[axis] = places.ravel() % shape[axis]
    for place, v in zip(zip(*flat), values.ravel()):  # in the order of the updates
        want[place] = COMBINE[reduction](want[place], v)
    check("ScatterElements", data, places, values, want, opened, axis=axis, reduction=reduction)


def rows(shape, updates, depth, reduction, kind="float32", opened=False):
    data, values = numbers(shape, kind), numbers((updates, *shape[depth:]), kind)
    places = np.stack([random.integers(-n, n, updates) for n in shape[:depth]], -1)
    want = data.copy()
    for place, v in zip(places, values):
        at = tuple(p % n for p, n in zip(place, shape))
        want[at] = COMBINE[reduction](want[at], v)
    check("ScatterND", data, places, values, want, opened, reduction=reduction)


for opened in (False, True):
    for reduction in COMBINE:
        elements((500, 300), (400, 300), 0, reduction, opened=opened)
        rows((300, 200), 5000, 1, reduction, opened=opened)
    elements((40, 3000), (50, 3000), 0, "add", "int64", opened)
    elements((300, 500), (300, 400), 1, "max", opened=opened)
    elements((70000,), (90000,), 0, "none", opened=opened)
    rows((200, 300), 20000, 2, "add", "int64", opened)
    rows((3000, 33), 5000, 1, "add", opened=opened)
    rows((3, 700, 64), 4000, 2, "none", "int32", opened)
# Data that no cache holds, of which four threads and more take parts.
for reduction in ("none", "max"):
    elements((1 << 22,), (200000,), 0, reduction)
    elements((1 << 21,), (200000,), 0, reduction, "int64", True)
print(count, "results,", wrong, "wrong")
