"""Operators on images [batch, channels, rows, columns]."""
import numpy as np
from Pairs.graph import EVERYTHING, SAME, excited, of_channels, pool, reduced, sliced

SHAPE, FIXED = (2, 32, 40, 56), (1,)  # FIXED: axes whose sizes stay fixed where the others are open


def halved(s, channels=1):
    return s[0], s[1] * channels, (s[2] + 1) // 2, (s[3] + 1) // 2


def doubled(s, channels=1.0):
    return s[0], int(s[1] * channels), s[2] * 2, s[3] * 2


def resized(g, x, by, mode):
    return g.add('Resize', x, '', g.constant([1, 1, by, by], np.float32), mode=mode)


def focus(g, x, s):
    return g.add('Concat', *(sliced(g, x, [i, j], [EVERYTHING] * 2, [2, 3], [2, 2]) for j in (0, 1) for i in (0, 1)), axis=1)


def shuffled(g, x, s):
    batch, rows, columns = (g.add('Shape', x, start=i, end=i + 1) for i in (0, 2, 3))
    apart = g.add('Concat', batch, g.constant([4, s[1] // 4]), rows, columns, axis=0)
    together = g.add('Concat', batch, g.constant([s[1]]), rows, columns, axis=0)
    return g.add('Reshape', g.add('Transpose', g.add('Reshape', x, apart), perm=[0, 2, 1, 3, 4]), together)


def rolled(g, x, s):
    return g.add('Concat', sliced(g, x, [3], [EVERYTHING], [3], [1]), sliced(g, x, [0], [3], [3], [1]), axis=3)


def convolved(columns, size, stride=1, depthwise=False):
    def make(g, x, s):
        weight = g.floats(columns or s[1], 1 if depthwise else s[1], size, size, scale=.1)
        return g.add('Conv', x, weight, pads=[size // 2] * 4, strides=[stride] * 2, group=s[1] if depthwise else 1)
    return make


# Name: (what is added to a graph behind a value of some sizes, the sizes of the result).
FIRST = dict(
    nothing=(lambda g, x, s: x, SAME),
    maxpool3_s2=(pool('MaxPool', 3, 2, 1), halved), maxpool2=(pool('MaxPool', 2, 2), lambda s: (*s[:2], s[2] // 2, s[3] // 2)), maxpool5=(pool('MaxPool', 5, 1, 2), SAME),
    avgpool3_s2=(pool('AveragePool', 3, 2, 1), halved), avgpool2=(pool('AveragePool', 2, 2), lambda s: (*s[:2], s[2] // 2, s[3] // 2)),
    nearest=(lambda g, x, s: resized(g, x, 2, 'nearest'), doubled), linear=(lambda g, x, s: resized(g, x, 2, 'linear'), doubled),
    linear_down=(lambda g, x, s: resized(g, x, .5, 'linear'), lambda s: (*s[:2], s[2] // 2, s[3] // 2)),
    steps=(lambda g, x, s: sliced(g, x, [0, 0], [EVERYTHING] * 2, [2, 3], [2, 2]), halved), reversed=(lambda g, x, s: sliced(g, x, [-1], [-EVERYTHING], [3], [-1]), SAME),
    focus=(focus, lambda s: halved(s, 4)), to_depth=(lambda g, x, s: g.add('SpaceToDepth', x, blocksize=2), lambda s: halved(s, 4)),
    to_space=(lambda g, x, s: g.add('DepthToSpace', x, blocksize=2), lambda s: doubled(s, .25)),
    reflected=(lambda g, x, s: g.add('Pad', x, g.constant([0, 0, 1, 1] * 2), mode='reflect'), lambda s: (*s[:2], s[2] + 2, s[3] + 2)),
    padded=(lambda g, x, s: g.add('Pad', x, g.constant([0, 0, 1, 2, 0, 0, 3, 4])), lambda s: (*s[:2], s[2] + 4, s[3] + 6)),
    joined=(lambda g, x, s: g.add('Concat', x, g.add('Relu', x), axis=1), lambda s: (s[0], 2 * s[1], *s[2:])),
    beside=(lambda g, x, s: g.add('Concat', x, g.add('Relu', x), axis=3), lambda s: (*s[:3], 2 * s[3])), shuffled=(shuffled, SAME), rolled=(rolled, SAME),
    gathered=(lambda g, x, s: g.add('Gather', x, g.constant(g.random.permutation(s[1])), axis=1), SAME),
    gathered_columns=(lambda g, x, s: g.add('Gather', x, g.constant(g.random.permutation(s[3])), axis=3), SAME),
    last=(lambda g, x, s: g.add('Transpose', x, perm=[0, 2, 3, 1]), lambda s: (s[0], s[2], s[3], s[1])),
    turned=(lambda g, x, s: g.add('Transpose', x, perm=[0, 1, 3, 2]), lambda s: (s[0], s[1], s[3], s[2])),
    depthwise=(convolved(None, 3, depthwise=True), SAME), conv1=(convolved(None, 1), SAME),
    up=(lambda g, x, s: g.add('ConvTranspose', x, g.floats(s[1], s[1], 2, 2, scale=.1), strides=[2, 2]), doubled),
    cumsum=(lambda g, x, s: g.add('CumSum', x, g.constant(3)), SAME), softmax=(lambda g, x, s: g.add('Softmax', x, axis=3), SAME),
    softmax_channels=(lambda g, x, s: g.add('Softmax', x, axis=1), SAME), instance=(of_channels('InstanceNormalization', 2), SAME),
    groups=(of_channels('GroupNormalization', 2, num_groups=4), SAME), layer=(lambda g, x, s: g.add('LayerNormalization', x, g.floats(s[3])), SAME),
    l2=(lambda g, x, s: g.add('LpNormalization', x, axis=1), SAME), excited=(excited, SAME), gelu=(lambda g, x, s: g.add('Gelu', x), SAME),
    lrn=(lambda g, x, s: g.add('LRN', x, size=5), SAME))
SECOND = {**{name: make for name, (make, _) in FIRST.items() if name != 'nothing'}, 'mean': reduced('ReduceMean', 2, 3), 'mean_channels': reduced('ReduceMean', 1), 'max': reduced('ReduceMax', 3),
          'max_rows': reduced('ReduceMax', 2), 'sum': reduced('ReduceSum', 0, 1, 2, 3), 'norm': reduced('ReduceL2', 2, 3), 'lse': reduced('ReduceLogSumExp', 3),
          'argmax_channels': lambda g, x, s: g.add('ArgMax', x, axis=1), 'argmax': lambda g, x, s: g.add('ArgMax', x, axis=3),
          'topk': lambda g, x, s: g.add('TopK', x, g.constant([5]), axis=3, results=2), 'matmul': lambda g, x, s: g.add('MatMul', x, g.floats(s[3], 48, scale=.1)),
          'conv3': convolved(32, 3), 'conv3_s2': convolved(32, 3, 2)}
