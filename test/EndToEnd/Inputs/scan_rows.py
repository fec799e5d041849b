"""FOLDER SAMPLE: running sums over the rows of matrices of many sizes against numpy's."""
import subprocess
import sys

import numpy as np
import onnx
from onnx import helper

folder, sample = sys.argv[1:]
sys.path.append(sample)
from model import Model  # noqa: E402

random = np.random.default_rng(5)
wrong = count = 0


def expected(x, reverse, exclusive):
    x = x[:, ::-1] if reverse else x
    y = np.cumsum(x, 1, dtype=x.dtype)
    y = y - x if exclusive else y
    return y[:, ::-1] if reverse else y


def check(kind, target, reverse, exclusive):
    global wrong, count
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    node = helper.make_node("CumSum", ["x", "axis"], ["y"], reverse=reverse, exclusive=exclusive)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", element, ["m", "n"])], [helper.make_tensor_value_info("y", element, None)],
                              [helper.make_tensor("axis", onnx.TensorProto.INT64, [], [1])])
    path = f"{folder}/{np.dtype(kind).name}_{target}_{reverse}_{exclusive}"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path + ".onnx")
    subprocess.run(["lathe", "compile", path + ".onnx", "-o", path + ".so", "-O", "1", "--target", "x86_64:" + target], check=True)
    model = Model(path + ".so")
    for n in [*range(1, 36), 63, 64, 65, 94, 95, 96, 97, 130]:
        for m in (1, 2, 9, 50):
            x = random.integers(-50, 50, (m, n)).astype(kind)  # whose sums are exact
            count += 1
            if not np.array_equal(model(x)[0], expected(x, reverse, exclusive)):
                wrong += 1
                print(kind, target, reverse, exclusive, m, n)


for target in ("baseline", "baseline+avx2", "baseline+avx2+avx512"):
    for i, kind in enumerate((np.float32, np.float64, np.int32, np.int64)):
        for reverse in (0, 1):
            check(kind, target, reverse, (i + reverse) % 2)
            if i == 0:
                check(kind, target, reverse, 1 - reverse)
print(count, "scans,", wrong, "wrong")
