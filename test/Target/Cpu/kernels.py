"""Compiles kernel.generic text with lathe-kernel, links it and calls it: for comparing with numpy."""
import ctypes, os, subprocess, tempfile
import numpy as np

DTYPES = {'f32': np.float32, 'f64': np.float64, 'f16': np.float16, 'i64': np.int64, 'i32': np.int32, 'i16': np.int16,
          'i8': np.int8, 'i1': np.bool_, 'bf16': np.uint16}
# What a run tells a kernel of its machine, behind the sizes: threads, and bytes of the second-level cache.
FACTS = [1, 1 << 20]
_cache = {}


def variants():
    flags = open('/proc/cpuinfo').read()
    found = ['baseline']
    if ' avx2 ' in flags and ' fma ' in flags and ' f16c ' in flags:
        found.append('avx2')
    if all(f' {f} ' in flags for f in ('avx512f', 'avx512bw', 'avx512dq', 'avx512vl')):
        found.append('avx512')
    return found


def byte_variants():
    """The same, and those with dot products of bytes."""
    flags = open('/proc/cpuinfo').read()
    extra = {'avx2': ('avx_vnni', 'avx2vnni'), 'avx512': ('avx512_vnni', 'avx512vnni')}
    return variants() + [name for of, (flag, name) in extra.items() if of in variants() and f' {flag} ' in flags]


def module(text_of_kernel, ins, outs, attributes=''):
    """A function around one kernel: ins and outs are element types."""
    args = ', '.join(f'%a{i}: tensor<?x{t}>' for i, t in enumerate(ins))
    operands = ', '.join(f'%a{i}' for i in range(len(ins)))
    types = ', '.join(f'tensor<?x{t}>' for t in ins)
    results = ', '.join(f'tensor<?x{t}>' for t in outs)
    names = ', '.join(f'%r{i}' for i in range(len(outs)))
    given = f'ins({operands} : {types}) ' if ins else ''
    head, body = text_of_kernel.split('{', 1)
    return (f'func.func @f({args}) {{\n{names} = kernel.generic {head} {given}outs({results}) {attributes}{{\n^bb0(' +
            ', '.join([f'%in{i}: !kernel.ref<{t}>' for i, t in enumerate(ins)] +
                      [f'%out{i}: !kernel.ref<{t}>' for i, t in enumerate(outs)]) + f'):\n{body}\nreturn\n}}\n')


class Kernel:
    """text: 'loop @name axes(n = "N") { body }' over %in0.., %out0..; sizes: names of its size symbols, sorted."""

    def __init__(self, text, ins, outs, variant, attributes=''):
        key = (text, tuple(ins), tuple(outs), variant, attributes)
        if key not in _cache:
            _cache[key] = self._build(module(text, ins, outs, attributes), variant)
        self.fn, self.planfn = _cache[key]

    @staticmethod
    def _build(source, variant):
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, 'k')
            r = subprocess.run(['lathe-kernel', '-', '-o', path, f'--variant={variant}'], input=source, text=True,
                               capture_output=True)
            if r.returncode:
                raise SystemExit(f'{source}\n{r.stderr}')
            _, fn, plan = r.stdout.split()[:3]  # variants that come on top of this one follow
            stub = os.path.join(d, 'export.ld')
            # The kernels are hidden: two exported jumps reach them.
            with open(stub + '.s', 'w') as f:
                for name, to in (('fn', fn), ('plan', plan)):
                    f.write(f'.text\n.globl {name}\n{name}: jmp {to}\n')
            subprocess.run(['clang-19', '-c', stub + '.s', '-o', stub + '.o'], check=True)
            subprocess.run(['ld.lld-19', '-shared', '--no-undefined', path + '.0.o', stub + '.o', '-o', path + '.so', '-lc',
                            '-L/usr/lib/x86_64-linux-gnu', '-L/lib/x86_64-linux-gnu'], check=True)
            lib = ctypes.CDLL(path + '.so')
        return lib.fn, lib.plan

    def plan(self, sizes):
        out = (ctypes.c_int64 * 8)()
        self.planfn((ctypes.c_int64 * (len(sizes) + 2))(*sizes, *FACTS), out)
        return list(out)

    def bind(self, arrays, sizes):
        items, scratch, *_ = self.plan(sizes)
        memory = np.zeros(scratch + 128, np.int8)
        base = (memory.ctypes.data + 63) & ~63
        buffers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
        dims = (ctypes.c_int64 * (len(sizes) + 2))(*sizes, *FACTS)

        def call(begin=0, end=items):
            self.fn(buffers, dims, ctypes.c_int64(begin), ctypes.c_int64(end), ctypes.c_void_p(base))
        call.keep = (memory, arrays)
        call.items = items
        return call

    def __call__(self, arrays, sizes, pieces=3):
        """Runs in pieces, last first: items are independent."""
        call = self.bind(arrays, sizes)
        n = call.items
        cuts = sorted({n * i // pieces for i in range(pieces + 1)})
        for a, b in reversed(list(zip(cuts, cuts[1:]))):
            call(a, b)
