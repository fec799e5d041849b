"""Attention against ONNX Runtime (MatMul, Mul, Add, Softmax, MatMul) and the multiply-add ceiling, one thread.

usage: attention.py VARIANT MASK,HEADS,QUERIES,KEYS,DEPTH...   MASK: dense, causal, window (256) or added
e.g. attention.py avx512 dense,12,128,128,64 window,4,2048,2048,64 dense,12,1,256,64"""
import math, sys
import numpy as np
from kernelbench import Bound, Kernel, compare, peer
import bodies
from onnx import helper

WINDOW = 256
REGIONS = bodies.regions(WINDOW)


def kernel_for(region, heads, depth):
    row = lambda n, a, i: f'{depth}*({a} + {n}*h) + {i}'
    offsets = {'axes': f'h = "{heads}", q = "qn"', 'query': 'q', 'q': row('qn', 'q', 'd'), 'k': row('kn', 'k', 'd'),
               'v': row('kn', 'k', 'e'), 'out': row('qn', 'q', 'e')}
    text = bodies.attention(depth, depth, REGIONS[region], offsets, 1 / math.sqrt(depth))
    return Kernel(text, ['f32'] * 4, ['f32'], variant)


def peer_for(depth, q, k, v, mask):
    node = helper.make_node
    scores = [node('Transpose', ['K'], ['T'], perm=[0, 2, 1]), node('MatMul', ['Q', 'T'], ['S']), node('Mul', ['S', 'c'], ['A'])]
    inputs, last = {'Q': q, 'K': k, 'V': v}, 'A'
    if mask is not None:
        inputs['M'], last = mask, 'B'
        scores.append(node('Add', ['A', 'M'], ['B']))
    tail = [node('Softmax', [last], ['P'], axis=-1), node('MatMul', ['P', 'V'], ['Y'])]
    return peer(scores + tail, inputs, ('Y', 3), {'c': np.array(1 / math.sqrt(depth), np.float32)})


variant = sys.argv[1]
rng = np.random.default_rng(0)
for case in sys.argv[2:]:
    region, (heads, queries, keys, depth) = case.split(',')[0], map(int, case.split(',')[1:])
    q, k, v = (rng.standard_normal((heads, n, depth)).astype(np.float32) for n in (queries, keys, keys))
    qi, ki = np.arange(queries)[:, None] + keys - queries, np.arange(keys)[None]
    seen = {'causal': ki <= qi, 'window': (ki <= qi) & (ki + WINDOW > qi)}.get(region, np.ones((queries, keys), bool))
    mask = rng.standard_normal((queries, keys)).astype(np.float32) if region == 'added' else None
    if region in ('causal', 'window'):
        mask = np.where(seen, 0, -np.inf).astype(np.float32)
    out = np.zeros_like(q)
    run, result = peer_for(depth, q, k, v, mask)
    bound = Bound(kernel_for(region, heads, depth), [q, k, v, np.zeros(1, np.float32) if mask is None else mask, out],
                  [keys, queries])
    compare(case, bound, run, 4.0 * heads * depth * seen.sum(), variant, seconds=2, traffic=8.0 * heads * keys * depth)
    assert np.abs(out - result()).max() < 1e-3
