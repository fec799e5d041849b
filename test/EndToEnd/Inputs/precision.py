"""FOLDER: products with constant matrices, and convolutions, under --precision, at each level and at several heights of one artifact, against numpy's
product with rounded weights in f64: nothing but the weights is rounded; where the machine multiplies pairs of bf16, both operands of several tiles."""
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

folder = sys.argv[1]
random = np.random.default_rng(5)
wrong = count = 0
MULTIPLIES_PAIRS = " avx512_bf16 " in open("/proc/cpuinfo").read()
TILE = 12  # rows of the largest one


def rounded(w, precision):
    if precision == "f16":
        return w.astype(np.float16).astype(np.float64)
    bits = w.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32).astype(np.float64)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return (done.stdout + done.stderr).strip()[-300:] if done.returncode else ""


def check(depth, columns, transposed, heights, precision):
    global wrong, count
    w = random.standard_normal((columns, depth) if transposed else (depth, columns)).astype(np.float32)
    bias = random.standard_normal(columns).astype(np.float32)
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["y"], "product", transB=int(transposed))]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["m", depth])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["m", columns])],
                              [numpy_helper.from_array(w, "w"), numpy_helper.from_array(bias, "b")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), f"{folder}/m.onnx")
    said = run("lathe", "compile", f"{folder}/m.onnx", "-o", f"{folder}/m.so", "-O", "1", "--precision", precision)
    for m in heights:
        x = random.standard_normal((m, depth)).astype(np.float32)
        matrix = rounded(w, precision)
        want = x.astype(np.float64) @ (matrix.T if transposed else matrix) + bias
        for level in "1230":
            if level == "0" and MULTIPLIES_PAIRS and precision == "bf16" and m > TILE:
                want = rounded(x, precision) @ (matrix.T if transposed else matrix) + bias
            np.savez(f"{folder}/d.npz", x=x, y=want.astype(np.float32))
            count += 1
            said = said or run("lathe", "run", f"{folder}/m.so", "--inputs", f"{folder}/d.npz", "--expect", f"{folder}/d.npz", "--rtol", "0",
                               "--atol", str(2e-6 * np.abs(want).max(initial=1)), *(["--max-level", level] if level != "0" else []))
            if said:
                wrong += 1
                print(depth, columns, transposed, m, precision, "level", level, said)
                said = ""


def convolved(x, w):
    """[pixels][pixels][channels] by [columns][channels][taps][taps], zeros around."""
    taps, size = w.shape[2], x.shape[0]
    padded = np.pad(x, ((taps // 2, taps // 2), (taps // 2, taps // 2), (0, 0)))
    return sum(padded[u : u + size, v : v + size] @ w[:, :, u, v].T for u in range(taps) for v in range(taps))


def check_window(channels, columns, taps, size, last, precision):
    """last: channels of image and result lie side by side."""
    global wrong, count
    w = random.standard_normal((columns, channels, taps, taps)).astype(np.float32)
    x = random.standard_normal((size, size, channels)).astype(np.float32)
    conv = helper.make_node("Conv", ["i", "w"], ["o"], "window", pads=[taps // 2] * 4)
    move = lambda a, b, order: helper.make_node("Transpose" if last else "Identity", [a], [b], **({"perm": order} if last else {}))
    place = lambda a: a[None] if last else a.transpose(2, 0, 1)[None]
    image, result = ([1, size, size, n] if last else [1, n, size, size] for n in (channels, columns))
    graph = helper.make_graph([move("x", "i", [0, 3, 1, 2]), conv, move("o", "y", [0, 2, 3, 1])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, image)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, result)], [numpy_helper.from_array(w, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), f"{folder}/m.onnx")
    said = run("lathe", "compile", f"{folder}/m.onnx", "-o", f"{folder}/m.so", "-O", "1", "--precision", precision, "--convolutions", "direct")
    narrow = precision == "f16" or (channels >= 32 and channels % 2 == 0)
    for level in "1230":
        pairs = level == "0" and MULTIPLIES_PAIRS and precision == "bf16" and narrow
        want = convolved(rounded(x, precision) if pairs else x.astype(np.float64), rounded(w, precision) if narrow else w.astype(np.float64))
        np.savez(f"{folder}/d.npz", x=place(x), y=place(want).astype(np.float32))
        count += 1
        said = said or run("lathe", "run", f"{folder}/m.so", "--inputs", f"{folder}/d.npz", "--expect", f"{folder}/d.npz", "--rtol", "0",
                           "--atol", str(2e-6 * np.abs(want).max(initial=1)), *(["--max-level", level] if level != "0" else []))
        if said:
            wrong += 1
            print(channels, columns, taps, size, last, precision, "level", level, said)
            said = ""


for precision in ("bf16", "f16"):
    check_window(64, 24, 1, 9, True, precision)
    check_window(32, 88, 3, 7, True, precision)
    check_window(46, 40, 3, 7, False, precision)
    check_window(33, 48, 1, 7, True, precision)
    check_window(544, 16, 1, 15, True, precision)
for precision in ("bf16", "f16"):
    check(5, 2, False, (1, 3), precision)
    check(7, 33, False, (1, 13), precision)
    check(64, 96, True, (1, 2, 12, 13, 50), precision)
    check(129, 40, True, (1, 5, 13, 50), precision)
    check(1056, 70, False, (300,), precision)
print(count, "products,", wrong, "wrong")
