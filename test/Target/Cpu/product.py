import numpy as np
import bodies
from guarded import copy, empty
from kernels import Kernel, variants

rng = np.random.default_rng(0)
wrong = 0


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def convolution(c, h, w, o, kernel, stride, pad):
    """x [N, c, h, w] through max(x, 0), weights [o, c, kernel, kernel], a residual added."""
    oh, ow = ((n + 2 * pad - kernel) // stride + 1 for n in (h, w))
    out = f'{o*oh*ow}*b + {oh*ow}*o + {ow}*y + x'
    text = f'''reduction @conv axes(b = "nb", o = "{o}", y = "{oh}", x = "{ow}", c = "{c}", u = "{kernel}", v = "{kernel}") {{
      %f0 = arith.constant 0.0 : f32
      {bodies.padded_load('raw', c, h, w, stride, pad)}
      %a = arith.maximumf %raw, %f0 : f32
      %w = kernel.load %in1["{c*kernel*kernel}*o + {kernel*kernel}*c + {kernel}*u + v"] : !kernel.ref<f32> -> f32
      %m = arith.mulf %a, %w : f32
      %s = kernel.reduce add %m over ["c", "u", "v"] : f32
      %r = kernel.load %in2["{out}"] : !kernel.ref<f32> -> f32
      %t = arith.addf %s, %r : f32
      kernel.store %t, %out0["{out}"] : f32, !kernel.ref<f32> }}'''
    return text, oh, ow


def check(variant, c, h, w, o, kernel, stride, pad):
    global wrong
    text, oh, ow = convolution(c, h, w, o, kernel, stride, pad)
    x, weights, residual = normal(2, c, h, w), normal(o, c, kernel, kernel), normal(2, o, oh, ow)
    padded = np.pad(np.maximum(x, 0).astype(float), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    want = residual.astype(float)
    for u in range(kernel):
        for v in range(kernel):
            part = padded[:, :, u:u + stride * oh:stride, v:v + stride * ow:stride][:, :, :oh, :ow]
            want = want + np.einsum('bcyx,oc->boyx', part, weights[:, :, u, v].astype(float))
    out = empty(want.shape, fill=np.nan)
    call = Kernel(text, ['f32'] * 3, ['f32'], variant).bind([copy(x), copy(weights), copy(residual), out], [2])
    for begin in range(0, call.items, 3):
        call(begin, min(call.items, begin + 3))
    error = np.max(np.abs(out - want))
    if not error < 2e-4:
        wrong += 1
        print(f'{variant} c {c} image {h}x{w} o {o} kernel {kernel} stride {stride} pad {pad}: error {error}')


for v in variants():
    check(v, 16, 13, 11, 20, 3, 1, 1)  # the same size: rows run on
    check(v, 3, 21, 40, 13, 7, 2, 3)   # strided: gathers
    check(v, 40, 8, 8, 24, 1, 1, 0)    # a plain contraction
    check(v, 5, 9, 7, 6, 3, 1, 0)      # smaller than the image: rows do not run on
    check(v, 8, 5, 3, 4, 5, 1, 2)      # narrower than the kernel
    check(v, 3, 23, 97, 8, 3, 2, 1)    # lines of several vectors, which end within one
    check(v, 2, 9, 150, 4, 5, 1, 2)    # a panel on one line, its taps at both ends
    check(v, 3, 19, 67, 5, 4, 4, 0)    # every fourth pixel, no border
    check(v, 1, 30, 17, 9, 3, 1, 0)    # lines a little longer than a vector
    check(v, 2, 11, 200, 6, 11, 3, 5)  # the border is wider than a vector's step
    check(v, 6, 7, 7, 1, 3, 1, 1)      # one row of results: left to row programs
print(f'{wrong} wrong')
