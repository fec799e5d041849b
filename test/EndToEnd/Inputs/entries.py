"""ARTIFACT SAMPLE: two entry points, one of which reads the state that the other one writes, against numpy."""
import sys

import numpy as np

sys.path.insert(0, sys.argv[2])
from model import Model  # noqa: E402


def check(holds):
    print("ok" if holds else "WRONG")


def fails(text, function, *arguments):
    try:
        function(*arguments)
    except ValueError as error:
        return text in str(error) or print("says", error)
    return print("did not fail:", text)


random = np.random.default_rng(1)
weight = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
m = Model(sys.argv[1])
scaled = m.entry("scaled")
check(m.entries == ["sums", "scaled"] and m.signature.entry == b"sums" and scaled.signature.entry == b"scaled")
total = np.zeros((2, 3), np.float32)
for step in range(5):  # plans and working memory of both, by turns and at once
    x, factor = random.standard_normal((2, 3)).astype(np.float32), random.standard_normal((2, 1)).astype(np.float32)
    total = total + x
    right = np.allclose(m(x)[0], total @ weight, atol=1e-4)
    check(right and np.allclose(scaled(factor)[0], (total * factor) @ weight, atol=1e-4))
check(fails("these inputs need rows = 4: reset the state", scaled, np.ones((4, 1), np.float32)))
check(fails("these inputs need batch = 4: reset the state", m, np.ones((4, 3), np.float32)))
check(fails("the artifact has no entry point 'none'; it has 'sums', 'scaled'", m.entry, "none"))
m.library.lathe_state_reset(scaled.context, None)
check(not scaled(np.ones((7, 1), np.float32))[0].any() and np.allclose(m(np.ones((7, 3), np.float32))[0], np.ones((7, 3)) @ weight))
other = Model(sys.argv[1])  # its states are its own, its weights the same
check(not other.entry("scaled")(np.ones((2, 1), np.float32))[0].any())
