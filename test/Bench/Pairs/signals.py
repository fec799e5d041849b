"""Operators on signals [batch, channels, samples], as models of speech and of time series have them."""
import numpy as np
from Pairs.graph import EVERYTHING, SAME, excited, of_channels, pool, reduced, sliced

SHAPE, FIXED = (2, 32, 1200), (1,)


def convolved(columns, size, stride=1, depthwise=False, dilation=1):
    def make(g, x, s):
        weight = g.floats(columns or s[1], 1 if depthwise else s[1], size, scale=.1)
        return g.add('Conv', x, weight, pads=[size // 2 * dilation] * 2, strides=[stride], dilations=[dilation], group=s[1] if depthwise else 1)
    return make


def up(size, stride):
    return lambda g, x, s: g.add('ConvTranspose', x, g.floats(s[1], s[1], size, scale=.1), strides=[stride], pads=[(size - stride) // 2] * 2)


def resized(g, x, by, mode):
    return g.add('Resize', x, '', g.constant([1, 1, by], np.float32), mode=mode)


def framed(g, x, s):
    """Frames of 16 samples, 8 apart, in the place of channels: [batch, channels * frames, 16]."""
    places = np.arange((s[2] - 16) // 8 + 1)[:, None] * 8 + np.arange(16)
    return g.add('Reshape', g.add('Gather', x, g.constant(places), axis=2), g.constant([0, -1, 16]))


def gated(g, x, s):
    half = s[1] // 2
    return g.add('Mul', g.add('Tanh', sliced(g, x, [0], [half], [1], [1])), g.add('Sigmoid', sliced(g, x, [half], [EVERYTHING], [1], [1])))


def snake(g, x, s):
    """x + sin(a x)^2 / a, of vocoders."""
    rate = g.constant(np.abs(g.random.standard_normal((1, s[1], 1))) + .5, np.float32)
    wave = g.add('Sin', g.add('Mul', x, rate))
    return g.add('Add', x, g.add('Div', g.add('Mul', wave, wave), rate))


def half(s):
    return s[0], s[1], (s[2] + 1) // 2


FIRST = dict(
    nothing=(lambda g, x, s: x, SAME),
    conv1=(convolved(None, 1), SAME), conv3=(convolved(None, 3), SAME), conv7=(convolved(None, 7), SAME), dilated=(convolved(None, 3, dilation=4), SAME),
    strided=(convolved(None, 5, 2), half), depthwise=(convolved(None, 7, depthwise=True), SAME), up2=(up(4, 2), lambda s: (*s[:2], 2 * s[2])),
    up8=(up(16, 8), lambda s: (*s[:2], 8 * s[2])), maxpool=(pool('MaxPool', 3, 2, 1), half), avgpool=(pool('AveragePool', 2, 2), lambda s: (*s[:2], s[2] // 2)),
    maxpool5=(pool('MaxPool', 5, 1, 2), SAME), nearest=(lambda g, x, s: resized(g, x, 2, 'nearest'), lambda s: (*s[:2], 2 * s[2])),
    linear=(lambda g, x, s: resized(g, x, 2, 'linear'), lambda s: (*s[:2], 2 * s[2])), linear_down=(lambda g, x, s: resized(g, x, .5, 'linear'), lambda s: (*s[:2], s[2] // 2)),
    steps=(lambda g, x, s: sliced(g, x, [0], [EVERYTHING], [2], [2]), half), reversed=(lambda g, x, s: sliced(g, x, [-1], [-EVERYTHING], [2], [-1]), SAME),
    cut=(lambda g, x, s: sliced(g, x, [3], [-5], [2], [1]), lambda s: (*s[:2], s[2] - 8)),
    reflected=(lambda g, x, s: g.add('Pad', x, g.constant([0, 0, 3] * 2), mode='reflect'), lambda s: (*s[:2], s[2] + 6)),
    causal=(lambda g, x, s: g.add('Pad', x, g.constant([0, 0, 4, 0, 0, 0])), lambda s: (*s[:2], s[2] + 4)),
    joined=(lambda g, x, s: g.add('Concat', x, g.add('Relu', x), axis=1), lambda s: (s[0], 2 * s[1], s[2])),
    beside=(lambda g, x, s: g.add('Concat', x, g.add('Relu', x), axis=2), lambda s: (*s[:2], 2 * s[2])),
    last=(lambda g, x, s: g.add('Transpose', x, perm=[0, 2, 1]), lambda s: (s[0], s[2], s[1])), framed=(framed, lambda s: (s[0], s[1] * ((s[2] - 16) // 8 + 1), 16)),
    gated=(gated, lambda s: (s[0], s[1] // 2, s[2])), snake=(snake, SAME), excited=(excited, SAME), prelu=(lambda g, x, s: g.add('PRelu', x, g.floats(s[1], 1)), SAME),
    batch=(lambda g, x, s: g.add('BatchNormalization', x, *(g.constant(g.random.random(s[1]) + .5, np.float32) for _ in range(4))), SAME),
    instance=(of_channels('InstanceNormalization', 2), SAME), groups=(of_channels('GroupNormalization', 2, num_groups=4), SAME),
    cumsum=(lambda g, x, s: g.add('CumSum', x, g.constant(2)), SAME), softmax=(lambda g, x, s: g.add('Softmax', x, axis=2), SAME),
    softmax_channels=(lambda g, x, s: g.add('Softmax', x, axis=1), SAME), layer=(lambda g, x, s: g.add('LayerNormalization', x, g.floats(s[2])), SAME))
SECOND = {**{name: make for name, (make, _) in FIRST.items() if name != 'nothing'}, 'mean': reduced('ReduceMean', 2), 'mean_channels': reduced('ReduceMean', 1), 'max': reduced('ReduceMax', 2),
          'max_channels': reduced('ReduceMax', 1), 'sum': reduced('ReduceSum', 0, 1, 2), 'norm': reduced('ReduceL2', 2), 'lse': reduced('ReduceLogSumExp', 2),
          'argmax': lambda g, x, s: g.add('ArgMax', x, axis=2), 'argmax_channels': lambda g, x, s: g.add('ArgMax', x, axis=1),
          'topk': lambda g, x, s: g.add('TopK', x, g.constant([5]), axis=2, results=2), 'matmul': lambda g, x, s: g.add('MatMul', x, g.floats(s[2], 48, scale=.1))}
