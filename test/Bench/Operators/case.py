"""What a model of one operator is, for the families beside this file and for ../operators.py, which measures them.

Sizes are odd as often as even, and take ONNX Runtime between a tenth of a millisecond and a few. `open` leaves every
dimension of the inputs open."""
from typing import NamedTuple

import numpy as np
from onnx import helper

rng = np.random.default_rng(7)
CASES = {}


class Case(NamedTuple):
    family: str
    nodes: list
    inputs: dict
    constants: dict
    opset: int
    open: bool
    tolerance: float


def floats(*shape, kind=np.float32, scale=1.0):
    return (rng.standard_normal(shape) * scale).astype(kind)


def integers(low, high, *shape, kind=np.int64):
    return rng.integers(low, high, shape).astype(kind)


def bits(*shape):
    return rng.random(shape) > 0.5


def whole(*values):
    return np.array(values, np.int64)


def node(op, inputs, outputs='y', **attributes):
    return helper.make_node(op, inputs.split(','), outputs.split(','), **attributes)


def add(family, name, nodes, inputs, constants=None, opset=17, open=False, tolerance=1e-3):
    assert name not in CASES
    nodes = nodes if isinstance(nodes, list) else [nodes]
    constants = {k: np.asarray(v) for k, v in (constants or {}).items()}
    CASES[name] = Case(family, nodes, inputs, constants, opset, open, tolerance)




def scale(value):
    return np.float32(value)


def image(*shape):
    return integers(0, 255, *shape, kind=np.uint8)
