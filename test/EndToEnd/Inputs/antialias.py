"""Images and what a triangle filter makes of them at smaller and larger sizes.     usage: antialias.py FOLDER"""
import sys

import numpy as np


def weights(size, result):
    """[result, size]: the filter is as wide as the step between results, and what lies outside repeats the ends."""
    scale = min(1.0, result / size)
    table = np.zeros((result, size))
    for o in range(result):
        center = (o + 0.5) * size / result - 0.5
        for i in range(int(center - 1 / scale) - 2, int(center + 1 / scale) + 3):
            table[o, min(max(i, 0), size - 1)] += max(0.0, 1 - abs(i - center) * scale)
    return table / table.sum(1, keepdims=True)


for name, (h, w), (rows, columns) in (("small", (7, 9), (3, 4)), ("large", (5, 6), (8, 6)), ("mixed", (11, 3), (2, 7))):
    x = np.random.RandomState(h).uniform(-1, 1, (1, 2, h, w)).astype(np.float32)
    y = np.einsum("oi,ncij,pj->ncop", weights(h, rows), x.astype(np.float64), weights(w, columns))
    np.savez(f"{sys.argv[1]}/{name}.npz", x=x, to=np.array([rows, columns]), y=y.astype(np.float32))
