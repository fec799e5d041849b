"""What the kernel benchmarks share: a loop of multiply-adds as the ceiling, ONNX Runtime as the peer, interleaved timing.

Times are the thread's processor time, so that other processes on the machine disturb less; all figures are medians."""
import ctypes, os, subprocess, sys, tempfile, time
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'Target', 'Cpu'))
from kernels import Kernel  # noqa: E402,F401

PEAK = r'''
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
#define F(r) "vfmadd231ps %%" R "mm0, %%" R "mm1, %%" R "mm" #r "\n\t"
#define TWELVE F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15)
#define CLEAR __asm__ volatile("vxorps %%xmm0, %%xmm0, %%xmm0\n\tvxorps %%xmm1, %%xmm1, %%xmm1" ::: "xmm0", "xmm1")
#define SUMS "xmm4","xmm5","xmm6","xmm7","xmm8","xmm9","xmm10","xmm11","xmm12","xmm13","xmm14","xmm15"
#define LOOP(w) CLEAR; double s = now(); for (long i = 0; i < 20000; ++i) __asm__ volatile(TWELVE ::: SUMS); \
                return 20000.0 * 12 * 2 * w / (now() - s);
#define R "z"
double peak_avx512(void) { LOOP(16) }
#undef R
#define R "y"
double peak_avx2(void) { LOOP(8) }
typedef void (*Fn)(void *, void *, long, long, void *);
double once(Fn f, void *b, void *s, long n, void *w, long repeat) {
  double t = now();
  for (long i = 0; i < repeat; ++i) f(b, s, 0, n, w);
  return (now() - t) / repeat;
}
'''


def _native():
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, 'peak.c')
        open(path, 'w').write(PEAK)
        subprocess.run(['clang-19', '-O2', '-shared', '-fPIC', path, '-o', path + '.so'], check=True)
        lib = ctypes.CDLL(path + '.so')
    for f in (lib.peak_avx512, lib.peak_avx2, lib.once):
        f.restype = ctypes.c_double
    return lib


native = _native()


class Bound:
    """A kernel with its buffers, called without Python in the timed loop."""

    def __init__(self, kernel, arrays, sizes):
        self.items, scratch, *_ = kernel.plan(sizes)
        self.keep = (np.zeros(scratch + 128, np.int8), arrays, kernel)
        base = (self.keep[0].ctypes.data + 63) & ~63
        buffers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
        dims = (ctypes.c_int64 * max(1, len(sizes)))(*sizes)
        self.arguments = (kernel.fn, buffers, dims, ctypes.c_long(self.items), ctypes.c_void_p(base))

    def time(self, repeat=1):
        return native.once(*self.arguments, ctypes.c_long(repeat))


def peer(nodes, inputs, output, constants={}, kind=np.float32):
    """A function that runs the ONNX nodes once with one thread, and the session's output."""
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper
    value = lambda n, rank, kind: helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(kind), [f'{n}{i}' for i in range(rank)])
    graph = helper.make_graph(nodes, 'g', [value(n, a.ndim, a.dtype) for n, a in inputs.items()],
                              [value(output[0], output[1], np.dtype(kind))],
                              [numpy_helper.from_array(a, n) for n, a in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)])
    model.ir_version = 9
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=['CPUExecutionProvider'])
    binding = session.io_binding()
    for n, a in inputs.items():
        binding.bind_cpu_input(n, a)
    binding.bind_output(output[0], 'cpu')
    return lambda: session.run_with_iobinding(binding), lambda: binding.copy_outputs_to_cpu()[0]


def compare(name, bound, run_peer, flops, variant, seconds=1.0, traffic=None):
    """Alternates kernel, peer and ceiling for a while and prints one line."""
    peak = native.peak_avx512 if variant.startswith('avx512') else native.peak_avx2
    repeat = max(1, int(2e-4 / (flops / 50e9)))
    ours, theirs, ceilings = [], [], []
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(ours) < 5:
        ours.append(bound.time(repeat))
        start = time.thread_time()
        for _ in range(repeat):
            run_peer()
        theirs.append((time.thread_time() - start) / repeat)
        ceilings.append(peak())
    a, b, p = (float(np.median(x)) for x in (ours, theirs, ceilings))
    memory = f' {traffic / a * 1e-9:6.1f} GB/s' if traffic else ''
    print(f'{variant} {name:32} {a * 1e6:10.1f} us {flops / a * 1e-9:7.1f} GFLOP/s {flops / a / p * 100:5.1f} % of '
          f'{p * 1e-9:.0f}{memory} | ONNX Runtime {b * 1e6:10.1f} us, {b / a:.2f} times ours', flush=True)
