"""How the time of scans, sorts, selections and scatters grows from size to double size, one thread.

usage: growth.py LATHE [NAME...] [--from 12] [--to 24] [--seconds 0.3] [--peer]
A line for each size 2^n: nanoseconds an element, the time's ratio to that of half the size, the working memory as a multiple of the inputs' and
outputs' bytes. With --peer ONNX Runtime's two numbers behind them. Times are the thread's processor time, the least of several turns.
The last line has what more than 2.3 times as long takes. Caches end between sizes: `copy`, `read_random` and `add_random` are numpy, which does
nothing but copy, and read and update random places; they show what of the growth is the machine's."""
import argparse
import ctypes
import os
import sys
import tempfile
import time

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here]
import operators  # noqa: E402
from Operators.case import Case, node, whole  # noqa: E402

rng = np.random.default_rng(11)
CLASSES = {}


def kind(make):
    CLASSES[make.__name__] = make


def model(nodes, inputs, constants=None, opset=18):
    nodes = nodes if isinstance(nodes, list) else [nodes]
    return Case('growth', nodes, inputs, {k: np.asarray(v) for k, v in (constants or {}).items()}, opset, True, 1e-3)


def floats(n):
    return rng.standard_normal(n).astype(np.float32)


def places(n):
    return rng.integers(0, n, n)


@kind
def cumsum(n):
    return model(node('CumSum', 'x,a'), dict(x=floats(n)), dict(a=np.int64(0)))


@kind
def cumsum_first(n):
    return model(node('CumSum', 'x,a', reverse=1), dict(x=floats(n).reshape(-1, 32)), dict(a=np.int64(0)))


@kind
def sort(n):
    return model([node('Shape', 'x', 'n'), node('TopK', 'x,n', 'v,y')], dict(x=floats(n)))


@kind
def argsort_i64(n):
    return model([node('Shape', 'x', 'n'), node('TopK', 'x,n', '_,y', largest=0)], dict(x=rng.integers(-2**62, 2**62, n)))


def selection(n, divisor, plus, *behind, **attributes):
    """The first n / divisor + plus."""
    nodes = [node('Shape', 'x', 'n'), node('Div', 'n,d', 'part'), node('Add', 'part,p', 'k'), node('TopK', 'x,k', 'v,i', **attributes)]
    return model([*nodes, *behind], dict(x=floats(n)), dict(d=whole(divisor), p=whole(plus), l=np.int64(-1)))


@kind
def topk_50(n):
    return selection(n, 1 << 40, 50)


@kind
def topk_4096th(n):
    return selection(n, 4096, 1)


@kind
def topk_64th(n):
    return selection(n, 64, 0)


@kind
def topk_eighth(n):
    return selection(n, 8, 0)


@kind
def median(n):
    return selection(n, 2, 1, node('Gather', 'v,l', axis=0), largest=0)


def scatter(n, reduction):
    return model(node('ScatterElements', 'x,i,u', axis=0, reduction=reduction), dict(x=floats(n), i=places(n), u=floats(n)))


@kind
def scatter_none(n):
    return scatter(n, 'none')


@kind
def scatter_add(n):
    return scatter(n, 'add')


@kind
def scatter_max(n):
    return scatter(n, 'max')


def scatter_nd(data, *indices):
    """`indices`: of each dimension that they have, apart, since their number must be known."""
    names = [f'i{d}' for d in range(len(indices))]
    nodes = [node('Unsqueeze', f'{name},one', name + 'c') for name in names]
    nodes += [node('Concat', ','.join(name + 'c' for name in names), 'i', axis=1), node('ScatterND', 'x,i,u', reduction='add')]
    updates = floats(len(indices[0]) * data.shape[-1]).reshape(-1, data.shape[-1]) if len(indices) == 1 else floats(len(indices[0]))
    return model(nodes, dict(zip(names, indices), x=data, u=updates), dict(one=whole(1)))


@kind
def scatter_nd_add(n):
    return scatter_nd(floats(n).reshape(-1, 256), rng.integers(0, n // 256, n), rng.integers(0, 256, n))


@kind
def scatter_rows(n):
    return scatter_nd(floats(n).reshape(-1, 8), rng.integers(0, n // 8, n // 8))


@kind
def unique(n):
    return model(node('Unique', 'x'), dict(x=rng.integers(0, n, n)))


@kind
def nonzero(n):
    return model(node('NonZero', 'x'), dict(x=rng.random(n) < 0.5))


@kind
def compress(n):
    return model(node('Compress', 'x,c', axis=0), dict(x=floats(n), c=rng.random(n) < 0.3))


def copy(n):
    data, to = floats(n), np.empty(n, np.float32)
    return lambda: np.copyto(to, data)


def random_places(update):
    """Parts whose indices stay in a cache."""
    def make(n):
        data, at = floats(n), places(n)

        def run():
            for part in range(0, n, 1 << 14):
                update(data, at[part:part + (1 << 14)])
        return run
    return make


MACHINE = {
    'copy': copy,
    'read_random': random_places(lambda data, at: data.take(at)),
    'add_random': random_places(lambda data, at: np.add.at(data, at, np.float32(1))),
}


def least(run, seconds):
    """Seconds of a call, the least of samples of some milliseconds: a thread's clock may tick by that."""
    def sample(count):
        start = time.thread_time()
        for _ in range(count):
            run()
        return time.thread_time() - start
    count = 1
    while sample(count) < 2e-3:
        count *= 2
    taken, end = [], time.monotonic() + seconds
    while time.monotonic() < end or len(taken) < 3:
        taken.append(sample(count) / count)
    return min(taken)


def workspace(compiled):
    size = ctypes.c_size_t()
    context, inputs, count = compiled.arguments[:3]
    compiled.model.check(compiled.model.library.lathe_workspace_size(context, inputs, count, ctypes.byref(size)))
    return size.value / sum(a.nbytes for a in compiled.arrays + compiled.results())


def print_row(name, power, times, before, memory):
    shown = f'{name:16s} 2^{power:<3d}'
    for i, (t, label) in enumerate(zip(times, ('', 'ONNX Runtime '))):
        growth = f'x{t / before[i]:5.2f}' if before else ' ' * 6
        shown += f' {label}{t * 1e9 / 2 ** power:8.3f} ns {growth}'
    print(shown + (f'  memory {memory:.2f}' if memory is not None else ''), flush=True)


def measure(lathe, folder, name, powers, seconds, peer):
    """The growths of more than 2.3."""
    path, before, slow = os.path.join(folder, name + '.onnx'), None, []
    for power in powers:
        memory = None
        if name in MACHINE:
            runs = [MACHINE[name](1 << power)]
        else:
            case = CLASSES[name](1 << power)
            inputs = {n: np.asarray(a, order='C') for n, a in case.inputs.items()}
            if not os.path.exists(path):
                operators.build(path, case)
                operators.subprocess.run([lathe, 'compile', path, '-o', path + '.so'], check=True)
            runs = [operators.Compiled(path + '.so', inputs)]
            memory = workspace(runs[0])
            if peer:
                runs.append(operators.Peer(path, inputs))
        times = [least(r, seconds) for r in runs]
        print_row(name, power, times, before, memory)
        if before and times[0] > 2.3 * before[0]:
            slow.append(f'{name} 2^{power} {times[0] / before[0]:.2f}')
        before = times
    return slow


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('lathe')
    parser.add_argument('names', nargs='*')
    parser.add_argument('--from', dest='first', type=int, default=12)
    parser.add_argument('--to', type=int, default=24)
    parser.add_argument('--seconds', type=float, default=0.3)
    parser.add_argument('--peer', action='store_true')
    a = parser.parse_args()
    slow = []
    with tempfile.TemporaryDirectory() as folder:
        for name in a.names or [*CLASSES, *MACHINE]:
            slow += measure(a.lathe, folder, name, range(a.first, a.to + 1), a.seconds, a.peer)
    print('above 2.3:', ', '.join(slow) or 'none')


if __name__ == '__main__':
    main()
