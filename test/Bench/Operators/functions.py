"""Elementwise functions by type, powers by exponent; scans, selections, gathers and windows of other axes and attributes than those of the other files."""
import numpy as np

from .case import add, floats, integers, node, scale, whole

f16 = np.float16


def function(name, op, kind=np.float32, low=-3.0, high=3.0, **attributes):
    x = np.random.default_rng(11).uniform(low, high, (30, 5000)).astype(kind)
    add('function', name, node(op, 'x', **attributes), dict(x=x), opset=22, tolerance=4e-3 if kind == f16 else 1e-3)


for op, low, high in (('Sin', -9, 9), ('Tan', -9, 9), ('Asin', -1, 1), ('Acos', -1, 1), ('Cosh', -3, 3), ('Asinh', -3, 3), ('Acosh', 1, 9),
                      ('Atanh', -.99, .99), ('Softsign', -3, 3), ('Celu', -3, 3), ('Gelu', -3, 3), ('Ceil', -9, 9), ('Sign', -3, 3)):
    function(op.lower() + '_f32', op, low=low, high=high)
for op in ('Floor', 'Round', 'Sin', 'Atan', 'Tanh', 'Sigmoid', 'Exp', 'Erf', 'Abs', 'Neg'):
    function(op.lower() + '_f16', op, f16)
for op in ('Tanh', 'Exp', 'Log', 'Sin'):
    function(op.lower() + '_f64', op, np.float64, low=.1 if op == 'Log' else -3.0)
for name, exponent in (('3', 3), ('half', .5), ('minus_1', -1), ('2_3', 2.3)):
    add('function', f'pow_by_{name}', node('Pow', 'x,e'), dict(x=np.abs(floats(100, 999)) + scale(.1), e=scale(exponent)))
add('function', 'pow_each', node('Pow', 'x,e'), dict(x=np.abs(floats(60, 999)), e=floats(60, 999)))
add('function', 'pow_f16_2', node('Pow', 'x,e'), dict(x=floats(100, 999, kind=f16), e=f16(2)), tolerance=4e-3)
add('function', 'fmod_f16', node('Mod', 'x,z', fmod=1), dict(x=floats(60, 999, kind=f16), z=floats(60, 999, kind=f16)), tolerance=4e-3)

for name, flags in (('reverse', dict(reverse=1)), ('exclusive', dict(exclusive=1)), ('both', dict(reverse=1, exclusive=1))):
    add('order', f'cumsum_middle_{name}', node('CumSum', 'x,a', **flags), dict(x=floats(20, 300, 70)), dict(a=np.int64(1)))
for k in (1, 10, 200):
    add('order', f'topk_middle_{k}', node('TopK', 'x,k', 'v,i', axis=1), dict(x=floats(8, 500, 60)), dict(k=whole(k)))
add('order', 'sort_first', node('TopK', 'x,k', 'v,i', axis=0), dict(x=floats(1000, 90)), dict(k=whole(1000)))
for depth, count in ((1, 40), (2, 700), (3, 9000), (4, 90000)):
    at = np.stack([integers(0, n, count) for n in (20, 19, 18, 17)[:depth]], -1)
    add('index', f'gathernd_depth_{depth}', node('GatherND', 'x,i'), dict(x=floats(20, 19, 18, 17), i=at))
places = np.stack(np.unravel_index(np.random.default_rng(5).permutation(40 * 50 * 60)[:20000], (40, 50, 60)), -1)
add('index', 'scatternd_depth_3', node('ScatterND', 'x,i,u'), dict(x=floats(40, 50, 60), i=places, u=floats(20000)), opset=18)
add('window', 'maxpool_dilated', node('MaxPool', 'x', kernel_shape=[3, 3], dilations=[2, 3]), dict(x=floats(1, 40, 61, 67)))
add('window', 'maxpool_ceil', node('MaxPool', 'x', kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1), dict(x=floats(1, 40, 60, 66)))
add('window', 'avgpool_ceil_pad', node('AveragePool', 'x', kernel_shape=[4, 3], strides=[3, 2], pads=[1, 1, 1, 1], ceil_mode=1, count_include_pad=1),
    dict(x=floats(1, 40, 60, 66)), opset=19)
add('window', 'lrn_7', node('LRN', 'x', size=7), dict(x=floats(2, 50, 30, 31)))
add('resize', 'linear_antialias', node('Resize', 'x,,s', mode='linear', antialias=1), dict(x=floats(1, 16, 97, 91)), dict(s=np.array([1, 1, .4, .45], np.float32)), opset=19)
add('resize', 'gridsample_cubic', node('GridSample', 'x,g', mode='cubic'), dict(x=floats(1, 12, 50, 60), g=floats(1, 40, 50, 2, scale=.5)), opset=20, tolerance=1e-2)
add('reduction', 'sum_mixed_axes', node('ReduceSum', 'x,a', keepdims=0), dict(x=floats(30, 20, 25, 40)), dict(a=whole(0, 2)), tolerance=1e-2)
add('reduction', 'max_three_axes', node('ReduceMax', 'x', axes=[0, 1, 3], keepdims=1), dict(x=floats(20, 20, 33, 41)))
add('reduction', 'logsumexp_first', node('ReduceLogSumExp', 'x', axes=[0]), dict(x=floats(300, 700)))
add('fourier', 'dft_prime', node('DFT', 'x', axis=1), dict(x=floats(20, 997, 1)), tolerance=.1)
