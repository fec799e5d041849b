"""ARTIFACT SAMPLE: the states of states.textproto through the C interface, against numpy."""
import ctypes
import sys

import numpy as np

sys.path.insert(0, sys.argv[2])
from model import Model, Tensor, describe  # noqa: E402


class Stateful(Model):
    def call(self, function, *arguments):
        self.check(getattr(self.library, f"lathe_state_{function}")(self.context, *arguments))

    def set(self, name, array):
        self.call("set", name, ctypes.byref(describe(array)))

    def get(self, name, shape):
        array = np.full(shape, np.nan, np.float32)
        self.call("get", name, ctypes.byref(describe(array)))
        return array

    def where(self, name):
        tensor = Tensor()
        self.call("get", name, ctypes.byref(tensor))
        return tensor


class Expected:
    def __init__(self, batch):
        self.total, self.rows = np.zeros((batch, 3), np.float32), np.zeros((5, 3), np.float32)

    def __call__(self, x, at):
        self.total = self.total + x
        self.rows[at[0]] = x[0]
        return self.total + self.rows.sum(0)


def fails(text, function, *arguments):
    try:
        function(*arguments)
    except ValueError as error:
        return text in str(error) or print("says", error)
    return print("did not fail:", text)


def check(holds):
    print("ok" if holds else "WRONG")


def same(model, expected, batch):
    return np.allclose(model.get(b"total", (batch, 3)), expected.total) and np.allclose(model.get(b"rows", (5, 3)), expected.rows)


random = np.random.default_rng(1)
inputs = [(random.standard_normal((2, 3)).astype(np.float32), np.array([i % 5])) for i in range(7)]
m, want = Stateful(sys.argv[1]), Expected(2)
check(m.library.lathe_state_count(m.context) == 2)
check(fails("state 'total' has no size yet", m.get, b"total", (2, 3)) and fails("has no state 'x'", m.get, b"x", (2, 3)))
check(all(np.allclose(m(*i)[0], want(*i)) for i in inputs) and same(m, want, 2))
other, wanted = Stateful(sys.argv[1]), Expected(4)  # a context of its own, of another size
x = random.standard_normal((4, 3)).astype(np.float32), np.array([1])
check(np.allclose(other(*x)[0], wanted(*x)) and same(m, want, 2))
check(fails("these inputs need batch = 4: reset the state", m, *x) and same(m, want, 2))
check(fails("expected float32", m.set, b"rows", np.zeros((5, 3))) and fails("dimension 1 is 4", m.set, b"rows", np.zeros((5, 4), np.float32)))
saved = m.get(b"total", (2, 3)), m.get(b"rows", (5, 3))
first = m(*inputs[0])[0]
m.set(b"total", saved[0]), m.set(b"rows", saved[1])
check((m(*inputs[0])[0] == first).all())
at = m.where(b"rows")
check(at.ndim == 2 and at.shape[0] == 5 and np.ctypeslib.as_array(ctypes.cast(at.data, ctypes.POINTER(ctypes.c_float)), (5, 3))[0, 0] == inputs[0][0][0, 0])
m.call("reset", None)
want = Expected(4)
check(np.allclose(m(*x)[0], want(*x)) and same(m, want, 4))
room = np.zeros(5 * 3 + 16, np.float32)  # both contexts' rows in one place
shared = room[-room.ctypes.data // 4 % 16:][:15].reshape(5, 3)
for context in (m, other):
    context.call("bind", b"rows", ctypes.byref(describe(shared)))
m(*x), other(x[0], np.array([3]))
check((shared[1] == x[0][0]).all() and (shared[3] == x[0][0]).all() and not shared[[0, 2, 4]].any())
check(fails("at a multiple of 64", m.call, "bind", b"rows", ctypes.byref(describe(room[1:16].reshape(5, 3)))))
