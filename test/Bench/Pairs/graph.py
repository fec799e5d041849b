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


def of_channels(kind, count, **attributes):
    """A norm with `count` parameters of each channel."""
    return lambda g, x, s: g.add(kind, x, *(g.floats(s[1]) for _ in range(count)), **attributes)


def pool(kind, size, stride=1, pad=0):
    """Of windows with the same size along all axes behind the channels."""
    def make(g, x, s):
        axes = len(s) - 2
        return g.add(kind, x, kernel_shape=[size] * axes, strides=[stride] * axes, pads=[pad] * 2 * axes)
    return make


def excited(g, x, s):
    """Channels scaled by a gate that is made of their means."""
    gate = g.add('Conv', g.add('GlobalAveragePool', x), g.floats(s[1], s[1], *[1] * (len(s) - 2), scale=.1))
    return g.add('Mul', x, g.add('Sigmoid', gate))
