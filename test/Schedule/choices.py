"""Kernels that run in several ways, at sizes on both sides of each condition, against numpy, for every instruction set of this machine."""
import os
import sys
import numpy as np
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'Target', 'Cpu'))
from kernels import Kernel, variants

rng = np.random.default_rng(11)
LENGTHS = (0, 1, 2, 3, 4, 5, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 96, 100, 127, 128, 129, 130, 257)


def softmax_text(t):
    return f'''reduction @softmax axes(n = "N", c = "C") {{
%x = kernel.load %in0["C*n + c"] : <{t}> -> {t}
%m = kernel.reduce max %x over ["c"] : {t}
%d = arith.subf %x, %m : {t}
%e = math.exp %d : {t}
%s = kernel.reduce add %e over ["c"] : {t}
%y = arith.divf %e, %s : {t}
kernel.store %y, %out0["C*n + c"] : {t}, <{t}>
}}'''


def softmax(x):
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True)) if x.size else x.astype(np.float64)
    return e / e.sum(1, keepdims=True)


SUM = '''reduction @squares axes(n = "N", c = "C") {
%x = kernel.load %in0["C*n + c"] : <f32> -> f32
%q = arith.mulf %x, %x : f32
%s = kernel.reduce add %q over ["c"] : f32
kernel.store %s, %out0["n"] : f32, <f32>
}'''

PRODUCT = '''contraction @product axes(b = "B", i = "M", j = "N", k = "K") {
%s = kernel.contract %in0["K*M*b + K*i + k"], %in1["K*N*b + N*k + j"] over ["k"] : (<f32>, <f32>) -> f32
kernel.store %s, %out0["M*N*b + N*i + j"] : f32, <f32>
}'''

BROADCAST = '''loop @add axes(i = "M", j = "N") {
%x = kernel.load %in0["P*min(i, m - 1) + min(j, P - 1)"] : <f32> -> f32
%y = kernel.load %in1["N*i + j"] : <f32> -> f32
%s = arith.addf %x, %y : f32
kernel.store %s, %out0["N*i + j"] : f32, <f32>
}'''

SEARCH = {kind: f'''reduction @search axes(n = "N", c = "C") {{
%x = kernel.load %in0["C*n + c"] : <f32> -> f32
%m = kernel.reduce max %x over ["c"] : f32
%p = arith.cmpf oeq, %x, %m : f32
%c = kernel.index "c"
%none = {none}
%i = arith.select %p, %c, %none : i64
%y = kernel.reduce {kind} %i over ["c"] : i64
kernel.store %y, %out0["n"] : i64, <i64>
}}''' for kind, none in (('min', 'kernel.index "C"'), ('max', 'arith.constant -1 : i64'))}

TURNED = '''loop @turned axes(i = "N", j = "M") {
%x = kernel.load %in0["N*j + i"] : <f32> -> f32
kernel.store %x, %out0["M*i + j"] : f32, <f32>
}'''

TWICE = '''loop @twice axes(i = "M", j = "2*N") {
%x = kernel.load %in0["N*i + mod(j, N)"] : <f32> -> f32
kernel.store %x, %out0["2*N*i + j"] : f32, <f32>
}'''


def rows(cases=''):
    return f'attributes {{schedule.cases = [{cases}]}} ' if cases else ''


def check(name, kernel, ins, want, sizes, tolerance):
    out = np.full(want.shape, 77, want.dtype)
    kernel([*ins, out], sizes)
    if not np.allclose(out.astype(np.float64), want.astype(np.float64), rtol=tolerance, atol=tolerance):
        raise SystemExit(f'{name}: {np.abs(out.astype(np.float64) - want).max()} off')


count = 0
for variant in variants():
    for t, dtype, tolerance in (('f32', np.float32, 2e-5), ('f64', np.float64, 1e-6)):
        for length in LENGTHS:
            x = rng.standard_normal((5, length)).astype(dtype)
            check(f'softmax {t} {length} {variant}', Kernel(softmax_text(t), [t], [t], variant), [x], softmax(x).astype(dtype), [length, 5], tolerance)
            count += 1
    # Written by hand: each way serves what its condition says.
    if variant != 'baseline':
        cases = ('#schedule.case<"C <= 64", #schedule.rows<persist = 16, unroll = 2>>, #schedule.case<"C = 128 and N = 5", #schedule.plain>, '
                 '#schedule.case<#schedule.rows<persist = 0, unroll = 8>>')
        for length in LENGTHS:
            x = rng.standard_normal((5, length)).astype(np.float32)
            check(f'forced {length} {variant}', Kernel(softmax_text('f32'), ['f32'], ['f32'], variant, rows(cases)), [x],
                  softmax(x).astype(np.float32), [length, 5], 2e-5)
            count += 1
    for length in LENGTHS:
        x = rng.standard_normal((7, length)).astype(np.float32)
        check(f'squares {length} {variant}', Kernel(SUM, ['f32'], ['f32'], variant), [x], (x.astype(np.float64) ** 2).sum(1).astype(np.float32), [length, 7], 1e-4)
        count += 1
    for length in LENGTHS: # with ties; an empty row has the identity
        x = rng.integers(0, 9, (7, length)).astype(np.float32)
        hits = x == x.max(1, keepdims=True, initial=-1)
        first, last = (hits.argmax(1), length - 1 - hits[:, ::-1].argmax(1)) if length else np.iinfo(np.int64).max * np.array([[1] * 7, [-1] * 7]) - np.array([[0], [1]])
        for kind, want in (('min', first), ('max', last)):
            check(f'search {kind} {length} {variant}', Kernel(SEARCH[kind], ['f32'], ['i64'], variant), [x], want, [length, 7], 0)
            count += 1
    for b, m, n, k in ((1, 1, 1, 1), (2, 13, 5, 9), (3, 12, 16, 8), (1, 25, 17, 30), (2, 7, 33, 4), (1, 24, 40, 17), (2, 3, 48, 5), (1, 9, 64, 11),
                       (2, 5, 100, 3), (0, 3, 4, 5), (2, 3, 4, 0), (1, 14, 260, 7), (3, 1, 40, 17), (1, 1, 100, 64), (2, 1, 5, 0), (2, 1, 0, 7)):
        x, w = (rng.standard_normal(s).astype(np.float32) for s in ((b, m, k), (b, k, n)))
        for forced in ('', '#schedule.case<"N <= 20", #schedule.tiles<height = 5, narrow = 16>>, #schedule.case<#schedule.tiles<height = 1>>'):
            check(f'product {b} {m} {n} {k} {variant}', Kernel(PRODUCT, ['f32', 'f32'], ['f32'], variant, rows(forced)), [x, w], x @ w,
                  [b, k, m, n], 1e-4)
            count += 1
    for m in (1, 2, 3, 4, 5, 70):
        for n in (1, 2, 3, 4, 5, 70):
            x = rng.standard_normal((m, n)).astype(np.float32)
            check(f'turned {m} {n} {variant}', Kernel(TURNED, ['f32'], ['f32'], variant), [x], np.ascontiguousarray(x.T), [m, n], 0)
            check(f'twice {m} {n} {variant}', Kernel(TWICE, ['f32'], ['f32'], variant), [x], np.tile(x, (1, 2)), [m, n], 0)
            count += 2
    for m, p, M, N in ((4, 9, 4, 9), (1, 9, 4, 9), (4, 1, 4, 9), (1, 1, 3, 40), (6, 33, 6, 33), (1, 1, 1, 1)):
        x, y = rng.standard_normal((m, p)).astype(np.float32), rng.standard_normal((M, N)).astype(np.float32)
        check(f'broadcast {m} {p} {variant}', Kernel(BROADCAST, ['f32', 'f32'], ['f32'], variant), [x, y], x + y,
              [M, N, p, m], 1e-6)
        count += 1
print(f'{count} passed')
