"""Runs an artifact through another machine's emulator and compares with what an .npz file expects.

Usage: run_foreign.py MODEL.so TENSORS.npz RTOL ATOL COMMAND...

TENSORS.npz holds in0, in1, ... and out0, out1, ...; COMMAND is the emulator and run_raw."""
import os
import subprocess
import sys
import tempfile
import numpy as np

CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
model, tensors, rtol, atol = sys.argv[1], np.load(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
names = sorted((n for n in tensors.files if n.startswith("in")), key=lambda n: int(n[2:]))
with tempfile.TemporaryDirectory() as folder:
    args = []
    for n in names:
        a = tensors[n]
        path = os.path.join(folder, n)
        np.ascontiguousarray(a).tofile(path)
        args.append(f"{CODES[a.dtype.kind]}:{8 * a.dtype.itemsize}:{'x'.join(map(str, a.shape))}:{path}")
    done = subprocess.run(sys.argv[5:] + [model, os.path.join(folder, "out"), *args], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip() or f"exit status {done.returncode}")
    shapes = done.stdout.splitlines()
    for i, shape in enumerate(shapes):
        want = tensors[f"out{i}"]
        got = np.fromfile(os.path.join(folder, f"out.{i}"), want.dtype).reshape([int(d) for d in shape.split("x") if d])
        if got.shape != want.shape or not np.allclose(got, want, rtol, atol, equal_nan=True):
            worst = np.abs(got - want).max() if got.shape == want.shape else f"{got.shape} for {want.shape}"
            sys.exit(f"out{i} differs: {worst}")
print(f"{len(shapes)} outputs as expected")
