"""Compares ONNX Runtime with what the interpreter gives, on models that `lathe-fuzz --write-only FOLDER` has written.

usage: compare_onnxruntime.py FOLDER [--verbose]

The importer is part of what lathe-fuzz takes for right; this is the check of it by something independent. Prints each model that differs,
then counts; exit code 1 when one differs. Models that ONNX Runtime does not run (an operator or a type that it lacks) are counted apart.
"""
import argparse
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime

# Relative to the largest number of a result, by the coarsest type of float in the model.
TOLERANCES = {onnx.TensorProto.DOUBLE: 1e-6, onnx.TensorProto.FLOAT: 2e-3, onnx.TensorProto.FLOAT16: 4e-2, onnx.TensorProto.BFLOAT16: 3e-1}


def tolerance_of(model):
    kinds = {i.type.tensor_type.elem_type for i in model.graph.input} | {t.data_type for t in model.graph.initializer}
    kinds |= {a.i for n in model.graph.node for a in n.attribute if n.op_type == "Cast" and a.name == "to"}
    return max(TOLERANCES.get(kind, 0) for kind in kinds | {onnx.TensorProto.DOUBLE})


def difference(got, want, tolerance):
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype} {got.shape}, the interpreter gives {want.dtype} {want.shape}"
    if want.dtype.kind != "f":
        wrong = got != want
    else:
        a, b = got.astype(np.float64), want.astype(np.float64)
        most = np.abs(b[np.isfinite(b)]).max(initial=0.05)
        with np.errstate(invalid="ignore"):
            wrong = ~((a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= tolerance * most))
    if not wrong.any():
        return None
    at = np.argwhere(wrong)[0]
    return f"{wrong.sum()} of {wrong.size} elements, at {at.tolist()}: {got[tuple(at)]}, the interpreter gives {want[tuple(at)]}"


def run(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    inputs = np.load(path.with_suffix(".npz"))
    return session.run(None, {name: inputs[name] for name in inputs.files})


def check(path):
    model = onnx.load(path)
    try:
        results = run(path)
    except Exception as error:  # what it lacks has many types
        return "skipped", str(error).splitlines()[0]
    want = np.load(path.parent / f"{path.stem}_want.npz")
    for output, got in zip(model.graph.output, results):
        if text := difference(got, want[output.name], tolerance_of(model)):
            made = next(n.op_type for n in model.graph.node if output.name in n.output)
            return "differs", f"{output.name} ({made}): {text}"
    return "ok", ""


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--verbose", action="store_true", help="also say what was skipped and why")
    arguments = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    counts = {"ok": 0, "differs": 0, "skipped": 0}
    for path in sorted(arguments.folder.glob("*.onnx"), key=lambda p: (len(p.stem), p.stem)):
        outcome, text = check(path)
        counts[outcome] += 1
        if outcome == "differs" or (arguments.verbose and outcome == "skipped"):
            print(f"{path.name}: {outcome}: {text}", flush=True)
    print(", ".join(f"{n} {name}" for name, n in counts.items()))
    return 1 if counts["differs"] or not counts["ok"] else 0


sys.exit(main())
