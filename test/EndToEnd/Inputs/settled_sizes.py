"""FOLDER SAMPLE: models of open sizes whose sizes or offsets follow from an equality or a division, against numpy's."""
import subprocess
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

folder, sample = sys.argv[1:]
sys.path.append(sample)
from model import Model  # noqa: E402

random = np.random.default_rng(3)
floats = lambda *shape: random.integers(-4, 5, shape).astype(np.float32)
whole = lambda *values: np.array(values, np.int64)
node = lambda op, inputs, outputs, **attributes: helper.make_node(op, inputs.split(), outputs.split(), **attributes)
matrix, tall, eight = floats(86, 9), floats(258, 9), floats(8, 9)


def halves(x):
    for _ in range(2):
        a, b = np.split(x, 2, 1)
        x = a * b
    return x @ eight


def skewed(x):
    n = x.shape[1]
    return np.pad(x, ((0, 0), (0, 0), (1, 0))).reshape(-1, n + 1, n)[:, 1:].reshape(x.shape)


pairs = [node("Split", "x", "a b", axis=1, num_outputs=2), node("Mul", "a b", "c"), node("Split", "c", "d e", axis=1, num_outputs=2), node("Mul", "d e", "f")]
cut = node("Slice", "x from to one", "s")
shift = [node("Pad", "x pads", "p"), node("Shape", "x", "t"), node("Slice", "t one two", "n"), node("Add", "n one", "m"), node("Concat", "minus m n", "u", axis=0),
         node("Reshape", "p u", "q"), node("Slice", "q one end one", "r"), node("Reshape", "r t", "y")]
cases = {
    "halves": (pairs + [node("MatMul", "f w", "y")], {"w": eight}, halves, [(1, 32), (5, 32)]),
    "slice": ([cut, node("MatMul", "s w", "y")], {"w": matrix, "from": whole(23), "to": whole(109), "one": whole(1)}, lambda x: x[:, 23:109] @ matrix, [(3, 109), (5, 200)]),
    "tiled": ([cut, node("Tile", "s r", "v"), node("MatMul", "v w", "y")], {"w": tall, "from": whole(23), "to": whole(109), "one": whole(1), "r": whole(1, 3)},
              lambda x: np.tile(x[:, 23:109], 3) @ tall, [(3, 109), (5, 200)]),
    "skewed": (shift, {"pads": whole(0, 0, 1, 0, 0, 0), "one": whole(1), "two": whole(2), "minus": whole(-1), "end": whole(1 << 40)}, skewed,
               [(2, n, n) for n in (1, 2, 15, 16, 17, 63, 130)]),
    "apart": ([node("Einsum", "x w", "y", equation="bdt,de->bte")], {"w": eight}, lambda x: np.einsum("bdt,de->bte", x, eight), [(b, 8, t) for b in (1, 2, 5) for t in (1, 7, 12, 40)]),
    "first": ([node("Neg", "x", "n"), node("TopK", "n k", "y i", axis=1)], {"k": whole(3)}, lambda x: -np.sort(x, 1)[:, :3], [(2, 3, 1), (3, 40, 7), (2, 130, 17)]),
}
wrong = count = 0
for target in ("baseline", "baseline+avx2", "baseline+avx2+avx512"):
    for name, (nodes, constants, expected, shapes) in cases.items():
        sizes = ["b", "n", "n"] if name == "skewed" else ["b", "m", "n"][:len(shapes[0])]
        graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x", 1, sizes)], [onnx.ValueInfoProto(name="y")],
                                  [numpy_helper.from_array(c, n) for n, c in constants.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), f"{folder}/{name}.onnx")
        path = f"{folder}/{name}.{target}.so"
        subprocess.run(["lathe", "compile", f"{folder}/{name}.onnx", "-o", path, "-O", "1", "--target", "x86_64:" + target], check=True)
        model = Model(path)
        for shape in shapes:
            x = floats(*shape)
            count += 1
            if not np.array_equal(model(x)[0], expected(x)):
                wrong += 1
                print(target, name, shape)
print(count, "results,", wrong, "wrong")
