"""Kernels of open sizes: the way that the compiler's plan chooses for a shape against each way forced by a tuning file.

usage: forced_ways.py LATHE [sum|softmax|layernorm|product ...] [--machine avx512] [--numbers 17,20,22] [--columns 128,512,...] [--turns 32] [--processes 4] [--ways]
A model of one operator with every size open is compiled as it is and once for each way (#schedule.rows, .tiles; on an NVIDIA GPU, for which
PyTorch must be there, #schedule.threads, .products). Rows are of each of the COLUMNS, 2^N numbers in all; products are squares of 64 to 4096,
and such with one size of 16 or 64; their sizes are expected to be 64, 256 or 4096. For each shape all artifacts take turns in one process on
the same memory, on a CPU in one thread; equal code differs by some percent with the places of a process's pages, so several processes measure. `chosen/best` is the median of the ratios of a turn's time of the chosen way to the time of the way
that is fastest in the median. --ways prints the time of each. The last lines have what is above 1.05."""
import argparse
import concurrent.futures
import multiprocessing
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import helper

BOUND = 1.05
ROWS = [f'rows<unroll = {n}>' for n in (1, 2, 4, 8)] + [f'rows<persist = {n}>' for n in (*range(1, 9), 16)]
THREADS = [f'threads<row = {r}, persist = {p}>' for r, p in
           ((8, 4), (32, 0), (32, 1), (32, 4), (32, 8), (128, 0), (128, 4), (256, 0), (256, 4), (256, 8), (512, 0), (512, 16))]
WAYS = {
    ('rows', 'cpu'): ROWS, ('rows', 'gpu'): [*THREADS, 'threads<keep = 1>'],
    ('product', 'cpu'): ['tiles<height = 2>', 'tiles<height = 4>', 'tiles<narrow = 32>', 'tiles<direct = 0>', 'tiles<direct = 1>', 'tiles<panels = 1>',
                         'tiles<panels = 4>', 'tiles<rows = 0>', 'tiles<rows = 1>', 'tiles<rows = 2>', 'rows<>'],
    ('product', 'gpu'): [f'products<rows = {r}, columns = {c}>' for r, c in ((64, 64), (64, 128), (128, 64), (128, 128), (128, 192))] +
                        [f'products<rows = {r}, columns = {r}, parts = {p}>' for r in (64, 128) for p in (0, 1)],
}
NODES = {
    'sum': lambda: [helper.make_node('ReduceSum', ['x', 'a'], ['y'], keepdims=0)],
    'softmax': lambda: [helper.make_node('Softmax', ['x'], ['y'], axis=-1)],
    'layernorm': lambda: [helper.make_node('MeanVarianceNormalization', ['x'], ['y'], axes=[1])],
    'product': lambda: [helper.make_node('MatMul', ['x', 'z'], ['y'])],
}
PRODUCTS = [(n, n, n) for n in (64, 128, 256, 512, 1024, 2048, 4096)] + \
           [(16, 4096, 4096), (4096, 4096, 16), (4096, 16, 4096), (64, 4096, 4096), (4096, 4096, 64)]


def build(path, operator, element=onnx.TensorProto.FLOAT):
    product = operator == 'product'
    inputs = [helper.make_tensor_value_info('x', element, ['m', 'k'] if product else ['rows', 'columns'])]
    inputs += [helper.make_tensor_value_info('z', element, ['k', 'n'])] if product else []
    constants = [helper.make_tensor('a', onnx.TensorProto.INT64, [1], [1])] if operator == 'sum' else []
    graph = helper.make_graph(NODES[operator](), 'g', inputs, [onnx.ValueInfoProto(name='y')], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 18)], ir_version=10), path)


def shapes(operator, numbers, columns):
    """Shapes of the inputs."""
    if operator == 'product':
        return [((m, k), (k, n)) for m, k, n in PRODUCTS]
    return [((2 ** n // c, c),) for c in columns for n in numbers if 2 ** n >= c]


class Cpu:
    """Calls on numpy's memory, in processor time of the thread."""
    name, element = 'cpu', onnx.TensorProto.FLOAT

    def __init__(self, operator, artifacts, shapes):
        from operators import Compiled, like, spent
        rng = np.random.default_rng(1)
        inputs = {n: rng.standard_normal(s).astype(np.float32) for n, s in zip('xz', shapes)}
        self.ways = {way: Compiled(path, inputs) for way, path in artifacts.items()}
        memory = [like(r) for r in self.ways['chosen'].results()]
        for way in self.ways.values():
            way.into(memory)
        self.spent = lambda way, count: spent(self.ways[way], count)


class Gpu:
    """Calls on the device's memory, each of which waits for its results; products are of halves."""
    name, element = 'gpu', onnx.TensorProto.FLOAT16

    def __init__(self, operator, artifacts, shapes):
        import torch
        from gpu_operators import Compiled
        kind = torch.float16 if operator == 'product' else torch.float32
        inputs = [torch.randn(s, dtype=kind, device='cuda') for s in shapes]
        want = {'product': lambda x, z: x @ z, 'sum': lambda x: x.sum(1)}.get(operator, lambda x: x)(*inputs)
        self.ways = {way: Compiled(path, inputs, [want]) for way, path in artifacts.items()}
        for way in self.ways.values():
            way()

    def spent(self, way, count):
        run, start = self.ways[way], time.perf_counter()
        for _ in range(count):
            run()
        return (time.perf_counter() - start) / count


def compile_ways(lathe, folder, operator, machine, device):
    """Artifacts by way; the chosen one is called `chosen`."""
    model, out = os.path.join(folder, f'{operator}.onnx'), {'chosen': os.path.join(folder, f'{operator}.so')}
    build(model, operator, device.element if operator == 'product' else onnx.TensorProto.FLOAT)
    flags = ['--target', f'x86_64:{machine}' if device is Cpu else f'cuda:{machine}']
    if operator == 'product':
        flags += [f for size in 'mkn' for f in ('--dim', f'{size}=1..@64,256,4096')]
    subprocess.run([lathe, 'compile', model, '-o', out['chosen'], *flags], check=True)
    told = subprocess.run([lathe, 'inspect', out['chosen']], check=True, capture_output=True, text=True).stdout
    keys = re.findall(r'tuning key: (\w+)', told)
    for way in WAYS['product' if operator == 'product' else 'rows', device.name]:
        path = os.path.join(folder, f'{operator}.' + re.sub(r'\W+', '', way))
        with open(path + '.tuning', 'w') as tuning:
            tuning.writelines(f'{key} {machine} * #schedule.{way}\n' for key in sorted(keys))
        done = subprocess.run([lathe, 'compile', model, '-o', path + '.so', *flags, '--tuning', path + '.tuning'], capture_output=True, text=True)
        if done.returncode:
            print(f'{operator} {way}: {done.stderr.strip()[:200]}', file=sys.stderr)
        else:
            out[way] = path + '.so'
    return out


def turns_of(device, operator, artifacts, shapes, turns, first):
    """The seconds of a call by way, for each turn; the way number `first` is opened first."""
    names = list(artifacts)
    names = names[first % len(names):] + names[:first % len(names)]
    made = device(operator, {n: artifacts[n] for n in names}, shapes)
    count = max(1, int(1e-3 / max(made.spent('chosen', 2), 1e-6)))
    return [{way: made.spent(way, count) for way in names[turn % len(names):] + names[:turn % len(names)]} for turn in range(turns)]


def compare(device, operator, artifacts, shapes, turns, processes):
    """Median microseconds of each way, the best one, and the median ratio of the chosen to it."""
    spawned = multiprocessing.get_context('spawn')
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawned, max_tasks_per_child=1) as pool:
        told = [pool.submit(turns_of, device, operator, artifacts, shapes, -(-turns // processes), i * len(artifacts) // processes).result()
                for i in range(processes)]
    times = sum(told, [])
    medians = {way: statistics.median(t[way] for t in times) * 1e6 for way in artifacts}
    best = min((w for w in artifacts if w != 'chosen'), key=medians.get)
    return medians, best, statistics.median(t['chosen'] / t[best] for t in times)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('lathe')
    parser.add_argument('operators', nargs='*')
    parser.add_argument('--numbers', default='17,20,22')
    parser.add_argument('--columns', default=','.join(str(2 ** n) for n in range(7, 19)))
    parser.add_argument('--machine', default='avx512')
    parser.add_argument('--turns', type=int, default=32)
    parser.add_argument('--processes', type=int, default=4)
    parser.add_argument('--ways', action='store_true')
    a = parser.parse_args()
    device, slow = Gpu if a.machine.startswith('sm') else Cpu, []
    sizes = [list(map(int, v.split(','))) for v in (a.numbers, a.columns)]
    for operator in a.operators or ['sum', 'softmax']:
        with tempfile.TemporaryDirectory() as folder:
            artifacts = compile_ways(a.lathe, folder, operator, a.machine, device)
            for inputs in shapes(operator, *sizes):
                medians, best, ratio = compare(device, operator, artifacts, inputs, a.turns, a.processes)
                name = f'{operator} ' + 'x'.join(map(str, inputs[0] + inputs[-1][1:] * (len(inputs) > 1)))
                worst = max(medians, key=medians.get)
                print(f'{name:24s} chosen {medians["chosen"]:9.1f} us  best {medians[best]:9.1f} us ({best})  worst {medians[worst]:9.1f} us ({worst})  '
                      f'chosen/best {ratio:.3f}', flush=True)
                if a.ways:
                    print('  ', ', '.join(f'{way} {medians[way]:.1f}' for way in sorted(medians, key=medians.get)), flush=True)
                if ratio > BOUND:
                    slow.append(f'{name} {ratio:.3f}')
    print(f'above {BOUND}:', ', '.join(slow) or 'none')
    return 0


if __name__ == '__main__':
    sys.exit(main())
