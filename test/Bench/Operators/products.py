"""Products of floats: matrices with few columns, open sizes, einsum."""
import numpy as np

from .case import add, floats, integers, node


def product(name, rows, depth, columns, kind=np.float32, **flags):
    add('product', name, node('MatMul', 'x,w'), dict(x=floats(rows, depth, kind=kind)), dict(w=floats(depth, columns, kind=kind, scale=0.1)), **flags)


for columns in (3, 5, 7, 12):
    add('product', f'gemm_transB_{columns}', node('Gemm', 'x,w,b', transB=1), dict(x=floats(2000, 256)), dict(w=floats(columns, 256), b=floats(columns)))
for columns in (3, 7):
    add('product', f'gemm_transB_{columns}_open', node('Gemm', 'x,w', transB=1), dict(x=floats(500, 300), w=floats(columns, 300)), open=True)
product('matmul_33x129x65', 33, 129, 65)
product('matmul_9x2000x1000', 9, 2000, 1000)
product('matmul_200x300x500_open', 200, 300, 500, open=True)
product('matmul_1x1500x2500', 1, 1500, 2500)
product('matmul_f64_1', 1, 1000, 1000, np.float64)
product('matmul_f16_60', 60, 512, 520, np.float16, tolerance=2e-2)
product('matmul_900x20x900', 900, 20, 900)
add('product', 'gemm_tA_tB', node('Gemm', 'x,w,c', transA=1, transB=1, alpha=0.5, beta=2.0), dict(x=floats(300, 210), w=floats(330, 300)), dict(c=floats(210, 1)))
add('product', 'gemm_tA_long', node('Gemm', 'x,w', transA=1), dict(x=floats(3000, 64), w=floats(3000, 48)))
add('product', 'matmul_i32', node('MatMul', 'x,w'), dict(x=integers(-9, 9, 100, 200, kind=np.int32)), dict(w=integers(-9, 9, 200, 150, kind=np.int32)))
add('product', 'bmm_4x4', node('MatMul', 'x,w'), dict(x=floats(4000, 4, 4), w=floats(4000, 4, 4)))
add('product', 'bmm_19x63x21_open', node('MatMul', 'x,w'), dict(x=floats(70, 19, 63), w=floats(70, 63, 21)), open=True)
add('product', 'bmm_broadcast', node('MatMul', 'x,w'), dict(x=floats(12, 1, 80, 64), w=floats(4, 64, 80)))
add('product', 'einsum_outer', node('Einsum', 'x,w', equation='bi,bj->bij'), dict(x=floats(40, 150), w=floats(40, 170)))
add('product', 'einsum_heads', node('Einsum', 'x,w', equation='bqhd,bkhd->bhqk'), dict(x=floats(2, 90, 6, 32), w=floats(2, 110, 6, 32)))
add('product', 'einsum_trace', node('Einsum', 'x,w', equation='bij,bij->b'), dict(x=floats(64, 60, 70), w=floats(64, 60, 70)), tolerance=1e-2)
for open in (False, True):
    add('product', 'matmul_shared_rows' + '_open' * open, node('MatMul', 'x,w'), dict(x=floats(50, 100), w=floats(7, 100, 37)), open=open)
add('product', 'einsum_shared_rows', node('Einsum', 'x,w', equation='ij,bjkl->ibkl'), dict(x=floats(40, 64), w=floats(8, 64, 9, 11)))
