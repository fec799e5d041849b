"""Operators on volumes [batch, channels, planes, rows, columns], as models of scans and of video have them."""
import numpy as np
from Pairs.graph import EVERYTHING, SAME, excited, of_channels, pool, reduced, sliced

SHAPE, FIXED = (1, 16, 12, 20, 28), (1,)
INNER = (2, 3, 4)


def scaled(s, by, channels=1.0):
    return s[0], int(s[1] * channels), *(int(n * by) for n in s[2:])


def halved(s, channels=1):
    return s[0], s[1] * channels, *((n + 1) // 2 for n in s[2:])


def grown(s, by):
    return *s[:2], *(n + by for n in s[2:])


def convolved(columns, window, stride=1, depthwise=False):
    def make(g, x, s):
        weight = g.floats(columns or s[1], 1 if depthwise else s[1], *window, scale=.1)
        return g.add('Conv', x, weight, pads=[n // 2 for n in window] * 2, strides=[stride] * 3, group=s[1] if depthwise else 1)
    return make


def resized(g, x, by, mode):
    return g.add('Resize', x, '', g.constant([1, 1, by, by, by], np.float32), mode=mode)


def steps(g, x, axes, first, step):
    return sliced(g, x, first, [EVERYTHING] * len(axes), axes, [step] * len(axes))


def shifted(g, x, s):
    """A quarter of the channels from the plane before, as temporal shift modules do."""
    fold = s[1] // 4
    moved = g.add('Pad', sliced(g, x, [0, 0], [fold, -1], [1, 2], [1, 1]), g.constant([0, 0, 1] + [0] * 7))
    return g.add('Concat', moved, sliced(g, x, [fold], [EVERYTHING], [1], [1]), axis=1)


def patches(g, x, s):
    """Blocks of 2x2x2 in the place of channels, the block's place innermost."""
    parts = [steps(g, x, INNER, [a, b, c], 2) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    return g.add('Concat', *parts, axis=1)


def turned(*perm):
    return lambda g, x, s: g.add('Transpose', x, perm=perm), lambda s: tuple(s[p] for p in perm)


FIRST = dict(
    nothing=(lambda g, x, s: x, SAME),
    maxpool2=(pool('MaxPool', 2, 2), lambda s: scaled(s, .5)), maxpool3=(pool('MaxPool', 3, 1, 1), SAME), maxpool3_s2=(pool('MaxPool', 3, 2, 1), halved),
    avgpool2=(pool('AveragePool', 2, 2), lambda s: scaled(s, .5)),
    nearest=(lambda g, x, s: resized(g, x, 2, 'nearest'), lambda s: scaled(s, 2)), linear=(lambda g, x, s: resized(g, x, 2, 'linear'), lambda s: scaled(s, 2)),
    steps=(lambda g, x, s: steps(g, x, INNER, [0] * 3, 2), halved), planes=(lambda g, x, s: steps(g, x, [2], [0], 2), lambda s: (*s[:2], (s[2] + 1) // 2, *s[3:])),
    reversed=(lambda g, x, s: sliced(g, x, [-1], [-EVERYTHING], [2], [-1]), SAME),
    padded=(lambda g, x, s: g.add('Pad', x, g.constant([0, 0, 1, 1, 1] * 2)), lambda s: grown(s, 2)),
    reflected=(lambda g, x, s: g.add('Pad', x, g.constant([0, 0, 1, 1, 1] * 2), mode='reflect'), lambda s: grown(s, 2)),
    joined=(lambda g, x, s: g.add('Concat', x, g.add('Relu', x), axis=1), lambda s: (s[0], 2 * s[1], *s[2:])),
    beside=(lambda g, x, s: g.add('Concat', x, g.add('Relu', x), axis=2), lambda s: (*s[:2], 2 * s[2], *s[3:])), shifted=(shifted, SAME),
    patches=(patches, lambda s: halved(s, 8)), last=turned(0, 2, 3, 4, 1), frames=turned(0, 2, 1, 3, 4), columns_first=turned(0, 1, 4, 2, 3),
    conv1=(convolved(None, (1, 1, 1)), SAME), conv3=(convolved(None, (3, 3, 3)), SAME), spatial=(convolved(None, (1, 3, 3)), SAME), temporal=(convolved(None, (3, 1, 1)), SAME),
    depthwise=(convolved(None, (3, 3, 3), depthwise=True), SAME),
    up=(lambda g, x, s: g.add('ConvTranspose', x, g.floats(s[1], s[1], 2, 2, 2, scale=.1), strides=[2] * 3), lambda s: scaled(s, 2)),
    softmax=(lambda g, x, s: g.add('Softmax', x, axis=4), SAME), softmax_channels=(lambda g, x, s: g.add('Softmax', x, axis=1), SAME),
    instance=(of_channels('InstanceNormalization', 2), SAME), groups=(of_channels('GroupNormalization', 2, num_groups=4), SAME),
    layer=(lambda g, x, s: g.add('LayerNormalization', x, g.floats(s[4])), SAME), excited=(excited, SAME), prelu=(lambda g, x, s: g.add('PRelu', x, g.floats(s[1], 1, 1, 1)), SAME),
    cumsum=(lambda g, x, s: g.add('CumSum', x, g.constant(2)), SAME))
SECOND = {**{name: make for name, (make, _) in FIRST.items() if name != 'nothing'}, 'mean': reduced('ReduceMean', *INNER), 'mean_planes': reduced('ReduceMean', 2),
          'mean_channels': reduced('ReduceMean', 1), 'max': reduced('ReduceMax', 4), 'lse': reduced('ReduceLogSumExp', 2, 4), 'argmax_channels': lambda g, x, s: g.add('ArgMax', x, axis=1),
          'topk': lambda g, x, s: g.add('TopK', x, g.constant([4]), axis=2, results=2), 'matmul': lambda g, x, s: g.add('MatMul', x, g.floats(s[4], 24, scale=.1)),
          'conv3_s2': convolved(32, (3, 3, 3), 2), 'spatial_s2': convolved(32, (1, 7, 7), 2)}
