"""FOLDER: reductions of few long rows, which threads share out in parts, against numpy in f64; every number of threads gives the same bits."""
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

folder = sys.argv[1]
random = np.random.default_rng(5)
wrong = count = 0


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return (done.stdout + done.stderr).strip()[-300:] if done.returncode else ""


def check(what, nodes, x, want, tolerance, constants=None):
    for opened in (False, True):
        check_one(what, nodes, x, want, tolerance, constants or {}, opened)


def check_one(what, nodes, x, want, tolerance, constants, opened):
    global wrong, count
    what += ", open" if opened else ""
    dims = [f"n{i}" if i == x.ndim - 1 or x.shape[i] > 16 else n for i, n in enumerate(x.shape)] if opened else x.shape
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    given = [n.output[0] for n in nodes if n.output[0] in want]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", kind, dims)], [onnx.ValueInfoProto(name=n) for n in given],
                              [numpy_helper.from_array(np.asarray(c), n) for n, c in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), f"{folder}/m.onnx")
    np.savez(f"{folder}/x.npz", x=x)
    said, first = run("lathe", "compile", f"{folder}/m.onnx", "-o", f"{folder}/m.so", "-O", "1", *([f"--dim=n{x.ndim - 1}=0..100"] if opened and not x.size else [])), None
    for threads in (1, 2, 5):
        count += 1
        said = said or run("lathe", "run", f"{folder}/m.so", "--inputs", f"{folder}/x.npz", "--threads", str(threads), "--output-dir", f"{folder}/out")
        got = [] if said else [np.load(f"{folder}/out/{f}") for f in sorted(os.listdir(f"{folder}/out"))]
        first = first or got
        for name, a, same in zip(given, got, first):
            w, scale = want[name], np.abs(want[name][np.isfinite(want[name])].astype(np.float64)).max(initial=1)
            if a.shape != w.shape or not np.allclose(a.astype(np.float64), w.astype(np.float64), 0, tolerance * scale, equal_nan=True):
                said = f"{name} is {a.ravel()[:3]}, not {w.ravel()[:3]}"
            elif a.tobytes() != same.tobytes():
                said = f"{name} has other bits than with one thread"
        if said:
            wrong += 1
            print(what, x.shape, x.dtype, threads, "threads:", said)
            said = ""


def numbers(shape, kind="float32"):
    return random.integers(-100, 100, shape).astype(kind) if np.dtype(kind).kind in "iu" else random.standard_normal(shape).astype(kind)


OPERATORS = {
    "ReduceSum": (lambda x, a, k: x.sum(a, keepdims=k), 1e-5), "ReduceMean": (lambda x, a, k: x.mean(a, keepdims=k), 1e-5),
    "ReduceMax": (lambda x, a, k: x.max(a, keepdims=k), 0), "ReduceMin": (lambda x, a, k: x.min(a, keepdims=k), 0),
    "ReduceL1": (lambda x, a, k: abs(x).sum(a, keepdims=k), 1e-5), "ReduceL2": (lambda x, a, k: np.sqrt((x * x).sum(a, keepdims=k)), 1e-5),
    "ReduceSumSquare": (lambda x, a, k: (x * x).sum(a, keepdims=k), 1e-5), "ReduceLogSumExp": (lambda x, a, k: np.log(np.exp(x).sum(a, keepdims=k)), 1e-5)}
np.seterr(divide="ignore", invalid="ignore")
SHAPES = (((524288,), (0,)), ((3, 200000), (1,)), ((500, 1001), (0, 1)), ((2, 4, 300, 601), (2, 3)), ((7, 3, 131072), (0, 2)), ((200000, 3), (0,)), ((131101,), (0,)),
          ((2, 140009), (1,)), ((503, 509), (0, 1)), ((3, 100), (1,)), ((5, 0), (1,)))
for operator, (function, tolerance) in OPERATORS.items():
    for shape, axes in SHAPES[:-1] if operator in ("ReduceMax", "ReduceMin") else SHAPES:  # those of nothing are no numbers
        x = numbers(shape)
        node = helper.make_node(operator, ["x", "axes"], ["y"], keepdims=int(len(shape) > 2))
        check(operator, [node], x, {"y": function(x.astype(np.float64), axes, len(shape) > 2)}, tolerance, {"axes": np.array(axes)})
for kind in ("int32", "int64", "float64", "float16", "uint8"):
    x = numbers((2, 300000), kind)
    for operator in ("ReduceMax", "ReduceMin") + (("ReduceSum",) if kind in ("int32", "int64", "float64") else ()):
        function = OPERATORS[operator][0]
        check(operator, [helper.make_node(operator, ["x", "axes"], ["y"], keepdims=0)], x, {"y": function(x.astype(np.float64) if kind[0] == "f" else x, (1,), False)}, 1e-12,
              {"axes": np.array([1])})
x = np.where(random.random(140009) > 0.5, 7, -3).astype("int32")
check("quotients", [helper.make_node("Div", ["h", "x"], ["q"]), helper.make_node("ReduceSum", ["q"], ["y"], keepdims=0)], x, {"y": np.array(np.trunc(100 / x).sum())}, 0, {"h": np.int32(100)})
x = numbers((300, 1001))
x[17, 23], x[200, 5] = np.nan, np.inf
everything = lambda operator, at, to: helper.make_node(operator, [at], [to], keepdims=1)
with np.errstate(invalid="ignore"):
    check("numbers that are none", [everything("ReduceMax", "x", "y"), everything("ReduceSum", "x", "z")], x, {"y": np.full((1, 1), np.nan), "z": np.full((1, 1), np.nan)}, 0)
    x[17, 23] = 1
    check("infinity", [everything("ReduceMax", "x", "y"), everything("ReduceMin", "x", "z")], x, {"y": np.full((1, 1), np.inf), "z": np.full((1, 1), x.min())}, 0)
x = numbers((2, 150, 1001)) + 3
whole = lambda a, f: f(a, axis=(0, 1, 2), keepdims=True)
d = x.astype(np.float64) - whole(x.astype(np.float64), np.mean)
check("normalised", [everything("ReduceMean", "x", "m"), helper.make_node("Sub", ["x", "m"], ["d"]), helper.make_node("Mul", ["d", "d"], ["q"]), everything("ReduceMean", "q", "v"),
                     helper.make_node("Sqrt", ["v"], ["s"]), helper.make_node("Div", ["d", "s"], ["y"])], x, {"y": d / np.sqrt(whole(d * d, np.mean))}, 1e-5)
check("between its extremes", [everything("ReduceMax", "x", "h"), everything("ReduceMin", "x", "l"), helper.make_node("Sub", ["h", "l"], ["r"]), helper.make_node("Sub", ["x", "l"], ["o"]),
                               helper.make_node("Div", ["o", "r"], ["y"])], x, {"y": (x.astype(np.float64) - x.min()) / (float(x.max()) - float(x.min()))}, 1e-6)
for make in (lambda n: random.integers(-9, 9, (2, n)).astype("float32"), lambda n: numbers((2, n))):  # many that are equal, and few
    for length in (262144, 140009):
        x = make(length)
        for last in (0, 1):
            place = lambda f: (length - 1 - f(x[:, ::-1], axis=1) if last else f(x, axis=1))[:, None]
            for operator, function in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
                check(operator, [helper.make_node(operator, ["x"], ["y"], axis=1, select_last_index=last)], x, {"y": place(function)}, 0)
x = numbers((2, 600011))
e = np.exp(x.astype(np.float64))
check("softmax", [helper.make_node("Softmax", ["x"], ["y"], axis=1)], x, {"y": e / e.sum(1, keepdims=True)}, 1e-9)
print(count, "results,", wrong, "wrong")
