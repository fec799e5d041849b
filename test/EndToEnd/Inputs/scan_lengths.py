"""FITS BEYOND: sequences of several lengths with what a scan from their last step to their first gives; one that is too long."""
import sys

import numpy as np

rng = np.random.default_rng(3)
lengths = np.array([3, 0, 4])
s0, x = rng.random((3, 2), "f4"), rng.random((3, 4, 2), "f4")
last, ys = s0.copy(), np.zeros_like(x)
for b, length in enumerate(lengths):
    for step in range(length):
        a = x[b, length - 1 - step]
        last[b] += a
        ys[b, step] = last[b] * a
np.savez(sys.argv[1], lengths=lengths, s0=s0, x=x, last=last, ys=ys)
np.savez(sys.argv[2], lengths=np.array([1, 5, 2]), s0=s0, x=x)
