"""FOLDER SAMPLE: pieces of bordered and of joined rows against numpy's. What a slice cuts away may be the border, a part of it or what lies between two."""
import subprocess
import sys

import numpy as np
import onnx
from onnx import helper

folder, sample = sys.argv[1:]
sys.path.append(sample)
from model import Model  # noqa: E402

random = np.random.default_rng(3)
wrong = count = 0
rows, above, border = 4, (1, 2), (5, 4)


def whole(kind, x, i):
    if kind == "concat":
        return np.concatenate([x + i, x, x + i], axis=1)
    return np.pad(x + i, (above, border), **({"mode": kind} if kind != "constant" else {"mode": kind, "constant_values": 7}))


def model_of(kind, length, pieces, is_open):
    """Each piece is of a whole of its own, so that the two become one kernel: x, and a number that differs, in a border or beside it."""
    nodes, constants = [], [helper.make_tensor("axis", onnx.TensorProto.INT64, [1], [1])]

    def constant(name, value, element=onnx.TensorProto.INT64):
        constants.append(helper.make_tensor(name, element, [len(value)] if isinstance(value, list) else [], np.atleast_1d(value)))
        return name

    for i, (start, end) in enumerate(pieces):
        nodes.append(helper.make_node("Add", ["x", constant(f"c{i}", float(i), onnx.TensorProto.FLOAT)], [f"x{i}"]))
        if kind == "concat":
            nodes.append(helper.make_node("Concat", [f"x{i}", "x", f"x{i}"], [f"w{i}"], axis=1))
        else:
            pads = constant(f"p{i}", [above[0], border[0], above[1], border[1]])
            nodes.append(helper.make_node("Pad", [f"x{i}", pads, constant(f"v{i}", 7.0, onnx.TensorProto.FLOAT)], [f"w{i}"], mode=kind))
        nodes.append(helper.make_node("Slice", [f"w{i}", constant(f"s{i}", [start]), constant(f"e{i}", [end]), "axis"], [f"y{i}"]))
    shape = ["m", "n"] if is_open else [rows, length]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, shape)],
                              [helper.make_tensor_value_info(f"y{i}", 1, None) for i in range(len(pieces))], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def check(kind, length, target, is_open):
    global wrong, count
    x = random.integers(-50, 50, (rows, length)).astype(np.float32)
    n = whole(kind, x, 0).shape[1]
    pieces = [(s, e) for s in sorted({0, 1, 4, 6, n // 2, n - 6, n - 3}) for e in sorted({s + 1, s + 3, s + 5, s + 9, n}) if 0 <= s < e <= n]
    path = f"{folder}/{kind}_{length}_{target}_{is_open}"
    onnx.save(model_of(kind, length, pieces, is_open), path + ".onnx")
    subprocess.run(["lathe", "compile", path + ".onnx", "-o", path + ".so", "-O", "0", "--target", "x86_64:" + target], check=True)
    for i, y in enumerate(Model(path + ".so")(x)):
        start, end = pieces[i]
        count += 1
        if not np.array_equal(y, whole(kind, x, i)[:, start:end]):
            wrong += 1
            print(kind, length, target, is_open, start, end)


for target in ("baseline", "baseline+avx2", "baseline+avx2+avx512"):
    for kind in ("reflect", "edge", "constant", "concat"):
        for length in (6, 40):
            check(kind, length, target, False)
        check(kind, 19, target, True)
print(count, "pieces,", wrong, "wrong")
