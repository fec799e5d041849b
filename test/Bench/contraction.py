"""Contractions with a packed constant against ONNX Runtime and the multiply-add ceiling, one thread.

usage: contraction.py VARIANT KxN M...      e.g. contraction.py avx512 768x3072 1 12 512"""
import sys
import numpy as np
from kernelbench import Bound, Kernel, compare, peer
from guarded import pack
from onnx import helper

variant, (k, n) = sys.argv[1], map(int, sys.argv[2].split('x'))
rng = np.random.default_rng(0)
r = '!kernel.ref<f32>'
kernel = Kernel(f'''contraction @x axes(m = "mm", n = "{n}", k = "{k}") {{
  %c = kernel.contract %in0["{k}*m + k"], %in1["{n}*k + n"] over ["k"] packed {{n_panel = 32 : i64}} : ({r}, {r}) -> f32
  kernel.store %c, %out0["{n}*m + n"] : f32, {r} }}''', ['f32'] * 2, ['f32'], variant)
b = rng.standard_normal((k, n)).astype(np.float32)
packed = pack(b)
for m in map(int, sys.argv[3:]):
    a, c = rng.standard_normal((m, k)).astype(np.float32), np.zeros((m, n), np.float32)
    run, result = peer([helper.make_node('MatMul', ['X', 'B'], ['Y'])], {'X': a}, ('Y', 2), {'B': b})
    compare(f'{m}x{k}x{n}', Bound(kernel, [a, packed, c], [m]), run, 2.0 * m * k * n, variant, traffic=4.0 * k * n)
    assert np.abs(c - result()).max() < 1e-3
