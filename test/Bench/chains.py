"""Random chains of a few operators on tensors as large as models have, fixed and with every size open, beside ONNX Runtime, one thread.

usage: chains.py LATHE [--first 0] [--count 100] [--nodes 4] [--seconds 0.03] [--keep DIR]
A line for each chain that takes more than 1.3 times ONNX Runtime's time, or open more than 1.4 times the fixed form's, and for each wrong result; the last lines
have the geometric means. Whatever stands alone has its figure in operators.py: here operators meet, and what is fused decides."""
import argparse
import os
import random
import shutil
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

LARGEST = 1 << 22
UNARY = 'Relu Sigmoid Tanh Exp Erf HardSwish Softplus Abs Sqrt Neg Gelu LeakyRelu'.split()
BINARY = 'Add Sub Mul Div Max Min'.split()
REDUCTIONS = 'ReduceSum ReduceMean ReduceMax ReduceL2 ReduceLogSumExp ReduceProd'.split()


class Chain:
    """A graph that grows; every value's numbers are known, so that an operator is added where it can stand and its results are of use."""

    def __init__(self, seed):
        self.draw, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.inputs, self.constants, self.nodes, self.values = {}, {}, [], {}
        for _ in range(self.draw.choice([1, 1, 2])):
            self.add_input()

    def name(self, letter):
        return f'{letter}{len(self.inputs) + len(self.constants) + sum(len(n.output) for n in self.nodes)}'

    def floats(self, *shape):
        return self.numbers.standard_normal(shape).astype(np.float32)

    def add_input(self):
        d = self.draw
        known = [v.shape for v in self.inputs.values()]
        shape = d.choice([[d.choice([1, 2, 5]), d.choice([3, 16, 24, 64, 100]), d.randint(20, 60), d.randint(20, 60)], [d.choice([1, 4]), d.randint(30, 200), d.choice([64, 96, 200, 384])],
                          [d.randint(50, 900), d.choice([16, 77, 256, 1000])]])
        if known and d.random() < .7:
            shape = [n if d.random() < .8 else 1 for n in known[0]]
            shape = shape[d.choice([0, 0, 0, 1]):]
        name = self.name('x')
        self.inputs[name] = self.values[name] = self.floats(*shape)

    def constant(self, value):
        name = self.name('c')
        self.constants[name] = np.asarray(value)
        return name

    def pick(self, suits=lambda v: True):
        found = [k for k, v in self.values.items() if v.dtype == np.float32 and v.ndim and suits(v)]
        return self.draw.choice(found[-3:] if self.draw.random() < .8 else found)

    def put(self, op, inputs, count=1, **attributes):
        base = sum(len(n.output) for n in self.nodes)
        node = helper.make_node(op, inputs, [f't{base + i}' for i in range(count)], name=f'n{len(self.nodes)}', **attributes)
        given = {i: self.values[i] for i in inputs if i in self.values}
        model = graph([node], given, {i: self.constants[i] for i in inputs if i in self.constants}, node.output)
        results = onnxruntime.InferenceSession(model.SerializeToString(), quiet(), providers=['CPUExecutionProvider']).run(None, given)
        for r in results:
            assert 0 < r.size <= LARGEST and np.isfinite(r).all() and np.abs(r.astype(float)).max() < 1e4
        self.nodes.append(node)
        self.values.update(zip(node.output, results))
        return node.output[0]

    def unary(self):
        x, op = self.pick(), self.draw.choice(UNARY)
        self.put(op, [self.put('Abs', [x]) if op == 'Sqrt' else x])

    def binary(self):
        x, op = self.pick(), self.draw.choice(BINARY)
        shape = self.values[x].shape
        fits = lambda v: all(a == b or 1 in (a, b) for a, b in zip(v.shape[::-1], shape[::-1]))
        if self.draw.random() < .5:
            y = self.pick(fits)
        else:
            y = self.constant(np.abs(self.floats(*[n if self.draw.random() < .6 else 1 for n in shape][self.draw.randint(0, len(shape)):])) + np.float32(.5))
        self.put(op, [x, y])

    def where(self):
        x = self.pick()
        self.put('Where', [self.put('Greater', [x, self.constant(np.float32(.1))]), x, self.constant(np.float32(self.draw.choice([0, -1.5])))])

    def conv(self, op='Conv'):
        x, d = self.pick(lambda v: v.ndim == 4), self.draw
        channels = self.values[x].shape[1]
        group = d.choice([1, 1, channels])
        width = channels if group > 1 else d.choice([8, 32, 50])
        kernel = d.choice([1, 3, 3, 5])
        shape = (channels, width // group) if op == 'ConvTranspose' else (width, channels // group)
        w = self.floats(*shape, kernel, kernel) / np.float32(kernel * (channels / group) ** .5)
        self.put(op, [x, self.constant(w)] + ([self.constant(self.floats(width))] if d.random() < .6 else []), group=group, strides=[d.choice([1, 1, 2])] * 2,
                 pads=[kernel // 2] * 4)

    def pool(self):
        k = self.draw.choice([2, 3])
        self.put(self.draw.choice(['MaxPool', 'AveragePool']), [self.pick(lambda v: v.ndim == 4)], kernel_shape=[k, k], strides=[self.draw.choice([1, 2])] * 2, pads=[k // 2] * 4)

    def norm(self):
        x = self.pick(lambda v: v.ndim > 1)
        last, channels = self.values[x].shape[-1], self.values[x].shape[1]
        if self.draw.random() < .6:
            return self.put('LayerNormalization', [x, self.constant(self.floats(last)), self.constant(self.floats(last))])
        if self.draw.random() < .5:
            return self.put('BatchNormalization', [x] + [self.constant(np.abs(self.floats(channels)) + np.float32(.5)) for _ in range(4)])
        self.put('InstanceNormalization', [x, self.constant(self.floats(channels)), self.constant(self.floats(channels))])

    def softmax(self):
        x = self.pick()
        self.put(self.draw.choice(['Softmax', 'LogSoftmax']), [x], axis=self.draw.choice([-1, -1, self.draw.randrange(self.values[x].ndim)]))

    def reduce(self):
        x, op = self.pick(), self.draw.choice(REDUCTIONS)
        rank = self.values[x].ndim
        axes = self.draw.choice([[rank - 1], [rank - 1], sorted(self.draw.sample(range(rank), self.draw.randint(1, rank)))])
        if op == 'ReduceProd':
            x = self.put('Tanh', [x])
        self.put(op, [x, self.constant(np.array(axes, np.int64))], keepdims=self.draw.choice([0, 1, 1]))

    def product(self):
        x = self.pick(lambda v: v.ndim > 1)
        shape = self.values[x].shape
        others = [k for k, v in self.values.items() if v.ndim > 1 and v.shape[-2] == shape[-1] and v.shape[:-2] in ((), shape[:-2])]
        if others and self.draw.random() < .5:
            return self.put('MatMul', [x, self.draw.choice(others)])
        if self.draw.random() < .3:
            order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
            return self.put('Div', [self.put('MatMul', [x, self.put('Transpose', [x], perm=order)]), self.constant(np.float32(shape[-1]))])
        self.put('MatMul', [x, self.constant(self.floats(shape[-1], self.draw.choice([1, 24, 64, 150])) / np.float32(shape[-1] ** .5))])

    def transpose(self):
        x = self.pick(lambda v: v.ndim > 1)
        order = list(range(self.values[x].ndim))
        self.draw.shuffle(order)
        self.put('Transpose', [x], perm=order)

    def reshape(self):
        """Merges two dimensions or splits one into heads, by constants that copy sizes, or sizes that are computed."""
        x = self.pick(lambda v: v.ndim > 1)
        shape, d = self.values[x].shape, self.draw
        at = d.randrange(len(shape) - 1)
        if d.random() < .4:
            if at + 2 < len(shape):
                sizes = self.put('Shape', [x])
                parts = [self.put('Slice', [sizes, self.constant(np.array([a])), self.constant(np.array([b]))]) for a, b in ((0, at), (at + 2, len(shape)))]
                return self.put('Reshape', [x, self.put('Concat', [parts[0], self.constant(np.array([-1])), parts[1]], axis=0)])
            return self.put('Reshape', [x, self.constant(np.array([0] * at + [-1]))])
        heads = d.choice([h for h in (2, 4, 8) if shape[-1] % h == 0])
        self.put('Reshape', [x, self.constant(np.array([0] * (len(shape) - 1) + [heads, shape[-1] // heads]))])

    def slice(self):
        x = self.pick()
        axis = self.draw.randrange(self.values[x].ndim)
        size = self.values[x].shape[axis]
        begin, step = self.draw.randint(0, size // 3), self.draw.choice([1, 1, 1, 2, -1])
        ends = ([size - 1], [-size - 1]) if step < 0 else ([begin], [self.draw.choice([1 << 40, -1])])
        self.put('Slice', [x, *(self.constant(np.array(v)) for v in (*ends, [axis], [step]))])

    def concat(self):
        x = self.pick()
        shape, axis = self.values[x].shape, self.draw.randrange(self.values[x].ndim)
        fits = [k for k, v in self.values.items() if v.dtype == np.float32 and v.ndim == len(shape) and all(a == axis or v.shape[a] == n for a, n in enumerate(shape))]
        self.put('Concat', [x] + self.draw.choices(fits, k=self.draw.randint(1, 2)), axis=axis)

    def pad(self):
        x, mode = self.pick(), self.draw.choice(['constant', 'constant', 'reflect', 'edge'])
        sides = np.array([self.draw.choice([0, 0, 1, 3]) if self.values[x].shape[i % self.values[x].ndim] > 4 else 0 for i in range(2 * self.values[x].ndim)])
        self.put('Pad', [x, self.constant(sides)], mode=mode)

    def gather(self):
        x = self.pick()
        axis = self.draw.randrange(self.values[x].ndim)
        size = self.values[x].shape[axis]
        self.put('Gather', [x, self.constant(self.numbers.integers(0, size, self.draw.choice([(), (3,), (size,), (20, 3)])))], axis=axis)

    def resize(self):
        scales = np.array([1, 1, *self.draw.choice([(2, 2), (.5, .5), (1.5, 2)])], np.float32)
        self.put('Resize', [self.pick(lambda v: v.ndim == 4), '', self.constant(scales)], mode=self.draw.choice(['nearest', 'linear']))

    def split(self):
        x = self.pick(lambda v: v.shape[-1] % 2 == 0)
        self.put('Split', [x], 2, axis=-1, num_outputs=2)

    def scan(self):
        x = self.pick()
        self.put('CumSum', [x, self.constant(np.int64(self.draw.randrange(self.values[x].ndim)))], reverse=self.draw.choice([0, 0, 1]))

    def topk(self):
        x = self.pick()
        axis = self.draw.choice([-1, -1, self.draw.randrange(self.values[x].ndim)])
        self.put('TopK', [x, self.constant(np.array([min(5, self.values[x].shape[axis])]))], 2, axis=axis)

    def expand(self):
        x = self.pick(lambda v: v.size < 1 << 18)
        y = self.put('Unsqueeze', [x, self.constant(np.array([self.draw.randrange(self.values[x].ndim)]))])
        shape = self.values[y].shape
        self.put('Expand', [y, self.constant(np.array([1 if n > 1 else 4 for n in shape]))])

    def pooled(self):
        x = self.pick(lambda v: v.ndim == 4)
        self.put('Mul', [x, self.put('Sigmoid', [self.put('GlobalAveragePool', [x])])])

    STEPS = [unary] * 4 + [binary] * 6 + [conv] * 3 + [pool, norm, norm, softmax, reduce, reduce, product, product, transpose, transpose, reshape, reshape, slice, concat, pad, gather, resize, split,
                                                      scan, topk, expand, pooled, where, lambda self: self.conv('ConvTranspose')]

    def grow(self, nodes):
        for _ in range(8 * nodes):
            if len(self.nodes) >= nodes:
                return
            kept = len(self.nodes), dict(self.values)
            try:
                self.draw.choice(self.STEPS)(self)
            except Exception:  # it cannot stand there
                del self.nodes[kept[0]:]
                self.values = kept[1]

    def model(self, is_open):
        read = {i for n in self.nodes for i in n.input}
        results = [o for n in self.nodes for o in n.output if o not in read]
        inputs = {k: v for k, v in self.inputs.items() if k in read}
        return graph(self.nodes, inputs, {k: v for k, v in self.constants.items() if k in read}, results, is_open), inputs


def quiet():
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    return options


def graph(nodes, inputs, constants, outputs, is_open=False):
    # A dimension of 1 is meant to be spread over others: that is what the model says by it.
    size = lambda name, value: [f'{name}_{i}' if is_open and n > 1 else n for i, n in enumerate(value.shape)]
    taken = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), size(n, v)) for n, v in inputs.items()]
    held = [numpy_helper.from_array(v, n) for n, v in constants.items()]
    made = helper.make_graph(nodes, 'g', taken, [onnx.ValueInfoProto(name=o) for o in outputs], held)
    return helper.make_model(made, opset_imports=[helper.make_opsetid('', 20)], ir_version=10)


def measure(lathe, folder, seed, nodes, seconds):
    """The operators, what is wrong, and the microseconds of ONNX Runtime, of the fixed and of the open form."""
    chain = Chain(seed)
    chain.grow(nodes)
    ops = ' '.join(n.op_type for n in chain.nodes)
    forms = []
    for is_open in (False, True):
        model, inputs = chain.model(is_open)
        path = os.path.join(folder, f'{seed}{"_open" if is_open else ""}.onnx')
        onnx.save(model, path)
        done = subprocess.run([lathe, 'compile', path, '-o', path + '.so'], capture_output=True, text=True)
        if done.returncode:
            return ops, f'exit {done.returncode}: {done.stderr.strip()[:150]}', []
        forms.append(operators.Compiled(path + '.so', inputs))
    peer = operators.Peer(os.path.join(folder, f'{seed}.onnx'), inputs)
    wrong = ''
    for form, said in zip(forms, ('fixed', 'open')):
        try:
            bad = operators.differs(form.results(), peer.results(), 5e-3)
        except ValueError as refused:
            return ops, f'{said}: {refused}', []
        wrong += f' {said}: {bad}' if bad else ''
    times = [[] for _ in range(3)]
    count = max(1, int(seconds / 3 / max(operators.spent(peer, 2), 1e-6)))
    for _ in range(5):
        for kept, run in zip(times, (peer, *forms)):
            kept.append(operators.spent(run, count) * 1e6)
    return ops, wrong, [min(t) for t in times]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('lathe')
    parser.add_argument('--first', type=int, default=0)
    parser.add_argument('--count', type=int, default=100)
    parser.add_argument('--nodes', type=int, default=4)
    parser.add_argument('--seconds', type=float, default=.03)
    parser.add_argument('--keep', help='a folder for the models that a line is printed for')
    a = parser.parse_args()
    beside, opened, faults = [], [], 0
    for seed in range(a.first, a.first + a.count):
        with tempfile.TemporaryDirectory() as folder:
            ops, wrong, times = measure(a.lathe, folder, seed, a.nodes, a.seconds)
            faults += bool(wrong)
            ratios = (times[1] / times[0], times[2] / times[1]) if times else (0, 0)
            if times:
                beside.append(ratios[0])
                opened.append(ratios[1])
            if wrong or ratios[0] > 1.3 or ratios[1] > 1.4:
                shown = f'{times[1]:8.1f} us  of ONNX Runtime {ratios[0]:6.2f}  open of fixed {ratios[1]:6.2f}' if times else ''
                print(f'{seed:5d} {shown}  {ops}  {wrong}', flush=True)
                if a.keep:
                    shutil.copytree(folder, a.keep, dirs_exist_ok=True)
    print(f'of ONNX Runtime {operators.mean(beside):.3f}, open of fixed {operators.mean(opened):.3f}, {len(beside)} chains, {faults} faults')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
