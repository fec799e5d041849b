"""Inputs of channels-filled.mlir, and what numpy makes of them.

Usage: channels_filled.py inputs IN | check IN OUT"""
import sys
import numpy as np


def conv(x, w, stride, before):
    x = np.pad(x.astype(np.float32), [(0, 0), (0, 0), (before[0], 0), (before[1], 0)])
    kh, kw = w.shape[2:]
    windows = np.lib.stride_tricks.sliding_window_view(x, (kh, kw), axis=(2, 3))[:, :, ::stride, ::stride]
    return np.einsum("nchwij,fcij->nfhw", windows, w.astype(np.float32))


if sys.argv[1] == "inputs":
    r = np.random.default_rng(3)
    np.savez(sys.argv[2], x=r.integers(-8, 8, (2, 3, 6, 7)).astype(np.float16))
else:
    given, got = np.load(sys.argv[2]), np.load(sys.argv[3])
    w = np.array([((i * 7) % 13 - 6) / 4 for i in range(12 * 3 * 2 * 3)], np.float16).reshape(12, 3, 2, 3)
    y = conv(given["x"], w, 2, (1, 1))
    # Sums of quarters of small numbers are exact.
    np.testing.assert_array_equal(got["y"], np.abs(y).astype(np.float16))
    np.testing.assert_array_equal(got["again"], y.astype(np.float16))
