"""A product with weights of 4 bits, columns and rows no multiples of panels and blocks, f16 in and out, compiled for a CPU and a GPU at once.

usage: coded_targets.py FOLDER: writes the model, its input and what numpy makes of it"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

folder, rng = sys.argv[1], np.random.default_rng(5)
rows, k, n, block = 5, 100, 72, 32
blocks = (k + block - 1) // block
packed = rng.integers(0, 256, (n, blocks, block // 2), np.uint8)
zeros = rng.integers(0, 256, (n, (blocks + 1) // 2), np.uint8)
scale = ((rng.random((n, blocks)) + 0.5) / 50).astype(np.float16)
split = lambda a: np.stack([a & 15, a >> 4], -1).reshape(n, -1).astype(np.float64)
weights = (split(packed) - np.repeat(split(zeros)[:, :blocks], block, 1)) * np.repeat(scale.astype(np.float64), block, 1)
x = rng.standard_normal((rows, k)).astype(np.float16)
np.savez(f"{folder}/in.npz", x=x)
np.savez(f"{folder}/out.npz", y=(x.astype(np.float64) @ weights[:, :k].T).astype(np.float16))
tensor = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT16, shape)
node = helper.make_node("MatMulNBits", ["x", "w", "s", "z"], ["y"], domain="com.microsoft", K=k, N=n, bits=4, block_size=block)
given = [numpy_helper.from_array(a, name) for name, a in (("w", packed), ("s", scale.reshape(-1)), ("z", zeros.reshape(-1)))]
graph = helper.make_graph([node], "g", [tensor("x", ["rows", k])], [tensor("y", ["rows", n])], given)
opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), f"{folder}/model.onnx")
