"""FOLDER SAMPLE: softmax and its logarithm with all sizes open, of rows that wait in their result and of rows that wait in scratch memory, against numpy in double precision."""
import subprocess
import sys

import numpy as np
import onnx
from onnx import helper

folder, sample = sys.argv[1:]
sys.path.append(sample)
from model import Model  # noqa: E402

random = np.random.default_rng(0)
wrong = count = 0
values = [helper.make_tensor_value_info(n, 1, ["m", "n"]) for n in "xyz"]
nodes = [helper.make_node("Softmax", ["x"], ["y"], axis=-1), helper.make_node("LogSoftmax", ["x"], ["z"], axis=-1)]
graph = helper.make_graph(nodes, "g", values[:1], values[1:])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder + "/m.onnx")
for target in ("baseline", "baseline+avx2", "baseline+avx2+avx512"):
    path = f"{folder}/{target}.so"
    subprocess.run(["lathe", "compile", folder + "/m.onnx", "-o", path, "--target", "x86_64:" + target], check=True)
    model = Model(path)
    for shape in ((1, 1), (1, 37), (1, 70001), (2, 70001), (5, 1000), (1, 262145), (2, 262144), (3, 262145), (2, 524289)):
        x = (random.standard_normal(shape) * 4).astype(np.float32)
        e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
        y, z = model(x)
        count += 1
        share = e / e.sum(1, keepdims=True)
        bound = 2e-6 + shape[1] / 16 * 2.0 ** -25  # a lane of the narrowest machine adds up one of sixteen, each to half a unit
        if not (np.allclose(y, share, bound, 1e-12) and np.allclose(z, np.log(share), 1e-5, bound)):
            wrong += 1
            print(target, shape)
print(count, "sizes,", wrong, "wrong")
