"""FOLDER: convolutions and pools of images that come with their channels side by side and leave so (a Transpose in front and one behind), of fixed and
open sizes, at each level, against numpy in f64."""
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

folder = sys.argv[1]
random = np.random.default_rng(11)
wrong = count = 0


def windows(x, taps, stride, fill):
    """[images][high][wide][channels] -> for each place of a window the elements that it reads, with zeros (or another number) around."""
    before = taps // 2
    padded = np.pad(x, ((0, 0), (before, before), (before, before), (0, 0)), constant_values=fill)
    high, wide = ((n + 2 * before - taps) // stride + 1 for n in x.shape[1:3])
    return {(u, v): padded[:, u : u + stride * high : stride, v : v + stride * wide : stride][:, :high, :wide] for u in range(taps) for v in range(taps)}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return (done.stdout + done.stderr).strip()[-300:] if done.returncode else ""


def check(what, node, constants, x, want, tolerance):
    global wrong, count
    for opened in (False, True):
        dims = lambda a: ["n", "h", "w", a.shape[3]] if opened else list(a.shape)
        nodes = [helper.make_node("Transpose", ["x"], ["i"], perm=[0, 3, 1, 2]), node, helper.make_node("Transpose", ["o"], ["y"], perm=[0, 2, 3, 1])]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims(x))], [onnx.ValueInfoProto(name="y")],
                                  [numpy_helper.from_array(c, n) for n, c in constants.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), f"{folder}/m.onnx")
        np.savez(f"{folder}/d.npz", x=x, y=want.astype(np.float32))
        said = run("lathe", "compile", f"{folder}/m.onnx", "-o", f"{folder}/m.so", "-O", "1")
        for level in "1230":
            count += 1
            said = said or run("lathe", "run", f"{folder}/m.so", "--inputs", f"{folder}/d.npz", "--expect", f"{folder}/d.npz", "--rtol", "0",
                               "--atol", str(tolerance * np.abs(want).max(initial=1)), *(["--max-level", level] if level != "0" else []))
            if said:
                wrong += 1
                print(what, "open" if opened else "fixed", "level", level, said)
                said = ""


def convolution(images, size, channels, columns, taps, stride, groups=1):
    x = random.standard_normal((images, size, size + 2, channels)).astype(np.float32)
    w = random.standard_normal((columns, channels // groups, taps, taps)).astype(np.float32)
    parts = [windows(p.astype(np.float64), taps, stride, 0) for p in np.split(x, groups, axis=3)]
    want = np.concatenate([sum(part[u, v] @ f[:, :, u, v].T for u, v in part) for part, f in zip(parts, np.split(w.astype(np.float64), groups))], axis=3)
    node = helper.make_node("Conv", ["i", "w"], ["o"], pads=[taps // 2] * 4, strides=[stride] * 2, group=groups)
    check(f"convolution {x.shape} {w.shape} stride {stride}", node, {"w": w}, x, want, 2e-5)


def pool(kind, size, channels, taps, stride):
    x = random.standard_normal((2, size, size + 1, channels)).astype(np.float32)
    read = windows(x.astype(np.float64), taps, stride, -np.inf if kind == "MaxPool" else 0)
    ones = windows(np.ones_like(x, np.float64), taps, stride, 0)
    want = np.maximum.reduce(list(read.values())) if kind == "MaxPool" else sum(read.values()) / sum(ones.values())
    node = helper.make_node(kind, ["i"], ["o"], kernel_shape=[taps] * 2, strides=[stride] * 2, pads=[taps // 2] * 4)
    check(f"{kind} {x.shape} {taps} {stride}", node, {}, x, want, 1e-5)


for shape in ((1, 14, 64, 24, 3, 1), (2, 15, 48, 40, 3, 2), (1, 9, 32, 3, 3, 1), (1, 8, 8, 8, 5, 1), (1, 20, 3, 16, 3, 2), (1, 19, 3, 32, 7, 2), (2, 9, 1, 12, 3, 1),
              (1, 9, 5, 1, 3, 1), (1, 7, 2, 13, 3, 3), (1, 11, 32, 32, 3, 1, 32), (1, 10, 32, 16, 3, 1, 4)):
    convolution(*shape)
for kind in ("MaxPool", "AveragePool"):
    pool(kind, 13, 40, 3, 2)
    pool(kind, 9, 5, 3, 1)
print(count, "results,", wrong, "wrong")
