"""What a pair of operators is built with."""
import numpy as np
from onnx import helper

EVERYTHING = 1 << 20
SAME = tuple  # the result has the sizes of what is read


class Graph:
    """What grows behind the input `x`."""

    def __init__(self):
        self.nodes, self.constants, self.random = [], {}, np.random.default_rng(0)

    def constant(self, values, kind=np.int64):
        self.constants[name := f'c{len(self.constants)}'] = np.asarray(values, kind)
        return name

    def floats(self, *shape, scale=1.0):
        return self.constant(self.random.standard_normal(shape) * scale, np.float32)

    def add(self, kind, *inputs, results=1, **attributes):
        made = [f't{len(self.nodes)}_{i}' for i in range(results)]
        self.nodes.append(helper.make_node(kind, inputs, made, **attributes))
        return made[0]


def sliced(g, x, starts, ends, axes, steps):
    return g.add('Slice', x, *map(g.constant, (starts, ends, axes, steps)))


def reduced(kind, *axes):
    return lambda g, x, s: g.add(kind, x, g.constant(axes))
