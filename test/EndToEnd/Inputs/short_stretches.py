"""FOLDER SAMPLE: rows that are put together from stretches of about a vector, and what is read backwards, sizes open and fixed, against numpy's."""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

folder, sample = sys.argv[1:]
sys.path.append(sample)
from model import Model  # noqa: E402
sys.path.append(str(pathlib.Path(__file__).parents[2] / "Conformance"))
import turns  # noqa: E402

random = np.random.default_rng(0)
whole = lambda name, *values: numpy_helper.from_array(np.array(values, np.int64), name)
wrong = count = models = 0
rows = 5


def pad(mode, low, high):
    nodes = [helper.make_node("Pad", ["x", "p"], ["y"], mode=mode)]
    return nodes, [whole("p", 0, low, 0, high)], lambda x: np.pad(x, ((0, 0), (low, high)), mode)


cases = {
    "concat": ([helper.make_node("Concat", ["x", "z"], ["y"], axis=-1)], [], lambda x, z: np.concatenate([x, z], -1)),
    "concat3": ([helper.make_node("Concat", ["x", "z", "x"], ["y"], axis=-1)], [], lambda x, z: np.concatenate([x, z, x], -1)),
    "back": ([helper.make_node("Slice", ["x", "a", "b", "c", "d"], ["y"])], [whole("a", -1), whole("b", -2000), whole("c", 1), whole("d", -1)], lambda x: x[:, ::-1]),
    "back_rows": ([helper.make_node("Slice", ["x", "a", "b", "c", "d"], ["y"])], [whole("a", -1, 0), whole("b", -2000, 2000), whole("c", 0, 1), whole("d", -1, 1)], lambda x: x[::-1]),
    "reflect_1": pad("reflect", 1, 1), "reflect_16": pad("reflect", 16, 3), "reflect_17": pad("reflect", 17, 40), "reflect_70": pad("reflect", 70, 0),
    "edge_1": pad("edge", 1, 2), "wrap_20": pad("wrap", 20, 33), "constant_3": pad("constant", 3, 17),
}
lengths = (1, 2, 3, 7, 8, 15, 16, 17, 18, 31, 32, 33, 34, 35, 40, 41, 69, 70, 71, 100, 139, 140, 141)
for target in turns.variants():
    for name, (nodes, constants, expected) in cases.items():
        uses = ("x", "z") if name.startswith("concat") else ("x",)
        for kind in (np.float32, np.int8, np.float64):
            code = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
            for length in (None, 37):
                inputs = [helper.make_tensor_value_info(n, code, ["m", f"n{n}"] if length is None else [rows, length]) for n in uses]
                graph = helper.make_graph(nodes, name, inputs, [onnx.ValueInfoProto(name="y")], constants)
                onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), folder + "/m.onnx")
                path = f"{folder}/{name}.{np.dtype(kind)}.{length}.{target}.so"
                flags = turns.effort(models + models // 6, (0, 3)) + (turns.target(0) if models % 12 == 0 else ["--target", "x86_64:" + target])
                models += 1
                subprocess.run(["lathe", "compile", folder + "/m.onnx", "-o", path, *flags], check=True)
                model = Model(path)
                pairs = [(n, k) for n in lengths for k in (1, 9, 16, 30)] if len(uses) > 1 else [(n, n) for n in lengths]
                for n, k in pairs if length is None else [(length, length)]:
                    several = rows - (length is None and n % 2)  # four, which may go together, or five
                    given = [random.integers(-99, 99, (several, size)).astype(kind) for size in (n, k)[:len(uses)]]
                    count += 1
                    if not np.array_equal(model(*given)[0], expected(*given)):
                        wrong += 1
                        print(target, name, np.dtype(kind), length, n, k)
print(count, "results,", wrong, "wrong")
