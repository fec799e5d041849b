"""Pairs of operators on images, each beside ONNX Runtime, one thread: where two kinds meet, what is fused decides.

usage: pairs.py LATHE [FIRST[:SECOND]...] [--open] [--shape 2,32,40,56] [--limit 1.25] [--seconds 0.06]
A line for each pair that takes more than LIMIT times ONNX Runtime's time, or whose results differ by more than a thousandth of the largest; the last one has
the geometric mean. --open: every size of the image but its channels. Whatever stands alone has its figure in operators.py."""
import argparse
import math
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here]
import operators  # noqa: E402

EVERYTHING = 1 << 20


class Graph:
    """What grows behind the input `x`."""

    def __init__(self):
        self.nodes, self.constants, self.random = [], {}, np.random.default_rng(0)

    def constant(self, values, kind=np.int64):
        self.constants[name := f'c{len(self.constants)}'] = np.asarray(values, kind)
        return name

    def floats(self, *shape, scale=1.0):
        return self.constant(self.random.standard_normal(shape) * scale, np.float32)

    def add(self, kind, *inputs, results=1, **attributes):
        made = [f't{len(self.nodes)}_{i}' for i in range(results)]
        self.nodes.append(helper.make_node(kind, inputs, made, **attributes))
        return made[0]


def halved(s, channels=1):
    return s[0], s[1] * channels, (s[2] + 1) // 2, (s[3] + 1) // 2


def doubled(s, channels=1.0):
    return s[0], int(s[1] * channels), s[2] * 2, s[3] * 2


def sliced(g, x, starts, ends, axes, steps):
    return g.add('Slice', x, *map(g.constant, (starts, ends, axes, steps)))


def resized(g, x, by, mode):
    return g.add('Resize', x, '', g.constant([1, 1, by, by], np.float32), mode=mode)


def focus(g, x, s):
    return g.add('Concat', *(sliced(g, x, [i, j], [EVERYTHING] * 2, [2, 3], [2, 2]) for j in (0, 1) for i in (0, 1)), axis=1)


def shuffled(g, x, s):
    split = g.add('Transpose', g.add('Reshape', x, g.constant([s[0], 4, s[1] // 4, *s[2:]])), perm=[0, 2, 1, 3, 4])
    return g.add('Reshape', split, g.constant(s))


def rolled(g, x, s):
    return g.add('Concat', sliced(g, x, [3], [EVERYTHING], [3], [1]), sliced(g, x, [0], [3], [3], [1]), axis=3)


def excited(g, x, s):
    gate = g.add('Conv', g.add('GlobalAveragePool', x), g.floats(s[1], s[1], 1, 1, scale=.1))
    return g.add('Mul', x, g.add('Sigmoid', gate))


def pool(kind, size, stride=1, pad=0):
    def make(g, x, s):
        return g.add(kind, x, kernel_shape=[size] * 2, strides=[stride] * 2, pads=[pad] * 4)
    return make


def convolved(columns, size, stride=1, depthwise=False):
    def make(g, x, s):
        weight = g.floats(columns or s[1], 1 if depthwise else s[1], size, size, scale=.1)
        return g.add('Conv', x, weight, pads=[size // 2] * 4, strides=[stride] * 2, group=s[1] if depthwise else 1)
    return make


def of_channels(kind, count, **attributes):
    return lambda g, x, s: g.add(kind, x, *(g.floats(s[1]) for _ in range(count)), **attributes)


def reduced(kind, *axes):
    return lambda g, x, s: g.add(kind, x, g.constant(axes))


SAME = tuple  # the result has the image's sizes
# Name: (what is added to a graph behind a value of some sizes, the sizes of the result).
FIRST = dict(
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
SECOND = {**{name: make for name, (make, _) in FIRST.items()}, 'mean': reduced('ReduceMean', 2, 3), 'mean_channels': reduced('ReduceMean', 1), 'max': reduced('ReduceMax', 3),
          'max_rows': reduced('ReduceMax', 2), 'sum': reduced('ReduceSum', 0, 1, 2, 3), 'norm': reduced('ReduceL2', 2, 3), 'lse': reduced('ReduceLogSumExp', 3),
          'argmax_channels': lambda g, x, s: g.add('ArgMax', x, axis=1), 'argmax': lambda g, x, s: g.add('ArgMax', x, axis=3),
          'topk': lambda g, x, s: g.add('TopK', x, g.constant([5]), axis=3, results=2), 'matmul': lambda g, x, s: g.add('MatMul', x, g.floats(s[3], 48, scale=.1)),
          'conv3': convolved(32, 3), 'conv3_s2': convolved(32, 3, 2)}


def save(path, first, second, shape, is_open):
    g = Graph()
    make, sizes = FIRST[first]
    result = SECOND[second](g, make(g, 'x', shape), sizes(shape))
    dims = [f'd{i}' if is_open and i != 1 else d for i, d in enumerate(shape)]
    constants = [numpy_helper.from_array(a, n) for n, a in g.constants.items()]
    graph = helper.make_graph(g.nodes, 'g', [helper.make_tensor_value_info('x', 1, dims)], [onnx.ValueInfoProto(name=result)], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 21)], ir_version=10), path)


def measure(args, folder, first, second):
    """The ratio, where both have an answer."""
    model, artifact = (os.path.join(folder, f'{first}-{second}.{end}') for end in ('onnx', 'so'))
    save(model, first, second, args.shape, args.open)
    done = subprocess.run([args.lathe, 'compile', model, '-o', artifact], capture_output=True, text=True)
    if done.returncode:
        print(f'{first:16} {second:16} {done.stderr.strip()[:150]}', flush=True)
        return None
    inputs = {'x': np.random.default_rng(1).standard_normal(args.shape).astype(np.float32)}
    try:
        peer = operators.Peer(model, inputs)
    except onnxruntime.capi.onnxruntime_pybind11_state.Fail as error:
        print(f'{first:16} {second:16} ONNX Runtime has no answer: {str(error)[:80]}', flush=True)
        return None
    ours = operators.Compiled(artifact, inputs)
    wrong = operators.differs(ours.results(), peer.results(), 1e-3)
    times, ratio = operators.in_turns(ours, peer, args.seconds)
    if wrong or ratio > args.limit:
        print(f'{first:16} {second:16} {times[0]:9.1f} us  ONNX Runtime {times[1]:9.1f} us  ratio {ratio:6.2f}  {wrong or ""}', flush=True)
    os.remove(artifact)
    return ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('lathe')
    parser.add_argument('names', nargs='*')
    parser.add_argument('--open', action='store_true')
    parser.add_argument('--shape', type=lambda text: tuple(map(int, text.split(','))), default=(2, 32, 40, 56))
    parser.add_argument('--limit', type=float, default=1.25)
    parser.add_argument('--seconds', type=float, default=.06)
    args = parser.parse_args()
    pairs = [(a, b) for a in FIRST for b in SECOND if not args.names or a in args.names or f'{a}:{b}' in args.names]
    with tempfile.TemporaryDirectory() as folder:
        ratios = [r for pair in pairs if (r := measure(args, folder, *pair))]
    if ratios:
        print(f'{len(ratios)} pairs, {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f} of ONNX Runtime in the mean')


if __name__ == '__main__':
    main()
