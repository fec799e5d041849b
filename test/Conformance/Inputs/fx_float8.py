"""Exported programs that convert to floats of 8 bits and multiply such, with what numpy computes of the same inputs: numbers are made from their bits,
conversions search for the nearest one, products are summed in f64.     usage: fx_float8.py > fx/float8.json"""
import json
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "Target/Cuda/Inputs"))
from float8_cases import LARGEST, nearest, numbers

CODES = {"e4m3": 29, "e5m2": 30, "f32": 7, "bf16": 13}


class Program:
    """Nodes over tensors of two dimensions; each value has its numbers beside it."""

    def __init__(self, name):
        self.name, self.nodes, self.tensors, self.inputs, self.known = name, [], {}, [], {}

    def value(self, kind, numbers):
        name = f"v{len(self.tensors)}"
        sizes = [{"as_int": n} for n in numbers.shape]
        strides = [{"as_int": int(np.prod(numbers.shape[d + 1:]))} for d in range(numbers.ndim)]
        self.tensors[name] = {"dtype": CODES[kind], "sizes": sizes, "strides": strides, "storage_offset": {"as_int": 0}, "layout": 7}
        self.known[name] = (kind, numbers)
        return name

    def input(self, values):
        self.inputs.append(self.value("f32", np.asarray(values, np.float32)))
        return self.inputs[-1]

    def node(self, target, kind, numbers, /, **arguments):
        out = self.value(kind, numbers)
        given = [{"name": k, "arg": v if isinstance(v, dict) else {"as_tensor": {"name": v}}, "kind": 1} for k, v in arguments.items()]
        self.nodes.append({"target": f"torch.ops.aten.{target}", "inputs": given, "outputs": [{"as_tensor": {"name": out}}], "name": out})
        return out

    def cast(self, x, format):
        """As torch converts: what is out of range is NaN or infinity."""
        values = self.known[x][1]
        values = numbers(format)[nearest(values, format, False).view(np.uint8)] if format in LARGEST else values.astype(np.float32)
        return self.node("_to_copy.default", format, values, self=x, dtype={"as_scalar_type": CODES[format]})

    def turned(self, x):
        kind, values = self.known[x]
        return self.node("t.default", kind, values.T, self=x)

    def product(self, x, y):
        kind, values = self.known[x]
        return self.node("mm.default", kind, values @ self.known[y][1], self=x, mat2=y)

    def scaled(self, x, y, a, b, to="f32", bias=None):
        (_, left), (_, right) = self.known[x], self.known[y]
        values = left @ right * self.known[a][1] * self.known[b][1] + (self.known[bias][1] if bias else 0)
        if to in LARGEST:
            values = numbers(to)[nearest(values.astype(np.float32), to, True).view(np.uint8)]
        extra = {"bias": bias} if bias else {}
        return self.node("_scaled_mm.default", to, values, self=x, mat2=y, scale_a=a, scale_b=b, out_dtype={"as_scalar_type": CODES[to]}, **extra)

    def case(self, result, tolerance):
        argument = lambda name: {"as_tensor": {"name": name}}
        data = lambda name: {"type": "float32", "shape": list(self.known[name][1].shape), "data": [float(np.format_float_positional(np.float32(v), unique=True)) if np.isfinite(v) else str(v) for v in np.ravel(self.known[name][1])]}
        config = json.dumps({"config": {}}).encode().hex()
        graph = {"inputs": [argument(n) for n in self.inputs], "outputs": [argument(result)], "nodes": self.nodes, "tensor_values": self.tensors}
        signature = {"input_specs": [{"user_input": {"arg": argument(n)}} for n in self.inputs], "output_specs": [{"user_output": {"arg": argument(result)}}]}
        return {"name": self.name, "flags": [], "tolerance": tolerance, "steps": False,
                "program": {"schema_version": {"major": 8, "minor": 17}, "graph_module": {"graph": graph, "signature": signature}, "range_constraints": {}, "guards_code": []},
                "files": {f"data/{kind}/model_{kind}_config.json": config for kind in ("weights", "constants")},
                "runs": [{"in": [data(n) for n in self.inputs], "out": [data(result)]}]}


def drawn(name, *shape, scale=1.0):
    return np.round(np.random.RandomState(sum(map(ord, name))).standard_normal(shape) * scale, 3)


def conversions(format):
    """There and back: ties, what is out of range, what is too small."""
    p = Program(f"cast_{format}")
    values = np.concatenate([numbers(format), np.ldexp(drawn("cast", 700), np.arange(700) % 40 - 20), [464, 465, 480, 61440, 61439, 1e9, -1e9, np.inf, 1e-30]])
    return p.case(p.cast(p.cast(p.input(values[None]), format), "f32"), 0)


def product(name, m, n, k, formats, turned=True):
    p = Program(name)
    x, w = p.cast(p.input(drawn("x", m, k)), formats[0]), p.cast(p.input(drawn("w", *((n, k) if turned else (k, n)))), formats[1])
    wide = [p.cast(v, "f32") for v in (x, p.turned(w) if turned else w)]
    return p.case(p.product(*wide), 1e-4)


def scaled(name, m, n, k, by_rows, to="f32", bias=False, formats=("e4m3", "e4m3")):
    p = Program(name)
    x, w = p.cast(p.input(drawn("x", m, k)), formats[0]), p.turned(p.cast(p.input(drawn("w", n, k)), formats[1]))
    a, b = ((m, 1), (1, n)) if by_rows else ((), ())
    scales = [p.input(np.abs(drawn("s", *shape)) + 0.5) for shape in (a, b)]
    extra = {"bias": p.input(drawn("bias", n))} if bias else {}
    out = p.scaled(x, w, *scales, to, **extra)
    return p.case(p.cast(out, "f32") if to in LARGEST else out, 1e-4)


CASES = [conversions("e4m3"), conversions("e5m2"), product("wide", 24, 48, 64, ("e4m3", "e4m3")), product("mixed", 17, 40, 52, ("e5m2", "e4m3"), turned=False),
         product("line", 1, 40, 128, ("e4m3", "e5m2")), scaled("scaled", 16, 32, 48, by_rows=False), scaled("scaled_rows", 20, 64, 80, by_rows=True, bias=True),
         scaled("scaled_to_e5m2", 32, 48, 64, by_rows=False, to="e5m2", formats=("e4m3", "e5m2"))]


sys.stdout.write("[" + ",\n".join(map(json.dumps, CASES)) + "]\n")
