"""nms.py DIR N...: N boxes, scores of two classes, and which of them non-maximum suppression keeps (ONNX, at an overlap of 0.3)."""
import sys

import numpy as np


def overlap(a, b):
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    both = max(sides[0], 0) * max(sides[1], 0)
    return both / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - both)


for n in map(int, sys.argv[2:]):
    random = np.random.default_rng(n)
    corner = random.random((n, 2)) * np.sqrt(n)
    boxes = np.concatenate([corner, corner + 0.5 + random.random((n, 2)) * 0.8], 1).astype("f4")
    scores = random.permutation(2 * n).reshape(2, n).astype("f4")
    rows = []
    for c in range(2):
        kept = []
        for i in np.argsort(-scores[c]):
            if all(overlap(boxes[i].astype("f8"), boxes[j].astype("f8")) <= 0.3 for j in kept):
                kept.append(i)
        rows += [[0, c, i] for i in kept]
    assert n < 700 or len(rows) > 2 * 300  # of several blocks
    np.savez(f"{sys.argv[1]}/{n}.npz", boxes=boxes[None], scores=scores[None], y=np.array(rows, "i8"))
