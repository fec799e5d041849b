"""Writes a chain of 128 diamonds (x -> tanh x, and x and that -> x - k tanh x) as text, with inputs and results.   usage: deep_diamonds.py FOLDER"""
import sys

import numpy as np

DEPTH = 128
nodes, x = [], "x"
for i in range(DEPTH):
    y = f"y{i}"
    nodes.append(f'  node {{ input: "{x}" output: "t{i}" op_type: "Tanh" }}\n'
                 f'  node {{ input: "t{i}" input: "k" output: "s{i}" op_type: "Mul" }}\n'
                 f'  node {{ input: "{x}" input: "s{i}" output: "{y}" op_type: "Sub" }}\n')
    x = y
value = 'type { tensor_type { elem_type: 1 shape { dim { dim_param: "n" } dim { dim_value: 3 } } } }'
with open(f"{sys.argv[1]}/model.textproto", "w") as f:
    f.write('ir_version: 8\nopset_import { version: 17 }\ngraph {\n  name: "diamonds"\n' + "".join(nodes) +
            '  initializer { name: "k" data_type: 1 float_data: 0.0078125 }\n'
            f'  input {{ name: "x" {value} }}\n  output {{ name: "{x}" {value} }}\n}}\n')
given = np.linspace(-2, 2, 21).reshape(7, 3).astype(np.float32)
r = given.astype(np.float64)
for i in range(DEPTH):
    r = r - np.tanh(r) / 128
np.savez(f"{sys.argv[1]}/data.npz", in0=given, out0=r.astype(np.float32))
