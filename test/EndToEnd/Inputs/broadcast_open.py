"""Runs a model with broadcasts at sizes that do and do not fit, against numpy: broadcast_open.py LATHE FOLDER"""
import subprocess
import sys

import numpy as np

lathe, folder = sys.argv[1:]
rng = np.random.default_rng(0)
numbers = lambda *shape: rng.integers(-4, 5, shape).astype("f4")


def run(x, y, p, q):
    values = {"x": numbers(*x), "y": numbers(*y), "p": numbers(*p), "q": numbers(*q)}
    try:
        values["product"] = (values["x"] + values["y"]) * values["y"]
        values["matrix"] = values["p"] @ values["q"]
    except ValueError:
        pass
    np.savez(folder + "/data.npz", **values)
    data = folder + "/data.npz"
    got = subprocess.run([lathe, "run", folder + "/model.so", "--inputs", data, "--expect", data], capture_output=True, text=True)
    fits = "product" in values and "matrix" in values
    assert (got.returncode == 0) == fits, (x, y, p, q, got.stdout, got.stderr)
    assert fits or "do not satisfy" in got.stderr, got.stderr


fits = (2, 5, 2), (2, 2, 2)
for x, y in [((4, 3), (4, 3)), ((1, 3), (4, 3)), ((4, 1), (1, 3)), ((1, 1), (1, 3)), ((0, 3), (1, 3)), ((0, 1), (0, 3)),
             ((2, 3), (4, 3)), ((4, 2), (4, 3)), ((0, 3), (2, 3))]:
    run(x, y, *fits)
for p, q in [((1, 5, 2), (7, 2, 2)), ((7, 5, 2), (1, 2, 2)), ((0, 5, 2), (1, 2, 2)), ((3, 1, 2), (2, 2, 2))]:
    run((4, 3), (4, 3), p, q)
