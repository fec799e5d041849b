"""ARTIFACT SAMPLE: both entry points of lesson 5's decoder on a GPU that computes nothing: they run, and a state lies in one place."""
import ctypes
import sys

import numpy as np

sys.path.insert(0, sys.argv[2])
from model import Model, Tensor  # noqa: E402


def place(model, name):
    tensor = Tensor()
    model.check(model.library.lathe_state_get(model.context, name, ctypes.byref(tensor)))
    return tensor.device_type, tensor.data, [tensor.shape[i] for i in range(tensor.ndim)]


prefill = Model(sys.argv[1])
decode = prefill.entry("decode")
print(prefill(np.array([[3, 1, 4]]), np.arange(3))[0].shape, decode(np.array([[1]]), np.array([3]))[0].shape)
where = place(prefill, b"layers.1.keys")
print(where[0], where[2], where == place(decode, b"layers.1.keys"))
other = Model(sys.argv[1])  # a context of its own beside it
print(other.entry("decode")(np.array([[1]]), np.array([0]))[0].shape, place(other, b"layers.1.keys")[1] != where[1])
try:
    decode(np.array([[1, 2]]), np.array([0]))
except ValueError as error:
    print(error)
