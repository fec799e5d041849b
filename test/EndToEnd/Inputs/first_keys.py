"""FOLDER SAMPLE: TopK of matrices of open sizes along either axis against numpy's stable sort."""
import subprocess
import sys

import numpy as np
import onnx
from onnx import helper

folder, sample = sys.argv[1:]
sys.path.append(sample)
from model import Model  # noqa: E402

random = np.random.default_rng(11)
wrong = count = 0


def compiled(kind, target, k, axis, largest):
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    node = helper.make_node("TopK", ["x", "k"], ["v", "i"], axis=axis, largest=largest)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", element, ["m", "n"])],
                              [helper.make_tensor_value_info(name, t, None) for name, t in (("v", element), ("i", onnx.TensorProto.INT64))],
                              [helper.make_tensor("k", onnx.TensorProto.INT64, [1], [k])])
    path = f"{folder}/{np.dtype(kind).name}_{target}_{k}_{axis}_{largest}"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path + ".onnx")
    subprocess.run(["lathe", "compile", path + ".onnx", "-o", path + ".so", "-O", "1", "--target", "x86_64:" + target], check=True)
    return Model(path + ".so")


def check(kind, target, k, axis, largest):
    global wrong, count
    model = compiled(kind, target, k, axis, largest)
    for n in (k, k + 1, 15, 16, 17, 40, 127, 128, 129, 300):
        for m in (1, 5, 16, 33):
            if n < k:
                continue
            x = random.integers(-40, 40, (m, n) if axis else (n, m)).astype(kind)
            order = np.argsort(-x.astype(np.int64) if largest else x, axis=axis, kind="stable")
            order = order[:, :k] if axis else order[:k]
            values, places = model(x)
            count += 1
            if not (np.array_equal(places, order) and np.array_equal(values, np.take_along_axis(x, order, axis))):
                wrong += 1
                print(kind, target, k, axis, largest, m, n)


for target in ("baseline", "baseline+avx2", "baseline+avx2+avx512"):
    for k in (1, 2, 5, 9, 16, 17):
        check(np.float32, target, k, 1, k % 2)
        check(np.float32, target, k, 0, 1 - k % 2)
    for i, kind in enumerate((np.int8, np.int32, np.int64, np.float64)):
        check(kind, target, 3, 1, i % 2)
        check(kind, target, 7, 0, 1 - i % 2)
print(count, "selections,", wrong, "wrong")
