"""FOLDER: ONNX models with QuantizeLinear and DequantizeLinear of floats of 8 bits around MatMul, Gemm and Conv, as quantisation tools write them:
on the CPU against numpy, and for a GPU which kernels the products are made of."""
import pathlib
import subprocess
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "Target/Cuda/Inputs"))
from float8_cases import nearest, numbers

folder = sys.argv[1]
random = np.random.default_rng(3)
KINDS = {"e4m3": TensorProto.FLOAT8E4M3FN, "e5m2": TensorProto.FLOAT8E5M2}
wrong = count = 0


def codes(values, format):
    return nearest(values, format, True).view(np.uint8)


def stored(name, values, format):
    return helper.make_tensor(name, KINDS[format], values.shape, codes(values, format).tobytes(), raw=True)


class Quantised:
    """Nodes around one product; `known` has what each operand is worth."""

    def __init__(self, half):
        self.nodes, self.constants, self.float = [], [], np.float16 if half else np.float32

    def constant(self, name, values):
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def dequantised(self, name, format, scale, axis=None):
        """Of the codes of that name; `scale` of all, or of each place along an axis."""
        self.constant(f"{name}_scale", np.asarray(scale, self.float))
        self.constants.append(stored(f"{name}_zero", np.zeros(np.shape(scale)), format))
        self.nodes.append(helper.make_node("DequantizeLinear", [name, f"{name}_scale", f"{name}_zero"], [f"{name}_d"], **({} if axis is None else {"axis": axis})))
        return f"{name}_d"

    def activation(self, name, format, scale):
        self.constant(f"{name}_s", np.asarray(scale, self.float))
        self.constants.append(stored(f"{name}_z", np.zeros(()), format))
        self.nodes.append(helper.make_node("QuantizeLinear", [name, f"{name}_s", f"{name}_z"], [f"{name}_q"]))
        return self.dequantised(f"{name}_q", format, scale)

    def weight(self, name, values, format, scale, axis=None):
        self.constants.append(stored(name, values, format))
        return self.dequantised(name, format, scale, axis)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, (done.stdout + done.stderr).strip()


def along(scale, rank, axis):
    shape = [1] * rank
    if np.ndim(scale):
        shape[axis] = -1
    return np.reshape(scale, shape)


def check(what, q, x, format, scale, want, kernels):
    global wrong, count
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(q.float))
    graph = helper.make_graph(q.nodes, "g", [helper.make_tensor_value_info("x", kind, ["m", *x.shape[1:]])],
                              [helper.make_tensor_value_info("y", kind, None)], q.constants)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), f"{folder}/m.onnx")
    np.savez(f"{folder}/d.npz", x=x.astype(q.float), y=want.astype(q.float))
    said = []
    code, text = run("lathe", "compile", f"{folder}/m.onnx", "-o", f"{folder}/m.so", "-O", "1")
    if not code:
        code, text = run("lathe", "run", f"{folder}/m.so", "--inputs", f"{folder}/d.npz", "--expect", f"{folder}/d.npz", "--rtol", "2e-3", "--atol",
                         str((2e-3 if q.float == np.float16 else 2e-6) * np.abs(want).max()))
    said += [text[-300:]] if code else []
    code, text = run("lathe", "compile", f"{folder}/m.onnx", "-o", f"{folder}/g.so", "--target", "cuda:sm90")
    if not code:
        code, text = run("lathe", "inspect", f"{folder}/g.so")
    said += [f"no {k} among\n{text}" for k in kernels if k not in text]
    count += 1
    wrong += bool(said)
    for s in said:
        print(what, s)


def product(m, n, k, format="e4m3", by_columns=True, half=False, gemm=False):
    q = Quantised(half)
    x, w = random.standard_normal((m, k)).astype(q.float), random.standard_normal((k, n))
    scale, columns = np.float32(0.0625), (random.uniform(0.5, 1, n) if by_columns else np.float64(0.5)).astype(q.float)
    left = q.activation("x", "e4m3", scale)
    right = q.weight("w", w.T if gemm else w, format, columns, (0 if gemm else 1) if by_columns else None)
    bias = random.standard_normal(n).astype(q.float)
    q.nodes.append(helper.make_node("Gemm", [left, right, q.constant("b", bias)], ["y"], transB=1) if gemm else helper.make_node("MatMul", [left, right], ["y"]))
    a = numbers("e4m3")[codes(x.astype(np.float32) / scale, "e4m3")] * np.float64(scale)
    want = a @ (numbers(format)[codes(w, format)] * columns.astype(np.float64)) + (bias.astype(np.float64) if gemm else 0)
    check(f"product {m} {n} {k} {format}", q, x, "e4m3", scale, want, ["gemm_wgmma"])


def window(n, c, f, size, taps, pads, by_filters=True):
    q = Quantised(False)
    x, w = random.standard_normal((n, c, size, size)), random.standard_normal((f, c, taps, taps))
    scale, filters = np.float32(0.0625), (random.uniform(0.5, 1, f) if by_filters else np.float64(0.25)).astype(np.float32)
    left, right = q.activation("x", "e4m3", scale), q.weight("w", w, "e4m3", filters, 0 if by_filters else None)
    q.nodes.append(helper.make_node("Conv", [left, right], ["y"], pads=[pads] * 4))
    a = np.pad(numbers("e4m3")[codes(x.astype(np.float32) / scale, "e4m3")] * np.float64(scale), [(0, 0), (0, 0), (pads, pads), (pads, pads)])
    b, out = numbers("e4m3")[codes(w, "e4m3")] * along(filters.astype(np.float64), 4, 0), size + 2 * pads - taps + 1
    want = sum(np.einsum("nchw,fc->nfhw", a[:, :, u:u + out, v:v + out], b[:, :, u, v]) for u in range(taps) for v in range(taps))
    check(f"window {c} {f} {size} {taps}", q, x.astype(np.float32), "e4m3", scale, want, ["gemm_"])


product(20, 48, 64)
product(33, 40, 96, format="e5m2", by_columns=False)
product(17, 64, 128, half=True)
product(9, 32, 160, gemm=True)
window(2, 32, 24, 9, 3, 1)
window(1, 16, 8, 7, 1, 0, by_filters=False)
print(f"{count} models, {wrong} wrong")
