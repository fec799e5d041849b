"""An exported program as the archive that torch.export.save writes, and its inputs and outputs by numpy.

Usage: fx_attention.py PROGRAM.json FOLDER

The program (test/Import/Fx/attention.test): masked attention of x over itself, then causal attention of that over x."""
import os
import sys
import zipfile
import numpy as np

program, folder = sys.argv[1:]
with zipfile.ZipFile(os.path.join(folder, "attention.pt2"), "w", zipfile.ZIP_STORED) as z:
    z.writestr("attention/archive_format", "pt2")
    z.write(program, "attention/models/model.json")


def attention(q, k, v, mask, scale):
    s = np.where(mask, np.einsum("bhqd,bhkd->bhqk", q, k) * scale, -np.inf)
    top = s.max(-1, keepdims=True)
    e = np.exp(s - np.where(np.isinf(top), 0, top))
    total = e.sum(-1, keepdims=True)
    return np.einsum("bhqk,bhkd->bhqd", e / np.where(total == 0, 1, total), v)  # rows without keys are zeros


r = np.random.default_rng(7)
for b, n in ((1, 1), (2, 33), (5, 130)):
    x = r.standard_normal((b, 4, n, 8)).astype(np.float32)
    mask = r.random((b, 1, n, n)) < 0.7
    mask[0, 0, 0] = False
    wide = x.astype(np.float64)
    y = attention(wide, wide, wide, mask, 8**-0.5)
    y = attention(y, wide, wide, np.tril(np.ones((n, n), bool)), 0.5)
    np.savez(os.path.join(folder, f"{b}x{n}.npz"), in0=x, in1=mask, out0=y.astype(np.float32))
