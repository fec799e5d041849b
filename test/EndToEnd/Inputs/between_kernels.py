"""Compiles and runs what stands in front of another node's borders or views, against ONNX Runtime.   usage: between_kernels.py FOLDER"""
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

folder = sys.argv[1]
rng = np.random.default_rng(5)
wrong = total = 0


def floats(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def check(name, nodes, dims, shapes, constants):
    """`dims` of the input x in the model; `shapes` that it has in the runs."""
    global wrong, total
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(a, n) for n, a in constants.items() if any(n in node.input for node in nodes)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), f"{folder}/m.onnx")
    subprocess.run(["lathe", "compile", f"{folder}/m.onnx", "--target", "x86_64:baseline", "-O", "1", "-o", f"{folder}/m.so"], check=True)
    session = onnxruntime.InferenceSession(f"{folder}/m.onnx", providers=["CPUExecutionProvider"])
    for shape in shapes:
        x = abs(floats(*shape)) + 0.1
        np.savez(f"{folder}/d.npz", x=x, y=session.run(None, {"x": x})[0])
        run = subprocess.run(["lathe", "run", f"{folder}/m.so", "--inputs", f"{folder}/d.npz", "--expect", f"{folder}/d.npz"], capture_output=True, text=True)
        total += 1
        if run.returncode:
            wrong += 1
            print(name, shape, run.stderr)


def transposed_convolutions():
    """What is not 0 at 0, in front of the zeros between the elements of an image and around it."""
    node, wide, small = helper.make_node, ["n", 3, "h", 6], ((2, 3, 5, 6), (1, 3, 1, 6))
    weights = dict(w=floats(3, 4, 4, 4), c=floats(1, 3, 1, 1), two=np.float32(2))
    for op, inputs in (("Add", ["x", "c"]), ("Sigmoid", ["x"]), ("Softmax", ["x"]), ("Log", ["x"]), ("Div", ["two", "x"])):
        for stride in (2, 3):
            check(f"{op} stride {stride}", [node(op, inputs, ["a"]), node("ConvTranspose", ["a", "w"], ["y"], strides=[stride] * 2, pads=[1] * 4)],
                  wide, small, weights)
    check("Add, Pad, Conv", [node("Add", ["x", "c"], ["a"]), node("Pad", ["a", "p"], ["b"]), node("Conv", ["b", "v"], ["y"], pads=[1] * 4)],
          wide, small, dict(c=weights["c"], p=np.array([0, 0, 1, 2, 0, 0, 2, 1]), v=floats(4, 3, 3, 3)))


def recurrences():
    """One recurrence's results, turned and folded, are the next one's steps."""
    node = helper.make_node
    nodes = [node("LSTM", ["x", "W0", "R0"], ["s"], hidden_size=4), node("Squeeze", ["s", "one"], ["f"]), node("Reshape", ["f", "folded"], ["q"]),
             node("Transpose", ["q"], ["t"], perm=[1, 0, 2]), node("LSTM", ["t", "W1", "R1"], ["y"], hidden_size=4)]
    check("LSTM, Reshape, Transpose, LSTM", nodes, ["n", 1, 3], ((4, 1, 3), (7, 1, 3)),
          dict(W0=floats(1, 16, 3), R0=floats(1, 16, 4), W1=floats(1, 16, 4), R1=floats(1, 16, 4), folded=np.array([1, -1, 4]), one=np.array([1])))


transposed_convolutions()
recurrences()
print(f"{total - wrong} results agree, {wrong} do not")
