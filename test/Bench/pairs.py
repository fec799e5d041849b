"""Pairs of operators, each beside ONNX Runtime, one thread: where two kinds meet, what is fused decides.

usage: pairs.py LATHE images|tokens|signals|volumes [FIRST[:SECOND]...] [--open] [--shape 2,32,40,56] [--limit 1.25] [--seconds 0.06] [--options='--target x86_64:avx2']
A line for each pair that takes more than LIMIT times ONNX Runtime's time, or whose results differ by more than a thousandth of the largest; the last one has
the geometric mean. --open: every size but the channels or features. Whatever stands alone has its figure in operators.py. The tables are in Pairs/."""
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
from Pairs import images, signals, tokens, volumes  # noqa: E402
from Pairs.graph import Graph  # noqa: E402

TABLES = dict(images=images, tokens=tokens, signals=signals, volumes=volumes)


def save(path, table, first, second, shape, is_open):
    g = Graph()
    make, sizes = table.FIRST[first]
    result = table.SECOND[second](g, make(g, 'x', shape), sizes(shape))
    dims = [f'd{i}' if is_open and i not in table.FIXED else d for i, d in enumerate(shape)]
    constants = [numpy_helper.from_array(a, n) for n, a in g.constants.items()]
    graph = helper.make_graph(g.nodes, 'g', [helper.make_tensor_value_info('x', 1, dims)], [onnx.ValueInfoProto(name=result)], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 23)], ir_version=11), path)


def measure(args, folder, first, second):
    """The ratio, where both have an answer."""
    model, artifact = (os.path.join(folder, f'{first}-{second}.{end}') for end in ('onnx', 'so'))
    save(model, TABLES[args.table], first, second, args.shape, args.open)
    done = subprocess.run([args.lathe, 'compile', model, '-o', artifact, *args.options.split()], capture_output=True, text=True)
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
    parser.add_argument('table', choices=TABLES)
    parser.add_argument('names', nargs='*')
    parser.add_argument('--options', default='')
    parser.add_argument('--open', action='store_true')
    parser.add_argument('--shape', type=lambda text: tuple(map(int, text.split(','))))
    parser.add_argument('--limit', type=float, default=1.25)
    parser.add_argument('--seconds', type=float, default=.06)
    args = parser.parse_args()
    table = TABLES[args.table]
    args.shape = args.shape or table.SHAPE
    pairs = [(a, b) for a in table.FIRST for b in table.SECOND if not args.names or a in args.names or f'{a}:{b}' in args.names]
    with tempfile.TemporaryDirectory() as folder:
        ratios = [r for pair in pairs if (r := measure(args, folder, *pair))]
    if ratios:
        print(f'{len(ratios)} pairs, {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f} of ONNX Runtime in the mean')


if __name__ == '__main__':
    main()
