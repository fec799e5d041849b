"""Operators on tokens [batch, tokens, features], as transformers and recurrent models have them."""
import math

import numpy as np
from Pairs.graph import EVERYTHING, SAME, reduced, sliced

SHAPE, FIXED = (2, 96, 128), (2,)
HEADS = 4


def shaped(g, x, *dims):
    return g.add('Reshape', x, g.constant(dims))


def heads(g, x, s):
    """[batch, heads, tokens, features of a head]."""
    return g.add('Transpose', shaped(g, x, 0, -1, HEADS, s[2] // HEADS), perm=[0, 2, 1, 3])


def merged(g, x, s):
    return shaped(g, g.add('Transpose', x, perm=[0, 2, 1, 3]), 0, -1, s[2])


def attention(g, x, s):
    q, k, v = (heads(g, g.add('MatMul', x, g.floats(s[2], s[2], scale=.1)), s) for _ in range(3))
    scores = g.add('MatMul', q, g.add('Transpose', k, perm=[0, 1, 3, 2]))
    weights = g.add('Softmax', g.add('Mul', scores, g.constant(1 / math.sqrt(s[2] // HEADS), np.float32)), axis=-1)
    return merged(g, g.add('MatMul', weights, v), s)


def rotary(g, x, s):
    half = s[2] // 2
    left, right = sliced(g, x, [0], [half], [2], [1]), sliced(g, x, [half], [EVERYTHING], [2], [1])
    turned = g.add('Concat', g.add('Neg', right), left, axis=2)
    return g.add('Add', g.add('Mul', x, g.floats(s[2])), g.add('Mul', turned, g.floats(s[2])))


def interleaved(g, x, s):
    """Rotary positions of neighbours in pairs."""
    even, odd = (sliced(g, x, [i], [EVERYTHING], [2], [2]) for i in (0, 1))
    a, b = g.floats(s[2] // 2), g.floats(s[2] // 2)
    parts = g.add('Sub', g.add('Mul', even, a), g.add('Mul', odd, b)), g.add('Add', g.add('Mul', odd, a), g.add('Mul', even, b))
    return shaped(g, g.add('Concat', *(g.add('Unsqueeze', p, g.constant([3])) for p in parts), axis=3), 0, -1, s[2])


def gated(g, x, s):
    half = s[2] // 2
    return g.add('Mul', sliced(g, x, [0], [half], [2], [1]), g.add('Sigmoid', sliced(g, x, [half], [EVERYTHING], [2], [1])))


def rolled(axis, by):
    return lambda g, x, s: g.add('Concat', sliced(g, x, [by], [EVERYTHING], [axis], [1]), sliced(g, x, [0], [by], [axis], [1]), axis=axis)


def recurrent(g, x, s):
    states = s[2]
    made = g.add('GRU', g.add('Transpose', x, perm=[1, 0, 2]), g.floats(1, 3 * states, s[2], scale=.1), g.floats(1, 3 * states, states, scale=.1), hidden_size=states)
    return g.add('Transpose', g.add('Squeeze', made, g.constant([1])), perm=[1, 0, 2])


def convolved(columns, size, group=1):
    """A convolution along the tokens."""
    def make(g, x, s):
        count = columns or s[2]
        made = g.add('Conv', g.add('Transpose', x, perm=[0, 2, 1]), g.floats(count, s[2] if group == 1 else 1, size, scale=.1), pads=[size // 2] * 2, group=1 if group == 1 else s[2])
        return g.add('Transpose', made, perm=[0, 2, 1])
    return make


def bytes_of(g, x, s):
    scale, zero = g.constant(.05, np.float32), g.constant(3, np.int8)
    return g.add('DequantizeLinear', g.add('QuantizeLinear', x, scale, zero), scale, zero)


def masked(g, x, s):
    return g.add('Where', g.add('Less', x, g.constant(.3, np.float32)), x, g.constant(-1e4, np.float32))


def joined(axis):
    return lambda g, x, s: g.add('Concat', x, g.add('Tanh', x), axis=axis)


def patches(g, x, s):
    """Four neighbours become one."""
    return shaped(g, x, 0, -1, s[2] * 4)


def taken(axis):
    return lambda g, x, s: g.add('Gather', x, g.constant(g.random.permutation(s[axis])), axis=axis)


FIRST = dict(
    nothing=(lambda g, x, s: x, SAME),
    matmul=(lambda g, x, s: g.add('MatMul', x, g.floats(s[2], s[2], scale=.1)), SAME), gelu=(lambda g, x, s: g.add('Gelu', x), SAME),
    layer=(lambda g, x, s: g.add('LayerNormalization', x, g.floats(s[2]), g.floats(s[2])), SAME),
    rms=(lambda g, x, s: g.add('RMSNormalization', x, g.floats(s[2])), SAME), softmax=(lambda g, x, s: g.add('Softmax', x, axis=2), SAME),
    softmax_tokens=(lambda g, x, s: g.add('Softmax', x, axis=1), SAME), positions=(lambda g, x, s: g.add('Add', x, g.floats(1, s[1], s[2])), SAME),
    features_first=(lambda g, x, s: g.add('Transpose', x, perm=[0, 2, 1]), lambda s: (s[0], s[2], s[1])),
    tokens_first=(lambda g, x, s: g.add('Transpose', x, perm=[1, 0, 2]), lambda s: (s[1], s[0], s[2])),
    heads=(lambda g, x, s: shaped(g, heads(g, x, s), -1, s[1], s[2] // HEADS), lambda s: (s[0] * HEADS, s[1], s[2] // HEADS)),
    attention=(attention, SAME), rotary=(rotary, SAME), interleaved=(interleaved, SAME), gated=(gated, lambda s: (s[0], s[1], s[2] // 2)),
    cumsum=(lambda g, x, s: g.add('CumSum', x, g.constant(1)), SAME), cumsum_features=(lambda g, x, s: g.add('CumSum', x, g.constant(2)), SAME),
    rolled=(rolled(1, 5), SAME), rolled_features=(rolled(2, 5), SAME), taken=(taken(1), SAME), taken_features=(taken(2), SAME),
    steps=(lambda g, x, s: sliced(g, x, [0], [EVERYTHING], [1], [3]), lambda s: (s[0], (s[1] + 2) // 3, s[2])),
    reversed=(lambda g, x, s: sliced(g, x, [-1], [-EVERYTHING], [1], [-1]), SAME),
    first_features=(lambda g, x, s: sliced(g, x, [0], [40], [2], [1]), lambda s: (*s[:2], 40)),
    without_class=(lambda g, x, s: sliced(g, x, [1], [EVERYTHING], [1], [1]), lambda s: (s[0], s[1] - 1, s[2])),
    joined=(joined(1), lambda s: (s[0], 2 * s[1], s[2])), beside=(joined(2), lambda s: (*s[:2], 2 * s[2])),
    padded=(lambda g, x, s: g.add('Pad', x, g.constant([0, 2, 0, 0, 1, 0])), lambda s: (s[0], s[1] + 3, s[2])),
    repeated=(lambda g, x, s: g.add('Tile', x, g.constant([1, 2, 1])), lambda s: (s[0], 2 * s[1], s[2])), patches=(patches, lambda s: (s[0], s[1] // 4, 4 * s[2])),
    recurrent=(recurrent, SAME), convolved=(convolved(None, 3), SAME), depthwise=(convolved(None, 5, group=0), SAME), bytes=(bytes_of, SAME), masked=(masked, SAME),
    l2=(lambda g, x, s: g.add('LpNormalization', x, axis=2), SAME), halves=(lambda g, x, s: g.add('Cast', g.add('Cast', x, to=10), to=1), SAME),
    clamped=(lambda g, x, s: g.add('Clip', x, g.constant(-1, np.float32), g.constant(1, np.float32)), SAME))
SECOND = {**{name: make for name, (make, _) in FIRST.items() if name not in ('nothing', 'heads')},
          'mean': reduced('ReduceMean', 1), 'mean_features': reduced('ReduceMean', 2), 'max': reduced('ReduceMax', 1), 'max_features': reduced('ReduceMax', 2),
          'sum': reduced('ReduceSum', 0, 1, 2), 'lse': reduced('ReduceLogSumExp', 2), 'argmax': lambda g, x, s: g.add('ArgMax', x, axis=2),
          'argmax_tokens': lambda g, x, s: g.add('ArgMax', x, axis=1), 'topk': lambda g, x, s: g.add('TopK', x, g.constant([5]), axis=2, results=2),
          'topk_tokens': lambda g, x, s: g.add('TopK', x, g.constant([5]), axis=1, results=2), 'last_token': lambda g, x, s: g.add('Gather', x, g.constant(-1), axis=1),
          'wide': lambda g, x, s: g.add('Relu', g.add('MatMul', x, g.floats(s[2], 4 * s[2], scale=.1))),
          'self_product': lambda g, x, s: g.add('MatMul', x, g.add('Transpose', x, perm=[0, 2, 1])),
          'covariance': lambda g, x, s: g.add('MatMul', g.add('Transpose', x, perm=[0, 2, 1]), x), 'one_hot': lambda g, x, s: g.add(
              'OneHot', g.add('ArgMax', x, axis=2, keepdims=0), g.constant(16), g.constant([0, 1], np.float32)),
          'embedded': lambda g, x, s: g.add('Gather', g.floats(s[2], 64), g.add('ArgMax', x, axis=2, keepdims=0), axis=0)}
