"""FOLDER SAMPLE: pieces, borders and repetitions around the length from which stretches are copied as one, sizes open and fixed, against numpy's."""
import subprocess
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

folder, sample = sys.argv[1:]
sys.path.append(sample)
from model import Model  # noqa: E402

random = np.random.default_rng(0)
whole = lambda name, *values: numpy_helper.from_array(np.array(values, np.int64), name)
wrong = count = 0
cases = {
    "concat": ([helper.make_node("Concat", ["x", "z", "x"], ["y"], axis=-1)], [], lambda x, z: np.concatenate([x, z, x], -1)),
    "first": ([helper.make_node("Concat", ["x", "x"], ["y"], axis=0)], [], lambda x, z: np.concatenate([x, x], 0)),
    "tile": ([helper.make_node("Tile", ["x", "r"], ["y"])], [whole("r", 3, 2)], lambda x, z: np.tile(x, (3, 2))),
    "slice": ([helper.make_node("Slice", ["x", "a", "b", "c"], ["y"])], [whole("a", 3), whole("b", -2), whole("c", 1)], lambda x, z: x[:, 3:-2]),
    "pad": ([helper.make_node("Pad", ["x", "p"], ["y"])], [whole("p", 1, 5, 0, 2)], lambda x, z: np.pad(x, ((1, 0), (5, 2)))),
    "reflect": ([helper.make_node("Pad", ["x", "p"], ["y"], mode="reflect")], [whole("p", 0, 5, 0, 20)], lambda x, z: np.pad(x, ((0, 0), (5, 20)), "reflect")),
}
lengths = (33, 1023, 1024, 1025, 2047, 2048, 2049, 2100, 4096, 5000, 8191, 8192, 9001)
for name, (nodes, constants, expected) in cases.items():
    for kind in (np.float32, np.int8, np.int64):
        code = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        uses = ("x", "z") if name == "concat" else ("x",)
        for length in (None, 2048, 8195):
            inputs = [helper.make_tensor_value_info(n, code, [None if length is None else 3, f"n{n}" if length is None else length]) for n in uses]
            graph = helper.make_graph(nodes, name, inputs, [onnx.ValueInfoProto(name="y")], constants)
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), folder + "/m.onnx")
            path = f"{folder}/{name}.{np.dtype(kind)}.{length}.so"
            subprocess.run(["lathe", "compile", folder + "/m.onnx", "-o", path, "-O", "1", "--target", "x86_64:baseline+avx2+avx512"], check=True)
            model = Model(path)
            for n in lengths if length is None else [length]:
                x, z = (random.integers(-99, 99, (3, k)).astype(kind) for k in (n, n + 7 if length is None else n))
                count += 1
                if not np.array_equal(model(*(x, z)[:len(uses)])[0], expected(x, z)):
                    wrong += 1
                    print(name, np.dtype(kind), length, n)
print(count, "results,", wrong, "wrong")
