"""FOLDER SAMPLE: rows of up to seventeen elements, of which a run finds how many: sums, searches, functions and permutations, against numpy's."""
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


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


nodes = {"max": helper.make_node("ReduceMax", ["x"], ["max"], axes=[2], keepdims=0), "place": helper.make_node("ArgMax", ["x"], ["place"], axis=2, keepdims=0),
         "soft": helper.make_node("Softmax", ["x"], ["soft"], axis=2), "turned": helper.make_node("Transpose", ["x"], ["turned"], perm=[0, 2, 1])}
expected = {"max": lambda x: x.max(-1), "place": lambda x: x.argmax(-1), "soft": softmax, "turned": lambda x: x.transpose(0, 2, 1)}
for name, node in nodes.items():
    x = helper.make_tensor_value_info("x", 1, ["b", "m", "n"])
    graph = helper.make_graph([node], name, [x], [onnx.ValueInfoProto(name=name)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), f"{folder}/{name}.onnx")
    for target in ("baseline", "baseline+avx2", "baseline+avx2+avx512"):
        path = f"{folder}/{name}.{target}.so"
        subprocess.run(["lathe", "compile", f"{folder}/{name}.onnx", "-o", path, "-O", "1", "--target", "x86_64:" + target], check=True)
        model = Model(path)
        for n in range(1, 18):
            for m in (1, 2, 5, 8, 15, 16, 17, 40, 257):
                for a in ((2, m, n), (2, n, m)):
                    x = random.integers(-4, 5, a).astype(np.float32)
                    count += 1
                    if not np.allclose(model(x)[0], expected[name](x), 1e-5, 1e-6):
                        wrong += 1
                        print(name, target, a)
print(count, "results,", wrong, "wrong")
