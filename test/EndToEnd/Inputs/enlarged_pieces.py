"""FOLDER SAMPLE: images that are enlarged by different factors and joined by channels, against numpy's."""
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
wrong = count = models = 0
flags = dict(mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")


def model_of(factors, images, is_open):
    nodes, constants = [], []
    for i, f in enumerate(factors):
        constants.append(numpy_helper.from_array(np.array([1, 1, f, f], np.float32), f"s{i}"))
        nodes.append(helper.make_node("Resize", [f"x{i}", "", f"s{i}"], [f"y{i}"], **flags))
    nodes.append(helper.make_node("Concat", [f"y{i}" for i in range(len(factors))], ["y"], axis=1))
    code = helper.np_dtype_to_tensor_dtype(images[0].dtype)
    inputs = [helper.make_tensor_value_info(f"x{i}", code, [1, "c", f"h{i}", f"w{i}"] if is_open else image.shape) for i, image in enumerate(images)]
    graph = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name="y")], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


for target in turns.variants():
    for factors in ((1, 2), (2, 1, 4), (1, 8, 4, 2), (16, 2), (1, 32), (1, 3)):
        for width in (21, 96) if 3 in factors else (32, 96, 160, 288):
            for kind in (np.float32, np.uint8, np.int64):
                for is_open in (False, True) if width == 96 else (False,):
                    height = 30 if 3 in factors else 32
                    images = [random.integers(0, 99, (1, 3, height // f, width // f)).astype(kind) for f in factors]
                    path = f"{folder}/{target}_{'_'.join(map(str, factors))}_{width}_{np.dtype(kind)}_{is_open}"
                    onnx.save(model_of(factors, images, is_open), path + ".onnx")
                    how = turns.effort(models + models // 3, (0, 3)) + (turns.target(0) if models % 12 == 0 else ["--target", "x86_64:" + target])
                    models += 1
                    subprocess.run(["lathe", "compile", path + ".onnx", "-o", path + ".so", *how], check=True)
                    expected = np.concatenate([i.repeat(f, 2).repeat(f, 3) for i, f in zip(images, factors)], 1)
                    count += 1
                    if not np.array_equal(Model(path + ".so")(*images)[0], expected):
                        wrong += 1
                        print(target, factors, width, np.dtype(kind), is_open)
print(count, "results,", wrong, "wrong")
