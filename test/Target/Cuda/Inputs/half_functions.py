"""Every number of f16 and of bf16 through functions of a kernel of halves, on the emulator, in units in the last place."""
import math
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases

bits = np.arange(65536, dtype=np.uint32).astype(np.uint16)
of_f16 = lambda b: b.view(np.float16).astype(np.float32)
normal = np.vectorize(lambda x: math.erfc(-x))
gelu = lambda x: 0.5 * x * normal(x * np.float64(np.float32(math.sqrt(0.5))))
for kernel, value, function, least, steps in (('halves', cases.from_bf16, np.exp, -133, 7), ('of_f16', of_f16, np.exp, -24, 10),
                                              ('normal', cases.from_bf16, normal, -133, 7), ('normal_f16', of_f16, normal, -24, 10), ('gelu', cases.from_bf16, gelu, -122, 7)):
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ('in', 'out')]
        bits.tofile(files[0])
        np.full_like(bits, 77).tofile(files[1])
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'half-functions.mlir')
        subprocess.run(['lathe-cuda', source, f'--kernel={kernel}', '--emit=run', '--sm=90', f'--buffer={files[0]}', f'--buffer={files[1]}'], check=True)
        got = value(np.fromfile(files[1], np.uint16)).astype(np.float64)
    with np.errstate(all='ignore'):
        want = function(value(bits).astype(np.float64))
        largest = 65504 if value is of_f16 else (2 - 2.0 ** -7) * 2.0 ** 127
        unit = 2.0 ** np.maximum(np.floor(np.log2(np.maximum(np.abs(want), 2.0 ** least))) - steps, least)
        finite = want < largest + unit / 2
        error = np.abs(got - want) / unit
    assert (np.isnan(got) == np.isnan(want)).all(), kernel
    assert (got[~finite & ~np.isnan(want)] == np.inf).all(), kernel
    assert error[finite].max() <= 0.51, (kernel, error[finite].max())

# Quotients of bf16 are the nearest ones, wherever those are not subnormal.
with np.errstate(invalid='ignore'):
    numbers = cases.from_bf16(bits).astype(np.float64)
order = np.random.default_rng(1)
for round in range(4):
    x, y = order.permutation(bits), order.permutation(bits)
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ('x', 'y', 'quotient', 'ratio', 'root')]
        for name, values in zip(files, (x, y, bits * 0 + 77, bits * 0 + 77, bits * 0 + 77)):
            values.tofile(name)
        subprocess.run(['lathe-cuda', source, '--kernel=quotients', '--emit=run', '--sm=90'] + [f'--buffer={name}' for name in files], check=True)
        quotient, ratio, root = (cases.from_bf16(np.fromfile(name, np.uint16)) for name in files[2:])
    a, b = numbers[x], numbers[y[::-1]]
    with np.errstate(all='ignore'):
        nearest = lambda v: cases.from_bf16(cases.to_bf16(v.astype(np.float32)))
        want = a / b
        normal = ~(np.abs(want) < 2.0 ** -126)
        assert np.array_equal(quotient[normal], nearest(want)[normal], equal_nan=True)
        # Squares are f32: those that leave its range do so in the reference, too.
        a2, b2 = (a * a).astype(np.float32).astype(np.float64), (b * b).astype(np.float32).astype(np.float64)
        for got, value in ((ratio, a2 / b2), (root, np.sqrt((a2 + b2).astype(np.float32).astype(np.float64)))):
            usual = np.isfinite(value) & (np.abs(value) > 2.0 ** -126) & (np.abs(value) < 2.0 ** 127)
            assert (np.abs(got[usual] / value[usual] - 1) <= 0.505 * 2.0 ** -7).all()
            assert (np.isnan(got) == np.isnan(value)).all()

# So are those by a number that a row has in common, of all sizes.
for first in range(0, 65536, 4096):
    y = np.roll(bits, -first - 7)[np.arange(65536) * 16 % 65536]
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ('x', 'y', 'quotient')]
        for name, values in zip(files, (order.permutation(bits), y, bits * 0 + 77)):
            values.tofile(name)
        subprocess.run(['lathe-cuda', source, '--kernel=by_row', '--emit=run', '--sm=90'] + [f'--buffer={name}' for name in files], check=True)
        x, quotient = np.fromfile(files[0], np.uint16), cases.from_bf16(np.fromfile(files[2], np.uint16))
    with np.errstate(all='ignore'):
        want = numbers[x] / np.repeat(numbers[y[:256]], 256)
        normal = ~(np.abs(want) < 2.0 ** -126)
        assert np.array_equal(quotient[normal], nearest(want)[normal], equal_nan=True)
        assert (np.abs(quotient[~normal] - want[~normal]) <= 2.0 ** -132).all()
