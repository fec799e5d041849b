"""Writes a chain of sines as text, with an input and the result.   usage: long_chain.py FOLDER LENGTH"""
import pathlib
import sys

import numpy as np

folder, length = pathlib.Path(sys.argv[1]), int(sys.argv[2])


def value(kind, name):
    return f'  {kind} {{ name: "{name}" type {{ tensor_type {{ elem_type: 1 shape {{ dim {{ dim_param: "n" }} }} }} }} }}\n'


nodes = "".join(f'  node {{ op_type: "Sin" input: "v{i}" output: "v{i + 1}" }}\n' for i in range(length))
(folder / "chain.textproto").write_text('ir_version: 8\nopset_import { version: 17 }\ngraph {\n  name: "g"\n' + nodes +
                                        value("input", "v0") + value("output", f"v{length}") + "}\n")
x = np.linspace(-3, 3, 21).astype(np.float32)
y = x.astype(np.float64)
for _ in range(length):
    y = np.sin(y)
np.savez(folder / "data.npz", v0=x, **{f"v{length}": y.astype(np.float32)})
