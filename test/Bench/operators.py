"""Models of one operator against ONNX Runtime: every family, at sizes, axes, types and attributes of Operators/.

usage: operators.py LATHE [NAME|FAMILY...] [--seconds 0.4] [--threads 1] [--table FILE]
Both run in this process and take turns; times of one thread are its processor time, so that other processes disturb less, and a ratio is the median of those of
the turns. With several threads times are the wall's, of each alone. Below 1 lathe is faster. The last lines have what is above 1.10, and the geometric means."""
import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, '..', '..', 'samples', '3-from-python')]
import edges  # noqa: E402
from Operators import bytes, control, functions, images, moves, opened, places, products, rows, runtimes, skewed, tables, together, turned  # noqa: E402,F401
from Operators.case import CASES  # noqa: E402
from model import KINDS, Model, Tensor, describe  # noqa: E402

KIND = {code: kind for kind, code in KINDS.items()}


class Options(ctypes.Structure):
    """LatheOptions of lathe.h."""
    _fields_ = [("size", ctypes.c_uint32), ("device", ctypes.c_int32 * 2), ("threads", ctypes.c_int32), ("shapes", ctypes.c_uint32),
                ("level", ctypes.c_uint32), ("profile", ctypes.c_void_p), ("user", ctypes.c_void_p)]


def build(path, case):
    """Writes the model of a case."""
    dims = lambda name, a: [f'{name}{i}' for i in range(a.ndim)] if case.open else a.shape
    taken = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), dims(n, a)) for n, a in case.inputs.items()]
    given = [onnx.ValueInfoProto(name=n) for n in case.nodes[-1].output]
    constants = [numpy_helper.from_array(a, n) for n, a in case.constants.items()]
    graph = helper.make_graph(case.nodes, 'g', taken, given, constants)
    sets = {'': case.opset, 'com.microsoft': 1, 'ai.onnx.ml': 3}
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid(*s) for s in sets.items()], ir_version=10), path)


def held(tensor):
    """A copy of what a tensor of the library holds."""
    shape = [tensor.shape[i] for i in range(tensor.ndim)]
    kind = np.dtype(f'{KIND[tensor.dtype.code]}{tensor.dtype.bits // 8}')
    size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    return np.frombuffer(ctypes.string_at(tensor.data, size) if size else b'', kind).reshape(shape)


def like(array):
    """Memory for as much, from a multiple of 64 bytes on."""
    memory = np.empty(array.nbytes + 64, np.uint8)
    return memory[-memory.ctypes.data % 64:][:array.nbytes].view(array.dtype).reshape(array.shape)


class Compiled:
    """An artifact with its inputs; its outputs are in the library's memory, so that a run allocates nothing, or where `into` says."""
    held_outside = False

    def __init__(self, path, inputs, threads=1):
        options = Options(size=ctypes.sizeof(Options), threads=threads)
        self.model = Model(path, options)
        signature = self.model.signature
        self.arrays = [edges.placed(inputs[signature.inputs[i].name.decode()]) for i in range(signature.num_inputs)]
        self.inputs = [describe(a) for a in self.arrays]
        self.outputs = [Tensor() for _ in range(signature.num_outputs)]
        self.set_arguments()

    def set_arguments(self):
        point = lambda tensors: (ctypes.POINTER(Tensor) * len(tensors))(*map(ctypes.pointer, tensors))
        self.arguments = (self.model.context, point(self.inputs), ctypes.c_size_t(len(self.inputs)), point(self.outputs),
                          ctypes.c_size_t(len(self.outputs)))

    def into(self, arrays):
        """Writes into these from here on, which begin at lines of a cache: several artifacts are compared on the same memory."""
        self.held_outside, self.written = True, arrays
        self.outputs = [describe(a) for a in arrays]
        self.set_arguments()

    def __call__(self):
        for output in () if self.held_outside else self.outputs:
            output.data = None
        self.model.check(self.model.library.lathe_run(*self.arguments))

    def results(self):
        self()
        return [held(t) for t in self.outputs]


class Peer:
    def __init__(self, path, inputs, threads=1):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])
        self.binding = self.session.io_binding()
        for name, array in inputs.items():
            self.binding.bind_cpu_input(name, array)
        for output in self.session.get_outputs():
            self.binding.bind_output(output.name, 'cpu')
        self.results = lambda: self.session.run(None, inputs)

    def __call__(self):
        self.session.run_with_iobinding(self.binding)


def spent(run, count, clock=time.thread_time):
    start = clock()
    for _ in range(count):
        run()
    return (clock() - start) / count


def alone(make, seconds):
    """Microseconds of the wall, by all threads of what `make` gives, beside nothing else of this process: idle threads of the other would look out for work."""
    run = make()
    count = max(1, int(2e-3 / max(spent(run, 3, time.perf_counter), 1e-6)))
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end or len(times) < 5:
        times.append(spent(run, count, time.perf_counter) * 1e6)
    return statistics.median(times)


def in_turns(ours, peer, seconds):
    """Microseconds of the processor, of both, and the median of the turns' ratios."""
    count = max(1, int(2e-3 / max(spent(ours, 2), 1e-6)))
    spent(peer, count)
    turns, end = [], time.monotonic() + seconds
    while time.monotonic() < end or len(turns) < 7:
        turns.append((spent(ours, count), spent(peer, count)))
    return [statistics.median(t[i] for t in turns) * 1e6 for i in (0, 1)], statistics.median(a / b for a, b in turns)


def differs(ours, theirs, tolerance):
    """What is wrong with the results, or nothing. A tolerance of one step and more is one of whole numbers: it is no share of the result."""
    for a, b in zip(ours, theirs):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f'{a.dtype}{list(a.shape)}, not {b.dtype}{list(b.shape)}'
        if not np.allclose(a.astype(np.float64), b.astype(np.float64), tolerance if tolerance < 1 else 0, tolerance, equal_nan=True):
            return f'off by {np.nanmax(np.abs(a.astype(np.float64) - b.astype(np.float64))):.3g}'
    return ''


def measure(lathe, folder, name, seconds, threads):
    case = CASES[name]
    inputs = {n: np.asarray(a, order='C') for n, a in case.inputs.items()}
    path = os.path.join(folder, name + '.onnx')
    build(path, case)
    try:
        peer = Peer(path, inputs)
    except Exception as error:
        return f'ONNX Runtime has no answer: {str(error)[:100]}', None, None
    done = subprocess.run([lathe, 'compile', path, '-o', path + '.so'], capture_output=True, text=True)
    if done.returncode:
        return f'is not compiled: {done.stderr.strip()[:150]}', None, None
    ours = Compiled(path + '.so', inputs)
    wrong = differs(ours.results(), peer.results(), case.tolerance)
    wrong = wrong and f'results differ: {wrong}'
    if threads == 1:
        times, ratio = in_turns(ours, peer, seconds)
        return wrong, ratio, times
    del ours, peer
    rounds = [(alone(lambda: Compiled(path + '.so', inputs, threads), seconds / 4), alone(lambda: Peer(path, inputs, threads), seconds / 4)) for _ in range(2)]
    times = [min(r[i] for r in rounds) for i in (0, 1)]
    return wrong, times[0] / times[1], times


def mean(ratios):
    return float(np.exp(np.mean(np.log(ratios))))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('lathe')
    parser.add_argument('names', nargs='*')
    parser.add_argument('--seconds', type=float, default=0.4)
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--table', help='a file for the ratios as a table in Markdown')
    a = parser.parse_args()
    chosen = [n for n, c in CASES.items() if not a.names or n in a.names or c.family in a.names]
    ratios, faults = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            fault, ratio, times = measure(a.lathe, folder, name, a.seconds, a.threads)
            if fault:
                faults[name] = fault
            if ratio:
                ratios[name] = ratio
            shown = f'{times[0]:10.1f} us  ONNX Runtime {times[1]:10.1f} us  ratio {ratio:6.2f}' if ratio else ''
            print(f'{CASES[name].family:12s} {name:24s} {shown} {fault}', flush=True)
    slow = sorted((n for n in ratios if ratios[n] > 1.10), key=lambda n: -ratios[n])
    print('above 1.10:', ', '.join(f'{n} {ratios[n]:.2f}' for n in slow) or 'none')
    families = {f: [r for n, r in ratios.items() if CASES[n].family == f] for f in dict.fromkeys(CASES[n].family for n in ratios)}
    print('geometric means:', ', '.join(f'{f} {mean(r):.2f}' for f, r in families.items()), f'; all {len(ratios)}: {mean(list(ratios.values())):.3f}')
    if a.table:
        write_table(a.table, families, ratios)
    return 1 if faults else 0


def write_table(path, families, ratios):
    with open(path, 'w') as out:
        for family, of in families.items():
            cells = ', '.join(f'{n} {r:.2f}' for n, r in ratios.items() if CASES[n].family == family)
            out.write(f'| {family} | {mean(of):.2f} | {cells} |\n')


if __name__ == '__main__':
    sys.exit(main())
