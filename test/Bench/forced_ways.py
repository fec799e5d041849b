"""Rows of open length on a CPU: the way that the compiler's plan chooses for a shape against each way forced by a tuning file, one thread.

usage: forced_ways.py LATHE [sum|softmax|layernorm ...] [--numbers 17,20,22] [--columns 128,512,...] [--machine avx512] [--turns 31]
A model of one operator over the last axis, both sizes open, is compiled as it is and once for each way (`#schedule.rows<...>`); for each shape
of 2^N numbers all artifacts take turns in this process on the same memory. `chosen/best` is the median of the ratios of a turn's time of the
chosen way to the time of the way that is fastest in the median. The last lines have what is above 1.05."""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper

from operators import Compiled, like, spent

BOUND = 1.05
WAYS = ['unroll = 1', 'unroll = 2', 'unroll = 4', 'unroll = 8', 'persist = 2', 'persist = 4', 'persist = 8', 'persist = 16']
OPERATORS = {
    'sum': lambda: [helper.make_node('ReduceSum', ['x', 'a'], ['y'], keepdims=0)],
    'softmax': lambda: [helper.make_node('Softmax', ['x'], ['y'], axis=-1)],
    'layernorm': lambda: [helper.make_node('MeanVarianceNormalization', ['x'], ['y'], axes=[1])],
}


def build(path, operator):
    x = helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, ['rows', 'columns'])
    axis = helper.make_tensor('a', onnx.TensorProto.INT64, [1], [1])
    graph = helper.make_graph(OPERATORS[operator](), 'g', [x], [onnx.ValueInfoProto(name='y')], [axis] if operator == 'sum' else [])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 18)], ir_version=10), path)


def compile_ways(lathe, folder, operator, machine):
    """Artifacts by way; the chosen one is called `chosen`."""
    model, out = os.path.join(folder, 'model.onnx'), {'chosen': os.path.join(folder, 'chosen.so')}
    build(model, operator)
    target = ['--target', f'x86_64:{machine}']
    subprocess.run([lathe, 'compile', model, '-o', out['chosen'], *target], check=True)
    told = subprocess.run([lathe, 'inspect', out['chosen']], check=True, capture_output=True, text=True).stdout
    keys = re.findall(r'tuning key: (\w+)', told)
    for way in WAYS:
        path = os.path.join(folder, re.sub(r'\W+', '', way))
        with open(path + '.tuning', 'w') as tuning:
            tuning.writelines(f'{key} {machine} * #schedule.rows<{way}>\n' for key in sorted(keys))
        done = subprocess.run([lathe, 'compile', model, '-o', path + '.so', *target, '--tuning', path + '.tuning'], capture_output=True, text=True)
        if done.returncode:
            print(f'{operator} {way}: {done.stderr.strip()[:200]}', file=sys.stderr)
        else:
            out[way] = path + '.so'
    return out


def compare(artifacts, shape, turns):
    """Median microseconds of each way, and the median ratio of the chosen to the best one."""
    inputs = {'x': np.random.default_rng(1).standard_normal(shape).astype(np.float32)}
    ways = {way: Compiled(path, inputs) for way, path in artifacts.items()}
    memory = [like(r) for r in ways['chosen'].results()]
    for way in ways.values():
        way.into(memory)
    count = max(1, int(1e-3 / max(spent(ways['chosen'], 2), 1e-6)))
    times, names = [], list(ways)
    for turn in range(turns):
        times.append({way: spent(ways[way], count) for way in names[turn % len(names):] + names[:turn % len(names)]})
    medians = {way: statistics.median(t[way] for t in times) * 1e6 for way in names}
    best = min((w for w in names if w != 'chosen'), key=medians.get)
    return medians, best, statistics.median(t['chosen'] / t[best] for t in times)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('lathe')
    parser.add_argument('operators', nargs='*')
    parser.add_argument('--numbers', default='17,20,22')
    parser.add_argument('--columns', default=','.join(str(2 ** n) for n in range(7, 19)))
    parser.add_argument('--machine', default='avx512')
    parser.add_argument('--turns', type=int, default=31)
    a = parser.parse_args()
    slow = []
    for operator in a.operators or ['sum', 'softmax']:
        with tempfile.TemporaryDirectory() as folder:
            artifacts = compile_ways(a.lathe, folder, operator, a.machine)
            for columns in map(int, a.columns.split(',')):
                for numbers in map(int, a.numbers.split(',')):
                    rows = 2 ** numbers // columns
                    if not rows:
                        continue
                    medians, best, ratio = compare(artifacts, (rows, columns), a.turns)
                    name = f'{operator} {rows}x{columns}'
                    worst = max(medians, key=medians.get)
                    print(f'{name:24s} chosen {medians["chosen"]:9.1f} us  best {medians[best]:9.1f} us ({best})  worst {medians[worst]:9.1f} us ({worst})  '
                          f'chosen/best {ratio:.3f}', flush=True)
                    if ratio > BOUND:
                        slow.append(f'{name} {ratio:.3f}')
    print(f'above {BOUND}:', ', '.join(slow) or 'none')
    return 0


if __name__ == '__main__':
    sys.exit(main())
