"""Scans, sorts, elements by index."""
import numpy as np

from .case import add, bits, floats, integers, node, rng, whole

add('order', 'cumsum_first', node('CumSum', 'x,a'), dict(x=floats(500, 700)), dict(a=np.int64(0)), tolerance=1e-2)
add('order', 'cumsum_i64_back', node('CumSum', 'x,a', exclusive=1, reverse=1), dict(x=integers(-9, 9, 300, 999)), dict(a=np.int64(1)))
add('order', 'cumsum_short', node('CumSum', 'x,a'), dict(x=floats(20000, 17)), dict(a=np.int64(1)))
add('order', 'cumsum_open', node('CumSum', 'x,a'), dict(x=floats(40, 333, 21)), dict(a=np.int64(1)), open=True)


def topk(name, x, k, **attributes):
    add('order', name, node('TopK', 'x,k', 'v,y', **attributes), dict(x=x), dict(k=whole(k)))


topk('topk_77_5', floats(333, 77), 5)
topk('topk_80_1', floats(2000, 80), 1)
topk('topk_axis0', floats(1000, 120), 10, axis=0)
topk('topk_smallest_i64', rng.permutation(100 * 400).reshape(100, 400), 20, largest=0)
topk('topk_100k_1000', floats(1, 100000), 1000)
topk('topk_4m_1025', floats(1, 1 << 22), 1025)
topk('topk_64k_1000', floats(1, 1 << 16), 1000)
topk('topk_300_unsorted', floats(200, 3000), 300)
topk('sort_500', floats(200, 500), 500)
topk('sort_12', floats(5000, 12), 12)


add('index', 'gather_axis1', node('Gather', 'x,i', axis=1), dict(x=floats(200, 300, 9), i=integers(0, 300, 250)))
add('index', 'gather_last', node('Gather', 'x,i', axis=-1), dict(x=floats(500, 600), i=integers(-600, 600, 400)))
add('index', 'gather_i8_rows', node('Gather', 'x,i'), dict(x=integers(-99, 99, 5000, 65, kind=np.int8), i=integers(0, 5000, 4000, kind=np.int32)))
add('index', 'gather_narrow', node('Gather', 'x,i'), dict(x=floats(10000, 3), i=integers(0, 10000, 50000)))
add('index', 'gatherelements_0', node('GatherElements', 'x,i', axis=0), dict(x=floats(700, 500), i=integers(0, 700, 600, 500)))
add('index', 'gatherelements_f16', node('GatherElements', 'x,i', axis=1), dict(x=floats(300, 700, kind=np.float16), i=integers(0, 700, 300, 900, kind=np.int32)))
add('index', 'gathernd_batch', node('GatherND', 'x,i', batch_dims=1), dict(x=floats(8, 500, 20), i=integers(0, 500, 8, 900, 1)))
add('index', 'gathernd_scalars', node('GatherND', 'x,i'), dict(x=floats(90, 91, 92), i=integers(0, 90, 60000, 3)))
add('index', 'scatterelements_1', node('ScatterElements', 'x,i,u', axis=1), dict(x=floats(300, 800), i=np.argsort(rng.random((300, 800)), 1)[:, :300].copy(), u=floats(300, 300)))
add('index', 'scatterelements_max', node('ScatterElements', 'x,i,u', axis=0, reduction='max'), dict(x=floats(500, 300), i=integers(0, 500, 400, 300), u=floats(400, 300)), opset=18)
add('index', 'scatternd_add', node('ScatterND', 'x,i,u', reduction='add'), dict(x=floats(3000, 33), i=integers(0, 3000, 5000, 1), u=floats(5000, 33)), opset=18, tolerance=1e-2)
add('index', 'scatternd_i64', node('ScatterND', 'x,i,u'), dict(x=integers(0, 9, 200, 300), i=np.stack(np.divmod(rng.permutation(60000)[:20000], 300), 1), u=integers(0, 9, 20000)))
add('index', 'onehot', node('OneHot', 'x,d,v', axis=-1), dict(x=integers(0, 200, 2000)), dict(d=whole(200), v=np.array([0, 1], np.float32)))
add('index', 'compress_rows', node('Compress', 'x,c', axis=0), dict(x=floats(5000, 40), c=bits(5000)))
add('index', 'nonzero_bool', node('NonZero', 'x'), dict(x=rng.random((300, 31, 40)) > .8))
add('index', 'unique_f32', node('Unique', 'x', 'y,a,b,c'), dict(x=integers(0, 300, 40000).astype(np.float32)))
add('index', 'unique_unsorted', node('Unique', 'x', sorted=0), dict(x=integers(0, 3000, 50000)))
add('index', 'reverse_sequence', node('ReverseSequence', 'x,l', batch_axis=1, time_axis=0), dict(x=floats(200, 30, 50), l=integers(1, 200, 30)))
add('index', 'unique_1m', node('Unique', 'x'), dict(x=integers(0, 1 << 20, 1 << 20)))
add('index', 'scatterelements_far', node('ScatterElements', 'x,i,u', axis=0, reduction='add'), dict(x=floats(1 << 22), i=integers(0, 1 << 22, 1 << 22), u=floats(1 << 22)), opset=18)
add('index', 'scatternd_far_rows', node('ScatterND', 'x,i,u', reduction='add'), dict(x=floats(1 << 20, 8), i=integers(0, 1 << 20, 1 << 18, 1), u=floats(1 << 18, 8)), opset=18)
