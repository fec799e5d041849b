"""Models whose sizes, inputs and nodes have any names.

usage: odd_names.py onnx|fx LATHE LATHE-OPT DIR [PROGRAM.json]
Every model must compile, give what ONNX Runtime (of the exported program: numpy) gives, and print intermediate forms that are
read back as they are.
"""
import json
import os
import subprocess
import sys
import zipfile

import numpy as np

NAMES = ["$batch", "$7", "$0", "i0", "i1", "i", "]", "[0]", "%x", "%", "d0", "s000", "a b", "a*b", "b", "a+1", "n//2", "-n", "(n)",
         "floordiv", "min", "mod(n, 2)", "'", "it's", '"', "\\", "\\n", "\n", "\t x", " ", "7x", "3.5", "größe", "尺寸", "🙂",
         "x[0]", "k[]", "n.div.4", "size", "count", "@q", "#", "<unknown>", "?x", "in", "a,b", "{}", "%s%n", "arg0", "NonZero[]"]
PAIRS = [(NAMES[i], NAMES[i + 1]) for i in range(0, len(NAMES), 2)]
rng = np.random.default_rng(3)


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8", errors="surrogateescape").stdout


def check(lathe, opt, model, folder, a, b, runs):
    so, printed = os.path.join(folder, "m.so"), os.path.join(folder, "m.mlir")
    for stage in ("graph", "kernels"):
        run(lathe, "compile", model, "--emit", stage, "-o", printed)
        once = run(opt, printed)
        with open(printed, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(once)
        assert run(opt, printed) == once, "the printed form is read as another one"
    run(lathe, "compile", model, "--target", "x86_64:avx2", "-o", so)
    sizes = {s["name"] for s in json.loads(run(lathe, "inspect", so, "--json"))["symbols"]}
    assert {a, b} <= sizes, "%r and %r are not in %r" % (a, b, sizes)
    for number, (inputs, outputs) in enumerate(runs):
        data = os.path.join(folder, "%d.npz" % number)
        np.savez(data, **{"in%d" % i: v for i, v in enumerate(inputs)}, **{"out%d" % i: v for i, v in enumerate(outputs)})
        run(lathe, "run", so, "--inputs", data, "--expect", data, "--rtol", "1e-4", "--atol", "1e-5")


def onnx_model(path, a, b):
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    x, at, shape = "x." + b, a, b  # a tensor may have the name of a size
    weights = numpy_helper.from_array(np.arange(48, dtype=np.float32).reshape(8, 6) / 50 - 0.4, "w")
    nodes = [helper.make_node("Softmax", [x], ["soft"], axis=1),
             helper.make_node("Gather", ["soft", at], ["rows"], axis=0),
             helper.make_node("MatMul", ["rows", "w"], ["product"], name=a),
             helper.make_node("Relu", ["product"], ["relu"]),
             helper.make_node("Concat", ["relu", "product"], ["both"], axis=1),
             helper.make_node("ReduceMax", ["both"], ["max"], axes=[1], keepdims=0),
             helper.make_node("Reshape", ["max", shape], ["given"]),
             helper.make_node("NonZero", [x], ["places"], name=b)]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [value(x, TensorProto.FLOAT, [a, b, 8]), value(at, TensorProto.INT64, [a]), value(shape, TensorProto.INT64, [2])],
                              [value(n, TensorProto.INT64 if n == "places" else TensorProto.FLOAT, None) for n in ("both", "max", "given", "places")],
                              [weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return [x, at, shape]


def onnx_case(folder, a, b, tools):
    import onnxruntime
    path = os.path.join(folder, "m.onnx")
    names = onnx_model(path, a, b)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    runs = []
    for n, m in ((3, 5), (1, 18)):
        x = rng.standard_normal((n, m, 8)).astype(np.float32)
        x[0, 0, :3] = 0
        inputs = [x, rng.integers(0, n, n), np.array([2, n * 3])]
        runs.append((inputs, session.run(None, dict(zip(names, inputs)))))
    check(*tools, path, folder, a, b, runs)


def attention(q, k, v, mask, scale):
    s = np.where(mask, np.einsum("bhqd,bhkd->bhqk", q, k) * scale, -np.inf)
    top = s.max(-1, keepdims=True)
    e = np.exp(s - np.where(np.isinf(top), 0, top))
    total = e.sum(-1, keepdims=True)
    return np.einsum("bhqk,bhkd->bhqd", e / np.where(total == 0, 1, total), v)


def renamed(value, names):
    """The program with other symbols, as Python would write them."""
    if isinstance(value, dict):
        return {names.get(k, k): renamed(v, names) for k, v in value.items()}
    if isinstance(value, list):
        return [renamed(v, names) for v in value]
    if isinstance(value, str):
        for old, new in names.items():
            value = value.replace("Symbol('%s'" % old, "Symbol(%r" % new)
    return value


def fx_case(folder, a, b, tools, program):
    path = os.path.join(folder, "m.pt2")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as z:
        z.writestr("m/archive_format", "pt2")
        z.writestr("m/models/model.json", json.dumps(renamed(program, {"s0": a, "s1": b})))
    runs = []
    for n, m in ((1, 3), (2, 19)):
        x = rng.standard_normal((n, 4, m, 8)).astype(np.float32)
        mask = rng.random((n, 1, m, m)) < 0.7
        wide = x.astype(np.float64)
        y = attention(attention(wide, wide, wide, mask, 8**-0.5), wide, wide, np.tril(np.ones((m, m), bool)), 0.5)
        runs.append(([x, mask], [y.astype(np.float32)]))
    check(*tools, path, folder, a, b, runs)


def main():
    kind, lathe, opt, folder = sys.argv[1:5]
    right = 0
    for a, b in PAIRS:
        try:
            if kind == "onnx":
                onnx_case(folder, a, b, (lathe, opt))
            else:
                with open(sys.argv[5]) as file:
                    fx_case(folder, a, b, (lathe, opt), json.load(file))
            right += 1
        except (subprocess.CalledProcessError, AssertionError) as e:
            print("%r, %r: %s" % (a, b, e), flush=True)
    print("%d of %d models are right" % (right, len(PAIRS)))


if __name__ == "__main__":
    main()
