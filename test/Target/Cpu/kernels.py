"""Compiles kernel.generic text with lathe-kernel, links it and calls it: for comparing with numpy."""
import ctypes, os, subprocess, tempfile
import numpy as np
import guarded
import matrix_unit
from levels import variants

DTYPES = {'f32': np.float32, 'f64': np.float64, 'f16': np.float16, 'i64': np.int64, 'i32': np.int32, 'i16': np.int16,
          'i8': np.int8, 'i1': np.bool_, 'bf16': np.uint16}
# What a run tells a kernel of its machine, behind the sizes: threads, and bytes of the second and third-level caches.
FACTS = [1, 1 << 20, 16 << 20]
_cache = {}


def byte_variants():
    """The same, and those with dot products of bytes; avx512amx on every machine (matrix_unit.py)."""
    flags = open('/proc/cpuinfo').read()
    extra = {'avx2': ('avx_vnni', 'avx2vnni'), 'avx512': ('avx512_vnni', 'avx512vnni')}
    return variants() + [name for of, (flag, name) in extra.items() if of in variants() and f' {flag} ' in flags] + ['avx512amx']


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


def compiled(sources, variant, effort, d):
    """Objects of modules of one kernel each, all made in one process, and the names of the functions (work, plan) of each."""
    if variant == 'avx512amx' and not matrix_unit.has_unit():
        return matrix_unit.objects(sources, d)
    path = os.path.join(d, 'k')
    whole = ''.join(source.replace('func.func @f(', f'func.func @f{i}(', 1) for i, source in enumerate(sources))
    r = subprocess.run(['lathe-kernel', '-', '-o', path, f'--variant={variant}', f'--effort={effort}'], input=whole, text=True, capture_output=True)
    if r.returncode:
        raise SystemExit(f'{whole if len(sources) == 1 else f"one of {len(sources)} kernels"}\n{r.stderr}')
    # A kernel may also have been made for variants that come on top of this one.
    made = [names for of, *names in map(str.split, r.stdout.splitlines()) if of == variant]
    assert len(made) == len(sources)
    return [os.path.join(d, f) for f in sorted(os.listdir(d)) if f.endswith('.o')], made


def build(sources, variant, effort):
    """Compiles modules of one kernel each, and gives the functions (work, plan) of each."""
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, 'k')
        objects, made = compiled(sources, variant, effort, d)
        # The kernels are hidden: other names for them are not.
        exports = [f'--defsym={of}{i}={name}' for i, names in enumerate(made) for of, name in zip(('fn', 'plan'), names)]
        subprocess.run(['ld.lld-19', '-shared', '--no-undefined', *objects, *exports, '-o', path + '.so', '-lc',
                        '-L/usr/lib/x86_64-linux-gnu', '-L/lib/x86_64-linux-gnu'], check=True)
        lib = ctypes.CDLL(path + '.so')
    return [(lib[f'fn{i}'], lib[f'plan{i}']) for i in range(len(sources))]


class Kernel:
    """text: 'loop @name axes(n = "N") { body }' over %in0.., %out0..; sizes: names of its size symbols, sorted."""

    def __init__(self, text, ins, outs, variant, attributes=''):
        self.prepare([(text, ins, outs)], variant, attributes)
        self.fn, self.planfn = _cache[text, tuple(ins), tuple(outs), variant, attributes]

    @staticmethod
    def prepare(kernels, variant, attributes='', effort=2):
        """Compiles those of the kernels (text, ins, outs) that are new: many at once take much less time than one by one."""
        new = {(text, tuple(ins), tuple(outs), variant, attributes): module(text, ins, outs, attributes) for text, ins, outs in kernels}
        new = {key: source for key, source in new.items() if key not in _cache}
        if new:
            _cache.update(zip(new, build(list(new.values()), variant, effort)))

    @classmethod
    def prepare_in_turn(cls, kernels, variant):
        """The same for many: each is optimised by LLVM, which takes most of the time, for one of the machine's variants in turn."""
        known = variants()
        several = list(dict.fromkeys((text, tuple(ins), tuple(outs)) for text, ins, outs in kernels))
        for optimised in (True, False):
            these = [k for i, k in enumerate(several) if (known[i % len(known)] == variant) == optimised]
            cls.prepare(these, variant, effort=2 if optimised else 0)

    def plan(self, sizes):
        out = (ctypes.c_int64 * 17)()  # LATHE_PLAN_WORDS
        self.planfn((ctypes.c_int64 * (len(sizes) + len(FACTS)))(*sizes, *FACTS), out)
        return list(out)

    def bind(self, arrays, sizes):
        items, scratch, *_ = self.plan(sizes)
        memory = guarded.empty(((scratch + 63) // 64 * 64,), np.int8)  # as much as the runtime gives, and no more
        base = memory.ctypes.data
        buffers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
        dims = (ctypes.c_int64 * (len(sizes) + len(FACTS)))(*sizes, *FACTS)

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
