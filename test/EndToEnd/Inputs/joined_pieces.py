"""FOLDER SAMPLE: concatenations along outer axes, of two to ten operands, sizes open and fixed, with what is computed on the way, against numpy's."""
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
for number in (2, 3, 5, 10):
    names = [f"x{i}" for i in range(number)]
    for axis, scaled in ((0, False), (1, False), (1, True), (2, False)):
        for shape in (None, (3, 4, 7), (2, 31, 200), (1, 5, 2100)):
            dims = lambda i: [f"n{i}" if d == axis else "abc"[d] for d in range(3)] if shape is None else [s + i * (d == axis) for d, s in enumerate(shape)]
            inputs = [helper.make_tensor_value_info(n, 1, dims(i)) for i, n in enumerate(names)]
            nodes = [helper.make_node("Concat", ["s"] + names[1:] if scaled else names, ["y"], axis=axis)]
            if scaled:
                nodes.insert(0, helper.make_node("Neg", ["x0"], ["s"]))
            graph = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name="y")])
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder + "/m.onnx")
            path = f"{folder}/{number}.{axis}.{scaled}.{shape}.so"
            subprocess.run(["lathe", "compile", folder + "/m.onnx", "-o", path, "-O", "1", "--target", "x86_64:baseline+avx2+avx512"], check=True)
            model = Model(path)
            for sizes in [shape] if shape else [(2, 3, 5), (1, 1, 1), (3, 17, 16), (2, 5, 400), (4, 40, 33), (1, 3, 5000)]:
                xs = [random.standard_normal([s + i * (d == axis) for d, s in enumerate(sizes)]).astype(np.float32) for i in range(number)]
                count += 1
                if not np.array_equal(model(*xs)[0], np.concatenate(([-xs[0]] if scaled else xs[:1]) + xs[1:], axis)):
                    wrong += 1
                    print(number, axis, scaled, shape, sizes)
print(count, "results,", wrong, "wrong")
