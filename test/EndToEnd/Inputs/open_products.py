"""FOLDER SAMPLE: scaled products of batches with every size open, at sizes around the edges of tiles and of short sums, against numpy's."""
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
values = [helper.make_tensor_value_info(n, 1, d) for n, d in (("x", ["b", "m", "k"]), ("w", ["b", "k", "n"]), ("y", None))]
nodes = [helper.make_node("MatMul", ["x", "w"], ["t"]), helper.make_node("Mul", ["t", "c"], ["y"])]
graph = helper.make_graph(nodes, "g", values[:2], values[2:], [helper.make_tensor("c", 1, [], [0.125])])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder + "/m.onnx")

for target in ("baseline", "baseline+avx2", "baseline+avx2+avx512"):
    path = f"{folder}/{target}.so"
    subprocess.run(["lathe", "compile", folder + "/m.onnx", "-o", path, "-O", "1", "--dim", "k=0..", "--target", "x86_64:" + target], check=True)
    model = Model(path)
    for k in (0, 1, 2, 63, 64, 80, 81, 256, 257):
        for m in (1, 2, 5, 12, 13, 27):
            for n in (1, 15, 16, 17, 31, 32, 33, 49, 64, 95):
                x, w = (random.integers(-4, 5, shape).astype(np.float32) for shape in ((2, m, k), (2, k, n)))  # whose sums are exact
                count += 1
                if not np.array_equal(model(x, w)[0], x @ w * np.float32(0.125)):
                    wrong += 1
                    print(target, k, m, n)
print(count, "products,", wrong, "wrong")
