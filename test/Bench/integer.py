"""Products of bytes with a packed constant against ONNX Runtime's MatMulInteger, one thread.

usage: integer.py VARIANT KxN M...      e.g. integer.py avx512vnni 768x3072 1 14 512"""
import sys
import numpy as np
from kernelbench import Bound, Kernel, compare, peer
from onnx import helper

variant, (k, n) = sys.argv[1], map(int, sys.argv[2].split('x'))
rng = np.random.default_rng(0)
r = '!kernel.ref<i8>'
kernel = Kernel(f'''reduction @x axes(m = "mm", n = "{n}", k = "{k}") {{
  %a = kernel.load %in0["{k}*m + k"] : {r} -> i8
  %b = kernel.load %in1["{n}*k + n"] {{packed}} : {r} -> i8
  %aw = arith.extui %a : i8 to i32
  %bw = arith.extsi %b : i8 to i32
  %p = arith.muli %aw, %bw : i32
  %c = kernel.reduce add %p over ["k"] : i32
  kernel.store %c, %out0["{n}*m + n"] : i32, !kernel.ref<i32> }}''', ['i8'] * 2, ['i32'], variant)
b = rng.integers(-128, 128, (k, n)).astype(np.int8)
filled = np.zeros(((k + 3) // 4 * 4, (n + 31) // 32 * 32), np.int8)
filled[:k, :n] = b
packed = np.ascontiguousarray(filled.reshape(-1, 4, filled.shape[1] // 32, 32).transpose(2, 0, 3, 1))
for m in map(int, sys.argv[3:]):
    a, c = rng.integers(0, 256, (m, k)).astype(np.uint8), np.zeros((m, n), np.int32)
    run, result = peer([helper.make_node('MatMulInteger', ['X', 'B'], ['Y'])], {'X': a}, ('Y', 2), {'B': b}, np.int32)
    compare(f'{m}x{k}x{n}', Bound(kernel, [a, packed, c], [m]), run, 2.0 * m * k * n, variant, traffic=1.0 * k * n)
    assert np.array_equal(c, result())
