"""FOLDER SAMPLE TARGET: reductions down columns against numpy's in f64."""
import ctypes
import subprocess
import sys

import numpy as np
import onnx
from onnx import helper

folder, sample, target = sys.argv[1:]
sys.path.append(sample)
from model import Model  # noqa: E402

random = np.random.default_rng(7)
wrong = count = 0


class Options(ctypes.Structure):
    """LatheOptions of lathe.h, as far as they are set."""
    _fields_ = [("size", ctypes.c_uint32), ("device", ctypes.c_int32 * 2), ("threads", ctypes.c_int32)]


def compiled(name, nodes, x, constants, is_open):
    element = helper.np_dtype_to_tensor_dtype(x.dtype)
    outputs = nodes[-1].output
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", element, [f"d{i}" for i in range(x.ndim)] if is_open else x.shape)],
                              [onnx.ValueInfoProto(name=o) for o in outputs], constants)
    path = f"{folder}/{name}"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path + ".onnx")
    for t in (target, "x86_64:baseline"):
        subprocess.run(["lathe", "compile", path + ".onnx", "-o", path + ".so", "--target", t], check=True)
        for threads in (1, 3):
            yield Model(path + ".so", Options(size=ctypes.sizeof(Options), threads=threads))


def check(op, kind, shape, axis, reference, tolerance, is_open=False):
    """`tolerance`: of the magnitude that is summed up, of which a block of 128 terms rounds 64 times at the worst and random ones some 8."""
    global wrong, count
    x = random.standard_normal(shape) if np.dtype(kind).kind == "f" else random.integers(-50, 50, shape)
    x = (1 + x / 1000 if op == "ReduceProd" else x).astype(kind)
    if op in ("ReduceMax", "ReduceMin") and np.dtype(kind).kind == "f":
        x[(3,) * x.ndim] = np.nan
    reduced = [helper.make_node(o, ["x", "axes"], [f"r{i}"], keepdims=0) for i, o in enumerate(op.split("+"))]
    constants = [helper.make_tensor("axes", onnx.TensorProto.INT64, [1], [axis])]
    nodes = [*reduced, helper.make_node("Sub", ["r0", "r1"], ["y"]) if len(reduced) > 1 else helper.make_node("Neg", ["r0"], ["y"])]
    expected = (1 if len(reduced) > 1 else -1) * reference(x.astype(np.float64) if np.dtype(kind).kind == "f" else x.astype(np.int64), axis)
    name = "_".join(map(str, (op, np.dtype(kind).name, *shape, axis, is_open)))
    for model in compiled(name, nodes, x, constants, is_open):
        y = model(x)[0]
        count += 1
        if y.dtype != x.dtype or not np.allclose(y.astype(expected.dtype), expected, tolerance, tolerance * np.sqrt(shape[axis]), equal_nan=True):
            wrong += 1
            print(name, "differs by", np.nanmax(np.abs(y - expected)))


check("ReduceSum", "f4", (2500, 1003), 0, np.sum, 1e-6)
check("ReduceSum", "f4", (3, 1200, 701), 1, np.sum, 1e-6, is_open=True)
check("ReduceSum", "f4", (17, 130003), 0, np.sum, 1e-6, is_open=True)
check("ReduceMean", "f2", (4501, 1000), 0, np.mean, 1e-3)
check("ReduceMean", "f4", (2, 1500, 1003), 1, np.mean, 1e-6, is_open=True)
check("ReduceMax", "f4", (2500, 1003), 0, np.max, 0)
check("ReduceMin", "f8", (1300, 1001), 0, np.min, 0, is_open=True)
check("ReduceProd", "f4", (2500, 1003), 0, np.prod, 1e-5)
check("ReduceSumSquare", "f8", (1300, 1001), 0, lambda x, a: np.sum(x * x, a), 1e-13)
check("ReduceL1", "f4", (40001, 70), 0, lambda x, a: np.sum(np.abs(x), a), 1e-6)
check("ReduceSum+ReduceMax", "f4", (2500, 9003), 0, lambda x, a: np.sum(x, a) - np.max(x, a), 1e-6)
check("ReduceSum", "i4", (2500, 1003), 0, np.sum, 0, is_open=True)
check("ReduceSum", "i8", (1300, 1001), 0, np.sum, 0)
print(count, "reductions,", wrong, "wrong")
