"""FOLDER SAMPLE TARGET: long running sums of f32 against numpy's in f64.

How far off a result may be, in units of u = 2^-24 of the largest running sum in its row: one for the sum in front of a chunk, which is rounded from
f64, one for the result, and a few for the chunks. A chunk of 32 steps is off by some sqrt(32) u times its sum, up or down: C of them by
sqrt(32 C) u times one's sum, which is sqrt(32) u of a running sum that grows as sqrt(C), as that of random signs does, and less of one that grows as
C. That makes eight, and as much again for a row that ends nearer to zero than most. A sum that is carried in f32 is off by u times itself in each
step, which makes 30 to 140 in these cases, and more of longer ones."""
import subprocess
import sys

import numpy as np
import onnx
from onnx import helper

folder, sample, target = sys.argv[1:]
sys.path.append(sample)
from model import Model  # noqa: E402

random = np.random.default_rng(0)
u, allowed = 2.0 ** -24, 16
wrong = count = 0


def compiled(name, nodes, shape, constants):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)], constants)
    path = f"{folder}/{name}"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path + ".onnx")
    subprocess.run(["lathe", "compile", path + ".onnx", "-o", path + ".so", "--target", target], check=True)
    return Model(path + ".so")


def check(shape, axis, is_open, reverse=0, exclusive=0, offset=0.0):
    global wrong, count
    x = (random.standard_normal(shape) + offset).astype(np.float32)
    node = helper.make_node("CumSum", ["x", "axis"], ["y"], reverse=reverse, exclusive=exclusive)
    name = "_".join(map(str, (*shape, axis, is_open, reverse, exclusive)))
    model = compiled(name, [node], [f"d{i}" for i in range(len(shape))] if is_open else shape,
                     [helper.make_tensor("axis", onnx.TensorProto.INT64, [], [axis])])
    turned = np.flip(x, axis) if reverse else x
    exact = np.cumsum(turned, axis, dtype=np.float64)
    exact = exact - turned if exclusive else exact
    exact = np.flip(exact, axis) if reverse else exact
    off = (np.abs(model(x)[0] - exact) / (u * np.abs(exact).max(axis, keepdims=True))).max()
    count += 1
    if not off <= allowed:
        wrong += 1
        print(name, "is off by", off, "units of the largest sum")


check((1 << 20,), 0, False)
check((1 << 20,), 0, True, reverse=1)
check((3, 100003), 1, True, exclusive=1)
check((3, 100003), 1, False, reverse=1, exclusive=1, offset=0.3)
check((50001, 5), 0, True)
check((50001, 70), 0, False, exclusive=1)
check((2, 20001, 37), 1, True, reverse=1)
check((30003, 300), 0, True, offset=0.7)
check((9001, 1000), 0, False, reverse=1, exclusive=1)
print(count, "running sums,", wrong, "wrong")
