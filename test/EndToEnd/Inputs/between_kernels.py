"""Compiles and runs what stands in front of another node's borders or views, against ONNX Runtime.   usage: between_kernels.py FOLDER"""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).parents[2] / "Conformance"))
import turns  # noqa: E402

folder = sys.argv[1]
rng = np.random.default_rng(5)
wrong = total = models = 0


def floats(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def even(*shape):
    """Filters whose results are as large as what they are made of."""
    return (floats(*shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)


def check(name, nodes, dims, shapes, constants, target="x86_64:baseline"):
    """`dims` of the input x in the model; `shapes` that it has in the runs."""
    global wrong, total, models
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(a, n) for n, a in constants.items() if any(n in node.input for node in nodes)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), f"{folder}/m.onnx")
    flags = turns.effort(models + models // 6, (0, 3)) + (["--target", target] if ":" in target else turns.target(models))
    models += 1
    subprocess.run(["lathe", "compile", f"{folder}/m.onnx", *flags, "-o", f"{folder}/m.so"], check=True)
    session = onnxruntime.InferenceSession(f"{folder}/m.onnx", providers=["CPUExecutionProvider"])
    for shape in shapes:
        x = abs(floats(*shape)) + 0.1
        np.savez(f"{folder}/d.npz", x=x, y=session.run(None, {"x": x})[0])
        for level in ("1", "2", "3") if ":" not in target else ("3",):
            run = subprocess.run(["lathe", "run", f"{folder}/m.so", "--inputs", f"{folder}/d.npz", "--expect", f"{folder}/d.npz", "--max-level", level,
                                  "--threads", "2" if level == "1" else "1"], capture_output=True, text=True)
            total += 1
            if run.returncode:
                wrong += 1
                print(name, shape, level, run.stderr)


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
    # So much work in a step that on one thread every other one begins with its last columns; sizes that no piece divides.
    for hidden in (96, 131):
        check(f"LSTM {hidden}", [node("LSTM", ["x", "W", "R"], ["y"], hidden_size=hidden)], ["n", 1, 5], ((1, 1, 5), (2, 1, 5), (9, 1, 5)),
              dict(W=even(1, 4 * hidden, 5), R=even(1, 4 * hidden, hidden)))


def planes():
    """Images in planes of channels, of which a convolution makes one with its channels together: strides, gaps and borders of any width."""
    node = helper.make_node
    for inputs, outputs, kernel, stride, gap, pads in ((24, 12, (2, 2), (1, 1), (1, 1), [0, 0, 1, 1]), (16, 24, (3, 3), (2, 2), (1, 1), [1] * 4),
                                                       (17, 16, (3, 4), (1, 3), (2, 1), [3, 0, 1, 2]), (33, 12, (1, 3), (4, 4), (1, 2), [0, 3, 2, 1]),
                                                       (3, 16, (3, 3), (2, 2), (1, 1), [1] * 4), (5, 24, (5, 7), (1, 3), (2, 1), [4, 5, 0, 2]),
                                                       (1, 40, (3, 2), (1, 1), (1, 4), [1, 0, 1, 3]), (3, 16, (7, 11), (4, 4), (1, 1), [2] * 4)):
        weights = dict(w=even(outputs, inputs, *kernel), v=even(24, outputs, 1, 1), u=even(5, 24, 1, 1))
        nodes = [node("Conv", ["x", "w"], ["a"], pads=pads, strides=stride, dilations=gap), node("Conv", ["a", "v"], ["b"]), node("Conv", ["b", "u"], ["y"])]
        for dims in ([2, inputs, 11, 61], ["n", inputs, "h", "l"]):
            check(f"planes {kernel} {stride}", nodes, dims, ((2, inputs, 11, 61),), weights, "x86_64")


def depthwise():
    """Lines of tiles of which the ends, all or none reach beyond the image, and of one tile."""
    node = helper.make_node
    for width, kernel, stride, gap, pads in ((28, 5, 1, 1, [2] * 4), (14, 3, 1, 1, [1] * 4), (61, 3, 2, 1, [1, 0, 0, 1]), (40, 5, 1, 4, [8] * 4),
                                             (33, 3, 1, 1, [0] * 4), (7, 5, 1, 1, [2] * 4), (64, 2, 3, 1, [0, 2, 1, 0]), (26, 7, 1, 1, [3] * 4)):
        weights = dict(w=even(24, 1, kernel, kernel), u=even(24, 3, 1, 1), v=even(20, 24, 1, 1))
        nodes = [node("Conv", ["x", "u"], ["a"]), node("Conv", ["a", "w"], ["b"], group=24, strides=[stride] * 2, dilations=[gap] * 2, pads=pads),
                 node("Conv", ["b", "v"], ["y"])]
        check(f"depthwise {width} {kernel} {stride} {gap}", nodes, [1, 3, 17, width], ((1, 3, 17, width),), weights, "x86_64")


def few_pixels():
    """Images of so few pixels that panels of them would be computed in vain, between planes."""
    for inputs, outputs, size, kernel in ((64, 32, 7, 3), (33, 48, 5, 1), (16, 96, 6, 3), (20, 17, 7, 2)):
        check(f"few pixels {size} {kernel}", [helper.make_node("Conv", ["x", "w"], ["y"], pads=[kernel // 2] * 2 + [0] * 2)], [1, inputs, size, size],
              ((1, inputs, size, size),), dict(w=even(outputs, inputs, kernel, kernel)), "x86_64")


def dilated():
    """Windows that step over lines and pixels, of images that these divide or not: between planes, where pixels stay together, and between channels;
    borders as wide as the window reaches and wider, batches."""
    node = helper.make_node
    for gap, size, pads in (((4, 4), (24, 20), [4, 4, 4, 4]), ((2, 3), (18, 33), [2, 3, 2, 3]), ((3, 2), (19, 20), [3, 2, 3, 2]), ((2, 1), (12, 9), [4, 1, 4, 1]),
                            ((1, 2), (9, 16), [1, 0, 1, 3]), ((2, 2), (10, 16), [5, 2, 5, 2])):
        weights = dict(w=even(24, 16, 3, 3), u=even(16, 5, 1, 1), v=even(20, 24, 1, 1))
        for batch in (1, 2, "n"):
            shape = (3 if batch == "n" else batch,)
            check(f"dilated {gap} {size}", [node("Conv", ["x", "w"], ["y"], dilations=gap, pads=pads)], [batch, 16, *size], ((*shape, 16, *size),), weights, "x86_64")
            nodes = [node("Conv", ["x", "u"], ["a"]), node("Conv", ["a", "w"], ["b"], dilations=gap, pads=pads), node("Conv", ["b", "v"], ["y"])]
            check(f"dilated inside {gap} {size}", nodes, [batch, 5, *size], ((*shape, 5, *size),), weights, "x86_64")


transposed_convolutions()
recurrences()
planes()
depthwise()
few_pixels()
dilated()
print(f"{total - wrong} results agree, {wrong} do not")
