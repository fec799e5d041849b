"""Compares lathe with ONNX Runtime over operator sets.     usage: opset_versions.py [--opset N ...] [--only OPERATOR] [--lathe PATH]

For each operator set, one model with every case of opset_cases.py that is valid there (by the registry of the onnx package, and that ONNX Runtime
runs): what an operator of that version means, with its attributes and operands where that version has them. Prints what differs;
exit code 1 when something does, 77 when onnxruntime cannot be used."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from opset_cases import LAST, Const, cases
from verdict import verdict

OLDEST, NEWEST = 7, 26
IR = 8  # of the models' format; what ONNX Runtime is sure to read


class Builder:
    """One model with many nodes."""

    def __init__(self, opset, only):
        self.opset, self.only = opset, only
        self.nodes, self.feeds, self.constants, self.names = [], {}, {}, {}

    def make(self, operator, opsets, *operands, outputs=1, **attributes):
        if not opsets[0] <= self.opset <= opsets[1] or (self.only and operator != self.only):
            return
        index, names = len(self.nodes), []
        for place, operand in enumerate(operands):
            name = f"{operator}{index}.in{place}" if operand is not None else ""
            names.append(name)
            if isinstance(operand, Const):
                self.constants[name] = operand.value
            elif operand is not None:
                self.feeds[name] = operand
        results = [f"{operator}{index}.out{i}" for i in range(outputs)]
        self.nodes.append((operator, names, results, attributes))

    def model(self, nodes):
        from onnx import ValueInfoProto, helper, numpy_helper
        used = {name for _, names, _, _ in nodes for name in names}
        inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
                  for name, v in self.feeds.items() if name in used]
        made = [helper.make_node(op, names, results, name=f"{op} {attributes}", **attributes)
                for op, names, results, attributes in nodes]
        outputs = [ValueInfoProto(name=r) for _, _, rs, _ in nodes for r in rs]
        constants = [numpy_helper.from_array(np.asarray(v), name) for name, v in self.constants.items() if name in used]
        graph = helper.make_graph(made, f"opset{self.opset}", inputs, outputs, constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=IR)

    def feeds_of(self, nodes):
        used = {name for _, names, _, _ in nodes for name in names}
        return {name: v for name, v in self.feeds.items() if name in used}


def reference(builder, node):
    """What ONNX Runtime computes of one node, or None where it does not know it."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(builder.model([node]).SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, builder.feeds_of([node]))
    except Exception as error:
        return str(error)


def call(command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stderr.strip() or done.stdout.strip()


def compare(lathe, builder, folder, skipped):
    """The number of results that agree, and what does not."""
    nodes, want = [], {}
    for node in builder.nodes:
        results = reference(builder, node)
        if isinstance(results, str):
            skipped.add(f"{node[0]} {builder.opset} {node[3]}: {results[:160]}")
            continue
        nodes.append(node)
        want.update(zip(node[2], results))
    if not nodes:
        return 0, []
    path = folder / f"opset{builder.opset}.onnx"
    path.write_bytes(builder.model(nodes).SerializeToString())
    artifact = path.with_suffix(".so")
    code, said = call([lathe, "compile", str(path), "-o", str(artifact), "-O0", "--target", "x86_64:baseline"])
    if code:
        return 0, [f"opset {builder.opset}: compile: exit {code}: {line}" for line in said.splitlines()]
    np.savez(folder / "in.npz", **builder.feeds_of(nodes))
    code, said = call([lathe, "run", str(artifact), "--inputs", str(folder / "in.npz"), "--output-dir", str(folder / "out")])
    if code:
        return 0, [f"opset {builder.opset}: run: exit {code}: {said}"]
    return check(builder, nodes, want, folder / "out")


def check(builder, nodes, want, folder):
    wrong = []
    for operator, _, results, attributes in nodes:
        for result in results:
            got, expected = np.load(folder / f"{result}.npy"), want[result]
            same = got.shape == expected.shape and got.dtype == expected.dtype
            if not same or not np.allclose(got, expected, rtol=1e-3, atol=1e-4, equal_nan=True):
                seen = f"{got.ravel()[:4]}, expected {expected.ravel()[:4]}" if same else f"{got.dtype}{got.shape}, expected {expected.dtype}{expected.shape}"
                wrong.append(f"opset {builder.opset}: {operator} {attributes}: {result}: {seen}")
    return len(want) - len(wrong), wrong


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--opset", type=int, nargs="*", default=range(OLDEST, NEWEST + 1))
    parser.add_argument("--only")
    parser.add_argument("--lathe", default="lathe")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    try:
        import onnx
        import onnxruntime
    except ImportError as error:
        print(f"skipped: {error}")
        return 77
    newest = min(onnx.defs.onnx_opset_version(), NEWEST)
    total, faults, skipped = 0, [], set()
    for opset in options.opset:
        if opset > newest:
            continue
        builder = Builder(opset, options.only)
        cases(builder.make)
        with tempfile.TemporaryDirectory() as folder:
            right, wrong = compare(options.lathe, builder, pathlib.Path(folder), skipped)
        total += right
        faults += wrong
    if options.verbose:
        print(*sorted(skipped), sep="\n")
    return verdict(total, "results", faults, "ONNX Runtime")


if __name__ == "__main__":
    sys.exit(main())
