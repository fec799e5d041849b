"""PyTorch functions of the kinds in Gpu/ on an NVIDIA GPU, beside PyTorch itself: every family, sizes fixed and open.

usage: gpu_operators.py LATHE [NAME|REGEX...] [--target cuda:sm90] [--jobs 12] [--seconds 0.15] [--table FILE]
Without names: all but whole models (`model_.*`) and random chains (`(open_)?chain_.*`). Artifacts are compiled ahead in JOBS processes. Then lathe and eager PyTorch (replayed as a graph where it lets itself be captured) run in this
process. `lathe` is the median of whole calls, of which `call` is what the call itself takes; `kernels` is the sum and the number of its kernels;
`floor` is the time of a copy of the inputs and outputs. Ratios are (lathe - call) / PyTorch: below 1 lathe is faster. The last lines have what
is wrong, what is above 1.10, and what is far from the floor without being much faster than PyTorch."""
import argparse
import concurrent.futures
import ctypes
import math
import multiprocessing
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, '..', '..', 'samples', '3-from-python')]
import torch  # noqa: E402
from Gpu import chains, images, models, moves, places, products, quantised, rows  # noqa: E402,F401
from Gpu.case import CASES, add, t  # noqa: E402
from model import DType, Model, Tensor  # noqa: E402

add('tiny', lambda x: x + 1, t(32, 32))
CODES = {torch.bfloat16: (4, 16), torch.float16: (2, 16), torch.float32: (2, 32), torch.float64: (2, 64), torch.bool: (6, 8), torch.uint8: (1, 8),
         torch.int8: (0, 8), torch.int32: (0, 32), torch.int64: (0, 64), torch.float8_e4m3fn: (10, 8), torch.float8_e5m2: (12, 8)}
Profile = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64)


class Options(ctypes.Structure):
    """LatheOptions of lathe.h."""
    _fields_ = [("size", ctypes.c_uint32), ("device", ctypes.c_int32 * 2), ("threads", ctypes.c_int32), ("shapes", ctypes.c_uint32),
                ("level", ctypes.c_uint32), ("profile", Profile), ("user", ctypes.c_void_p)]


class Graph(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        made = self.function(*inputs)
        return tuple(made) if isinstance(made, (tuple, list)) else made


def compile_case(lathe, folder, name, target):
    """What went wrong, or nothing, and the seconds that lathe took."""
    torch.set_num_threads(1)
    case = CASES[name]
    free = torch.export.Dim.AUTO
    dims = tuple({d: free for d in range(len(s.shape)) if (i, d) not in case.fixed} for i, s in enumerate(case.inputs))
    try:
        with torch.no_grad():
            program = torch.export.export(Graph(case.made()), tuple(s.empty() for s in case.inputs), strict=False,
                                          dynamic_shapes=(dims,) if case.open else None)
            torch.export.save(program, f'{folder}/{name}.pt2')
    except Exception as error:
        return f'is not exported: {str(error)[:200]}', 0
    start = time.monotonic()
    done = subprocess.run([lathe, 'compile', f'{folder}/{name}.pt2', '-o', f'{folder}/{name}.so', '--target', target], capture_output=True, text=True)
    return (f'is not compiled: {done.stderr.strip()[:400]}' if done.returncode else ''), time.monotonic() - start


def describe(tensor):
    shape = (ctypes.c_int64 * max(tensor.ndim, 1))(*tensor.shape)
    return Tensor(tensor.data_ptr(), 2, 0, tensor.ndim, DType(*CODES[tensor.dtype], 1), shape, None, 0)


class Held:
    """What a tensor of the library holds, for torch.as_tensor: bytes in memory of the device."""

    def __init__(self, tensor, count):
        self.__cuda_array_interface__ = {'shape': (count,), 'typestr': '|u1', 'data': (tensor.data, False), 'version': 3}


def held(tensor):
    """A copy of it."""
    shape = [tensor.shape[i] for i in range(tensor.ndim)]
    kind = {code: kind for kind, code in CODES.items()}[tensor.dtype.code, tensor.dtype.bits]
    count = math.prod(shape) * kind.itemsize
    return torch.as_tensor(Held(tensor, count), device='cuda').clone().view(kind).reshape(shape) if count else torch.empty(shape, dtype=kind, device='cuda')


class Compiled:
    """An artifact with inputs and room for outputs like `want` on the device; outputs whose size the data decides lie in the library's memory there."""

    def __init__(self, path, inputs, want, profile=None):
        options = Options(size=ctypes.sizeof(Options), device=(ctypes.c_int32 * 2)(2, 0))
        if profile is not None:
            self.callback = Profile(lambda user, step, kernel, start, end: profile.append((end - start) / 1e3))
            options.profile = self.callback
        self.model = Model(path, options)
        self.inputs = [describe(i) for i in inputs]
        self.made = [torch.empty_like(w, memory_format=torch.contiguous_format).fill_(77) for w in want]
        self.outputs = [describe(m) for m in self.made]
        point = lambda tensors: (ctypes.POINTER(Tensor) * len(tensors))(*map(ctypes.pointer, tensors))
        self.arguments = (self.model.context, point(self.inputs), ctypes.c_size_t(len(self.inputs)), point(self.outputs),
                          ctypes.c_size_t(len(self.outputs)))

    def __call__(self):
        for output in self.outputs if self.made is None else ():
            output.data = None
        self.model.check(self.model.library.lathe_run(*self.arguments))

    def results(self):
        try:
            self()
        except ValueError as error:
            if 'pass data = NULL' not in str(error):
                raise
            self.made = None
            self()
        return self.made or [held(o) for o in self.outputs]


def calls(run, seconds):
    """Median microseconds of whole calls."""
    for _ in range(3):
        run()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def eager(function, inputs, seconds):
    """Median microseconds on the device."""
    run = lambda: function(*inputs)
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    try:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            run()
        run = graph.replay
    except Exception:
        torch.cuda.synchronize()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop) * 1e3)
    return statistics.median(times)


def differs(ours, theirs, tolerance):
    if len(ours) != len(theirs):
        return f'{len(ours)} results, not {len(theirs)}'
    for a, b in zip(ours, theirs):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f'{a.dtype}{list(a.shape)}, not {b.dtype}{list(b.shape)}'
        x, y = (v.double().nan_to_num(0, 1e300, -1e300) for v in (a, b))
        if a.dtype.is_floating_point:
            bad = ((x - y).norm() / (y.norm() + 1e-30)).item()
            if not bad <= tolerance:
                return f'off by {bad:.3g}'
        elif (share := (a != b).double().mean().item()) > 1e-3:
            return f'{share:.4f} of the values differ'
    return ''


def measure(folder, name, seconds):
    """What is wrong, lathe's and PyTorch's time, that of the kernels, their number and the floor."""
    case = CASES[name]
    generator = torch.Generator('cuda').manual_seed(sum(map(ord, name)))
    inputs = [s.make('cuda', generator) for s in case.inputs]
    made = case.made()
    function = Graph(made).cuda() if isinstance(made, torch.nn.Module) else Graph(made)
    with torch.no_grad(), torch.device('cuda'):
        want = [w for w in torch.utils._pytree.tree_leaves(function(*inputs))]
        want = [w.contiguous() for w in want]
        got = Compiled(f'{folder}/{name}.so', inputs, want)
        wrong = differs(got.results(), want, case.tolerance)
        mine = calls(got, seconds)
        kernels = []
        profiled = Compiled(f'{folder}/{name}.so', inputs, want, kernels)
        profiled.results()
        kernels.clear()
        profiled()
        theirs = eager(function, inputs, seconds)
    moved = sum(v.numel() * v.element_size() for v in inputs + want)
    return wrong, mine, theirs, sum(kernels), len(kernels), moved / 4.3e6


def compiled(args, names, folder):
    context = multiprocessing.get_context('spawn')
    with concurrent.futures.ProcessPoolExecutor(args.jobs, context) as pool:
        jobs = {n: pool.submit(compile_case, args.lathe, folder, n, args.target) for n in names}
        return {n: job.result() for n, job in jobs.items()}


def is_far(result, call):
    """From the floor and from PyTorch too."""
    return result[1] - call > 1.5 * max(result[5], 4) and result[1] - call > 0.66 * result[2]


def row(name, result, took, call):
    wrong, mine, theirs, kernels, count, floor = result
    ratio = max(mine - call, 0.1) / theirs
    return ratio, f'{name:26} {ratio:5.2f} lathe {mine:8.1f} torch {theirs:8.1f} kernels {kernels:8.1f}/{count} floor {floor:7.1f} compile {took:.1f} {wrong}'


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('lathe')
    parser.add_argument('names', nargs='*')
    parser.add_argument('--target', default='cuda:sm90')
    parser.add_argument('--jobs', type=int, default=12)
    parser.add_argument('--seconds', type=float, default=0.15)
    parser.add_argument('--table')
    args = parser.parse_args()
    names = [n for n in CASES if n == 'tiny' or any(re.fullmatch(p, n) for p in args.names or ['(?!model_|(open_)?chain_).*'])]
    names.sort(key=lambda n: n != 'tiny')
    seen, call = [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        ready = compiled(args, names, folder)
        print(f'{len(names)} cases compiled in {time.monotonic() - start:.0f} s', flush=True)
        for name in names:
            wrong, took = ready[name]
            try:
                result = None if wrong else measure(folder, name, args.seconds)
            except Exception as error:
                wrong = f'fails: {str(error)[:300]}'
            if wrong:
                line, note = f'{name:26} {wrong}', 99
            else:
                call = call or result[1]
                ratio, line = row(name, result, took, call)
                note = 98 if result[0] else ratio if ratio > 1.1 or is_far(result, call) else 0
            if note:
                seen.append((note, line))
            if args.table:
                print(line, file=open(args.table, 'a'))
            torch.cuda.empty_cache()
    print('\n'.join(line for _, line in sorted(seen, reverse=True)))


if __name__ == '__main__':
    main()
