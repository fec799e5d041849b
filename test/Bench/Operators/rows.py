"""Reductions, normalisations."""
import numpy as np

from .case import add, floats, image, integers, node, scale, whole


def reduction(name, op, shape, axes, kind=np.float32, make=floats, **flags):
    add('reduction', name, node(op, 'x', axes=axes, keepdims=0), dict(x=make(*shape, kind=kind)), **flags)


few = lambda *shape, kind: integers(-5, 6, *shape, kind=kind)
reduction('mean_middle', 'ReduceMean', (100, 77, 130), [1])
reduction('mean_image', 'ReduceMean', (4, 200, 15, 15), [2, 3])
reduction('mean_image_open', 'ReduceMean', (4, 200, 15, 15), [2, 3], open=True)
reduction('l2_last', 'ReduceL2', (3000, 130), [1])
reduction('logsumexp', 'ReduceLogSumExp', (500, 501), [1])
reduction('max_first', 'ReduceMax', (301, 3001), [0])
reduction('max_u8', 'ReduceMax', (700, 900), [1], np.uint8, lambda *s, kind: image(*s))
reduction('min_i64', 'ReduceMin', (600, 700), [1], np.int64, few)
reduction('prod_short', 'ReduceProd', (60000, 7), [1])
reduction('l1_outer_inner', 'ReduceL1', (60, 50, 70), [0, 2])
reduction('sumsquare_f64', 'ReduceSumSquare', (300, 1000), [1], np.float64)
reduction('mean_i32_first', 'ReduceMax', (500, 900), [0], np.int32, few)
add('reduction', 'sum_short_rows', node('ReduceSum', 'x,a', keepdims=1), dict(x=floats(50000, 13)), dict(a=whole(1)))
add('reduction', 'sum_open_first', node('ReduceSum', 'x,a', keepdims=0), dict(x=floats(777, 513)), dict(a=whole(0)), open=True)
add('reduction', 'argmin_first', node('ArgMin', 'x', axis=0, keepdims=0), dict(x=floats(400, 700)))
add('reduction', 'argmax_short', node('ArgMax', 'x', axis=1, keepdims=0), dict(x=floats(20000, 19)))
add('reduction', 'argmax_last_index', node('ArgMax', 'x', axis=2, keepdims=0, select_last_index=1), dict(x=floats(30, 40, 301)))
add('reduction', 'argmax_i8', node('ArgMax', 'x', axis=1), dict(x=integers(-99, 99, 400, 1000, kind=np.int8)))
for length in (7, 37, 200):
    add('reduction', f'softmax_{length}_open', node('Softmax', 'x', axis=-1), dict(x=floats(200000 // length, length)), open=True)
add('reduction', 'softmax_1000', node('Softmax', 'x', axis=-1), dict(x=floats(200, 1000)))
add('reduction', 'softmax_first', node('Softmax', 'x', axis=0), dict(x=floats(50, 3000)))
add('reduction', 'logsoftmax_91', node('LogSoftmax', 'x', axis=-1), dict(x=floats(2000, 91)))
add('reduction', 'hardmax', node('Hardmax', 'x', axis=-1), dict(x=floats(1000, 120)))
add('reduction', 'layernorm_77', node('LayerNormalization', 'x,s,b', axis=-1), dict(x=floats(3000, 77)), dict(s=floats(77), b=floats(77)))
add('reduction', 'layernorm_open', node('LayerNormalization', 'x,s', axis=-1), dict(x=floats(6, 70, 384)), dict(s=floats(384)), open=False)
add('reduction', 'layernorm_two_axes', node('LayerNormalization', 'x,s,b', axis=1), dict(x=floats(30, 50, 200)), dict(s=floats(50, 200), b=floats(50, 200)))
add('reduction', 'groupnorm', node('GroupNormalization', 'x,s,b', num_groups=8), dict(x=floats(2, 64, 40, 40)), dict(s=floats(64), b=floats(64)), opset=21)
add('reduction', 'batchnorm', node('BatchNormalization', 'x,s,b,m,v'), dict(x=floats(2, 100, 37, 37)),
    dict(s=floats(100), b=floats(100), m=floats(100), v=np.abs(floats(100)) + scale(.1)))
add('reduction', 'instancenorm', node('InstanceNormalization', 'x,s,b'), dict(x=floats(3, 50, 41, 43)), dict(s=floats(50), b=floats(50)))
add('reduction', 'lpnorm_axis1', node('LpNormalization', 'x', axis=1, p=2), dict(x=floats(40, 64, 100)))
add('reduction', 'meanvariance', node('MeanVarianceNormalization', 'x'), dict(x=floats(4, 30, 60, 60)))
